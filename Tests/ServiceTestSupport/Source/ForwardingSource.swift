package import PowerSyncSyncConfig
package import PowerSyncServiceCore

/// A source in front of another one, which does everything that it does not do itself.
package protocol ForwardingSource: ReplicationSource {
    associatedtype Source: ReplicationSource

    /// Does the work.
    var source: Source { get }
}

extension ForwardingSource {
    package var described: (any DescribedSource)? { source.described }
    package var writable: (any WritableSource)? { source.writable }
    package var retainedLog: (any LogRetainingSource)? { source.retainedLog }
    package var rowReading: (any RowReadingSource)? { source.rowReading }
    package var fileBacked: (any FileBacked)? { source.fileBacked }

    package func checkConfiguration() async throws { try await source.checkConfiguration() }

    package func head(having known: SourcePosition?) async throws -> SourcePosition {
        try await source.head(having: known)
    }

    package func markedHead() async throws -> SourcePosition { try await source.markedHead() }

    package func require(_ position: LSN?, in handle: String) { source.require(position, in: handle) }

    package func emitMarker() async throws { try await source.emitMarker() }

    package func prepareStream(
        _ handle: String,
        resumingAfter position: SourcePosition?,
        reached: LSN?
    ) async throws -> SourcePosition {
        try await source.prepareStream(handle, resumingAfter: position, reached: reached)
    }

    package func database() async throws -> DatabaseID? { try await source.database() }

    package func tables(for plan: SyncPlan) async throws -> [SourceTableDescriptor] {
        try await source.tables(for: plan)
    }

    package func snapshot(of table: SourceTableDescriptor, after key: SnapshotKey?) async throws -> any SnapshotReader {
        try await source.snapshot(of: table, after: key)
    }

    package func waitUntilShown(_ table: SourceTableDescriptor) async throws { try await source.waitUntilShown(table) }

    package func warn(about stream: ReplicationStream) async throws { try await source.warn(about: stream) }

    package func effect(
        ofColumnsOf table: SourceTableDescriptor,
        after earlier: SourceTableDescriptor,
        in handle: String
    ) -> ColumnEffect { source.effect(ofColumnsOf: table, after: earlier, in: handle) }

    package func obstacle(to table: SourceTableDescriptor) async throws -> TableObstacle? {
        try await source.obstacle(to: table)
    }

    package func checkRetention(for handle: String) async throws { try await source.checkRetention(for: handle) }

    package func withChanges<Result>(
        of handle: String,
        after position: SourcePosition,
        tables: [SourceTable],
        plan: SyncPlan,
        _ body: (inout any ChangeReader) async throws -> Result
    ) async throws -> Result {
        try await source.withChanges(of: handle, after: position, tables: tables, plan: plan, body)
    }

    package func wantsAcknowledgement(of lsn: LSN, by handle: String) -> Bool {
        source.wantsAcknowledgement(of: lsn, by: handle)
    }

    package func wantsLastAcknowledgement(of lsn: LSN, by handle: String) -> Bool {
        source.wantsLastAcknowledgement(of: lsn, by: handle)
    }

    package func acknowledge(_ position: DurablePosition, of handle: String) async throws {
        try await source.acknowledge(position, of: handle)
    }

    package func dropStream(_ handle: String) async throws { try await source.dropStream(handle) }

    package func uninstall() async throws { try await source.uninstall() }

    package func close() throws { try source.close() }
}

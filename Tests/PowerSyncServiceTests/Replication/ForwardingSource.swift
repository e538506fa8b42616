import PowerSyncRules

@testable import PowerSyncServiceCore

/// A source in front of another one, which does everything that it does not do itself.
protocol ForwardingSource: ReplicationSource {
    associatedtype Source: ReplicationSource

    /// Does the work.
    var source: Source { get }
}

extension ForwardingSource {
    func checkConfiguration() async throws { try await source.checkConfiguration() }

    func head(having known: SourcePosition?) async throws -> SourcePosition { try await source.head(having: known) }

    func markedHead() async throws -> SourcePosition { try await source.markedHead() }

    func require(_ position: LSN?, in slotName: String) { source.require(position, in: slotName) }

    func emitMarker() async throws { try await source.emitMarker() }

    func prepareStream(
        _ slotName: String,
        resumingAfter position: SourcePosition?,
        reached: LSN?
    ) async throws -> SourcePosition {
        try await source.prepareStream(slotName, resumingAfter: position, reached: reached)
    }

    func tables(for plan: SyncPlan) async throws -> [SourceTableDescriptor] { try await source.tables(for: plan) }

    func snapshot(of table: SourceTableDescriptor, after key: SnapshotKey?) async throws -> any SnapshotReader {
        try await source.snapshot(of: table, after: key)
    }

    func checkRetention(for slotName: String) async throws { try await source.checkRetention(for: slotName) }

    func rows(
        of table: SourceTableDescriptor,
        keys: [[SQLiteValue]],
        showing transaction: UInt64?
    ) async throws -> PresentRows {
        try await source.rows(of: table, keys: keys, showing: transaction)
    }

    func releaseRows() async throws { try await source.releaseRows() }

    func withChanges<Result>(
        of slotName: String,
        after position: SourcePosition,
        tables: [SourceTable],
        plan: SyncPlan,
        _ body: (inout any ChangeReader) async throws -> Result
    ) async throws -> Result {
        try await source.withChanges(of: slotName, after: position, tables: tables, plan: plan, body)
    }

    func wantsAcknowledgement(of lsn: LSN, by slotName: String) -> Bool {
        source.wantsAcknowledgement(of: lsn, by: slotName)
    }

    func acknowledge(_ position: DurablePosition, of slotName: String) async throws {
        try await source.acknowledge(position, of: slotName)
    }

    func dropStream(_ slotName: String) async throws { try await source.dropStream(slotName) }

    func uninstall() async throws { try await source.uninstall() }

    func close() throws { try source.close() }
}

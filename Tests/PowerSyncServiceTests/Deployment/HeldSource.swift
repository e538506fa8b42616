import NIOConcurrencyHelpers
import PowerSyncRules

@testable import PowerSyncServiceCore

/// A model of a source whose copies wait while they are held.
final class HeldSource: ReplicationSource {
    let model: ModelSource
    private let isHeld = NIOLockedValueBox(false)
    private let released = ChangeSignal()
    private let waits = ChangeSignal()

    init(_ model: ModelSource) {
        self.model = model
    }

    /// From now on, no copy gets another page.
    func hold() {
        isHeld.withLockedValue { $0 = true }
    }

    /// Copies go on.
    func release() {
        isHeld.withLockedValue { $0 = false }
        released.advance()
    }

    /// How often a copy has begun to wait.
    var waitCount: UInt64 { waits.version }

    /// Waits until another copy waits.
    func copyWaits(after count: UInt64) async throws {
        try await waits.wait(after: count)
    }

    private struct Pages: SnapshotReader {
        let source: HeldSource
        var pages: any SnapshotReader

        mutating func next() async throws -> SnapshotChunk? {
            while true {
                let seen = source.released.version
                guard source.isHeld.withLockedValue({ $0 }) else { return try await pages.next() }
                source.waits.advance()
                try await source.released.wait(after: seen)
            }
        }
    }

    func snapshot(of table: SourceTableDescriptor, after key: SnapshotKey?) async throws -> any SnapshotReader {
        Pages(source: self, pages: try await model.snapshot(of: table, after: key))
    }

    func checkConfiguration() async throws { try await model.checkConfiguration() }

    func head(having known: SourcePosition?) async throws -> SourcePosition { try await model.head(having: known) }

    func emitMarker() async throws { try await model.emitMarker() }

    func prepareStream(
        _ slotName: String,
        resumingAfter position: SourcePosition?,
        reached: LSN?
    ) async throws -> SourcePosition {
        try await model.prepareStream(slotName, resumingAfter: position, reached: reached)
    }

    func tables(for plan: SyncPlan) async throws -> [SourceTableDescriptor] { try await model.tables(for: plan) }

    func rows(of table: SourceTableDescriptor, keys: [[SQLiteValue]]) async throws -> PresentRows {
        try await model.rows(of: table, keys: keys)
    }

    func withChanges<Result>(
        of slotName: String,
        after position: SourcePosition,
        tables: [SourceTable],
        plan: SyncPlan,
        _ body: (inout any ChangeReader) async throws -> Result
    ) async throws -> Result {
        try await model.withChanges(of: slotName, after: position, tables: tables, plan: plan, body)
    }

    func wantsAcknowledgement(of lsn: LSN, by slotName: String) -> Bool {
        model.wantsAcknowledgement(of: lsn, by: slotName)
    }

    func acknowledge(_ position: DurablePosition, of slotName: String) async throws {
        try await model.acknowledge(position, of: slotName)
    }

    func dropStream(_ slotName: String) async throws { try await model.dropStream(slotName) }

    func close() throws { try model.close() }
}

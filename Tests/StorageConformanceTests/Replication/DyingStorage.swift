import NIOConcurrencyHelpers
import PowerSyncSyncConfig
import ServiceTestSupport

@testable import PowerSyncServiceCore

/// The storage of a process that dies after so many calls of writers: what they have stored stays, and the process does not know it.
struct DyingStorage<Storage: BucketStorage>: ForwardingStorage {
    /// How long the process lives.
    final class Life: Sendable {
        private let callsLeft: NIOLockedValueBox<Int>
        private let beginLast: @Sendable () -> Void
        private let die: @Sendable () -> Void
        private let death = ChangeSignal()

        /// Begins a life.
        ///
        /// - Parameters:
        ///   - calls: How many calls it has, one at least.
        ///   - beginLast: Happens before the last one.
        ///   - die: Happens after it.
        init(
            calls: Int,
            beginLast: @escaping @Sendable () -> Void = {},
            die: @escaping @Sendable () -> Void = {}
        ) {
            callsLeft = NIOLockedValueBox(calls)
            self.beginLast = beginLast
            self.die = die
        }

        /// Waits for the death.
        func end() async throws { try await death.wait(after: 0) }

        fileprivate func call<Result>(_ body: () async throws -> Result) async throws -> Result {
            let left = callsLeft.withLockedValue(\.self)
            guard left > 0 else { throw Died() }
            if left == 1 { beginLast() }
            let result = try await body()
            let isAlive = callsLeft.withLockedValue { left in
                left -= 1
                return left > 0
            }
            guard isAlive else {
                die()
                death.advance()
                throw Died()
            }
            return result
        }
    }

    /// What a process that is dead does not hear.
    private struct Died: Error {}

    let storage: Storage
    let life: Life

    func withWriter<Result>(
        of stream: ReplicationStreamID,
        _ body: @escaping (inout any BucketStorageWriter) async throws -> Result
    ) async throws -> Result {
        try await storage.withWriter(of: stream) { [life] writer in
            var dying: any BucketStorageWriter = Writer(writer: writer, life: life)
            return try await body(&dying)
        }
    }

    private struct Writer: BucketStorageWriter {
        var writer: any BucketStorageWriter
        let life: Life

        var resumePosition: SourcePosition? { writer.resumePosition }
        var reachedLSN: LSN? { writer.reachedLSN }
        var storedLSN: LSN? { writer.storedLSN }
        var sourceTables: [SourceTable] { writer.sourceTables }

        mutating func resolveTable(
            _ descriptor: SourceTableDescriptor,
            hasItsColumns: Bool
        ) async throws -> ResolvedTable {
            try await life.call { try await writer.resolveTable(descriptor, hasItsColumns: hasItsColumns) }
        }

        mutating func setColumns(
            _ columns: [String: String],
            of table: SourceTable,
            outdates: Bool
        ) async throws -> SourceTable {
            try await life.call { try await writer.setColumns(columns, of: table, outdates: outdates) }
        }

        mutating func takeRows(of earlier: SourceTable, into table: SourceTable) async throws -> SourceTable {
            try await life.call { try await writer.takeRows(of: earlier, into: table) }
        }

        mutating func save(
            _ changes: [SourceChange],
            of table: SourceTable,
            mode: SaveMode
        ) async throws -> [RejectedRow] {
            try await life.call { try await writer.save(changes, of: table, mode: mode) }
        }

        func recordBuilder(of table: SourceTable, addingTo parts: SyncPlan?) -> RecordBuilder {
            writer.recordBuilder(of: table, addingTo: parts)
        }

        mutating func save(_ records: [PendingRecord]) async throws -> [RejectedRow] {
            try await life.call { try await writer.save(records) }
        }

        mutating func truncate(_ table: SourceTable, touch: @Sendable () -> Void) async throws {
            try await life.call { try await writer.truncate(table, touch: touch) }
        }

        mutating func drop(_ table: SourceTable, touch: @Sendable () -> Void) async throws {
            try await life.call { try await writer.drop(table, touch: touch) }
        }

        mutating func beginTransaction(endingAt lsn: LSN) { writer.beginTransaction(endingAt: lsn) }

        mutating func flush() async throws { try await life.call { try await writer.flush() } }

        mutating func commit(_ lsn: LSN, createsEmptyCheckpoints: Bool) async throws -> CommitResult {
            try await life.call { try await writer.commit(lsn, createsEmptyCheckpoints: createsEmptyCheckpoints) }
        }

        mutating func forbidCheckpoints(before lsn: LSN) async throws {
            try await life.call { try await writer.forbidCheckpoints(before: lsn) }
        }

        mutating func makeDurable() async throws -> DurablePosition? {
            try await life.call { try await writer.makeDurable() }
        }

        mutating func setResumePosition(_ position: SourcePosition) async throws {
            try await life.call { try await writer.setResumePosition(position) }
        }

        mutating func recordSnapshotProgress(_ lastKey: SnapshotKey, of table: SourceTable) {
            writer.recordSnapshotProgress(lastKey, of: table)
        }

        mutating func markSnapshotDone(_ table: SourceTable, noCheckpointBefore lsn: LSN) async throws {
            try await life.call { try await writer.markSnapshotDone(table, noCheckpointBefore: lsn) }
        }

        mutating func recordFill(_ fill: SourceTable.Fill, of table: SourceTable) { writer.recordFill(fill, of: table) }

        mutating func markFilled(_ table: SourceTable?, forConfig number: Int64) async throws {
            try await life.call { try await writer.markFilled(table, forConfig: number) }
        }

        mutating func markSnapshotDone(noCheckpointBefore lsn: LSN) async throws {
            try await life.call { try await writer.markSnapshotDone(noCheckpointBefore: lsn) }
        }
    }
}

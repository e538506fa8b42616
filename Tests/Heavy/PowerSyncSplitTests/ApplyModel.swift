import GRDB
import PowerSyncCoreTestSupport
import PowerSyncProtocol

@testable import PowerSyncCore

/// What a completion has to publish, worked out in the plainest way from the operation log.
struct ApplyModel {
    struct RowKey: Hashable {
        let type: String
        let id: String
    }

    fileprivate struct Operation {
        let bucket: String
        let opID: Int64
        let row: RowKey
        let data: String?
    }

    /// What matters for a completion.
    struct Snapshot {
        fileprivate(set) var published: [RowKey: String] = [:]
        fileprivate var operations: [Operation] = []
        fileprivate var positions: [String: Int64] = [:]
        fileprivate var parked: Set<RowKey> = []
        /// The rows with writes in the upload queue.
        fileprivate var waiting: Set<RowKey> = []
        /// The rows of `ps_updated_rows`.
        fileprivate var updated: Set<RowKey> = []
        fileprivate var hasLocalWrites = false
        fileprivate var target: Int64?
        fileprivate var seen: Int64 = 0

        /// Whether a write checkpoint is awaited.
        var isWaiting: Bool { target != nil }

        /// Whether an upload is the occasion to try again with a checkpoint that was held back.
        func isAnswered(by writeCheckpoint: Int64?) -> Bool {
            guard let target else { return true }
            return writeCheckpoint.map { $0 >= target } ?? false
        }
    }

    /// The position up to which the operations of a bucket were published.
    private var applied: [String: Int64] = [:]
    /// The highest position up to which anything was published.
    private var published: Int64 = 0

    /// The buckets that the client has.
    mutating func bucketsRemain(_ names: Set<String>) {
        applied = applied.filter { names.contains($0.key) }
    }

    /// A CLEAR begins a bucket anew.
    mutating func wasCleared(_ bucket: String) {
        applied[bucket] = nil
    }

    /// Everything is to be published again.
    mutating func forgetEverything() {
        applied = [:]
    }

    /// Whether local writes let a completion pass that is valid.
    static func isGateOpen(_ before: Snapshot, _ completion: Completion, writeCheckpoint: Int64?) -> Bool {
        if completion == .partial(.highest) { return true }
        let seen = completion == .complete ? writeCheckpoint ?? before.seen : before.seen
        return !before.hasLocalWrites && (before.target ?? 0) <= seen
    }

    /// Whether a bucket has not been published as it is at a position.
    func isUnpublished(_ bucket: String, upTo opID: Int64, _ before: Snapshot) -> Bool {
        before.positions[bucket] != nil && applied[bucket] ?? 0 != opID
    }

    /// The rows after a completion that is published.
    ///
    /// - Parameters:
    ///   - completion: What is completed.
    ///   - covered: The buckets that it is about.
    ///   - opID: The position that their operations lead to.
    ///   - before: What the client looked like.
    ///   - after: The rows that are there now. A partial completion may leave a row as it was when its published operation may be
    ///     gone, and when it has nothing beyond all that was published.
    /// - Returns: All rows.
    mutating func publish(
        _ completion: Completion,
        covered: [String],
        upTo opID: Int64,
        _ before: Snapshot,
        _ after: [RowKey: String]
    ) -> [RowKey: String] {
        var rows: [RowKey: String]
        switch completion {
        case .complete:
            rows = before.published.filter { before.parked.contains($0.key) }
            for (row, operation) in Self.newest(before.operations) where !before.parked.contains(row) {
                rows[row] = operation.data
            }
            applied = before.positions
            for bucket in covered where applied[bucket] != nil { applied[bucket] = opID }
            published = max(published, applied.values.max() ?? 0)
        case .partial:
            rows = before.published
            let new = before.operations.filter { covered.contains($0.bucket) && $0.opID > applied[$0.bucket] ?? 0 }
            let changed = Set(new.map(\.row))
            let operations = before.operations.filter {
                covered.contains($0.bucket) || $0.opID <= applied[$0.bucket] ?? 0
            }
            let kept = before.parked.union(before.waiting)
            let replaced = Set(
                before.operations.filter {
                    !covered.contains($0.bucket) && $0.opID > applied[$0.bucket] ?? 0
                }.map(\.row)
            )
            let newestNew = Self.newest(new)
            for (row, operation) in Self.newest(operations) where changed.contains(row) && !kept.contains(row) {
                let mayStay =
                    newestNew[row]?.opID ?? 0 <= published && (before.updated.contains(row) || replaced.contains(row))
                if mayStay, after[row] == before.published[row] { continue }
                rows[row] = operation.data
            }
            for bucket in covered where before.positions[bucket] != nil { applied[bucket] = opID }
            published = max(published, applied.values.max() ?? 0)
        }
        return rows
    }

    private static func newest(_ operations: [Operation]) -> [RowKey: Operation] {
        Dictionary(operations.map { ($0.row, $0) }) { $0.opID > $1.opID ? $0 : $1 }
    }

    /// Reads what a client looks like.
    static func look(at client: TranscriptClient) throws -> Snapshot {
        let schema = client.schema
        let others =
            (schema.other == .synced ? "UNION ALL SELECT 'other', id, data FROM ps_data__other " : "")
            + (schema.hasRawTable ? "UNION ALL SELECT 'notes', id, json_object('col', col) FROM local_notes" : "")
        return try client.look { db in
            var snapshot = Snapshot()
            let rows = try Row.fetchCursor(
                db.cachedStatement(
                    sql: """
                        SELECT 'items', id, data FROM ps_data__items
                        UNION ALL SELECT type, id, data FROM ps_untyped \(others)
                        """
                )
            )
            while let row = try rows.next() { snapshot.published[RowKey(type: row[0], id: row[1])] = row[2] }
            let operations = try Row.fetchCursor(
                db.cachedStatement(
                    sql: """
                        SELECT b.name, o.op_id, o.row_type, o.row_id, o.data
                        FROM ps_oplog AS o JOIN ps_buckets AS b ON b.id = o.bucket WHERE o.row_type IS NOT NULL
                        """
                )
            )
            while let row = try operations.next() {
                let key = RowKey(type: row[2], id: row[3])
                snapshot.operations.append(Operation(bucket: row[0], opID: row[1], row: key, data: row[4]))
            }
            let positions = try Row.fetchCursor(db.cachedStatement(sql: "SELECT name, last_op FROM ps_buckets"))
            while let row = try positions.next() { snapshot.positions[row[0]] = row[1] }
            let parked = try Row.fetchCursor(
                db.cachedStatement(
                    sql: """
                        SELECT parked.type, parked.row_id FROM \(ParkedWrites.table) AS parked
                        WHERE parked.id IN (SELECT id FROM \(RejectedWrites.table))
                        """
                )
            )
            while let row = try parked.next() { snapshot.parked.insert(RowKey(type: row[0], id: row[1])) }
            let updated = try Row.fetchCursor(
                db.cachedStatement(sql: "SELECT row_type, row_id FROM ps_updated_rows")
            )
            while let row = try updated.next() { snapshot.updated.insert(RowKey(type: row[0], id: row[1])) }
            let waiting = try Row.fetchCursor(
                db.cachedStatement(sql: "SELECT data ->> 'type', data ->> 'id' FROM ps_crud WHERE json_valid(data)")
            )
            while let row = try waiting.next() { snapshot.waiting.insert(RowKey(type: row[0], id: row[1])) }
            snapshot.hasLocalWrites = try UploadQueue.firstID(db) != nil
            snapshot.target = try LocalWriteGate.target(db)?.rawValue
            snapshot.seen = try LocalWriteGate.lastSeen(db)?.rawValue ?? 0
            return snapshot
        }
    }
}

import GRDB
import PowerSyncProtocol

/// The rows of `ps_buckets` in memory, written back once for every changed bucket and transaction
/// (docs/client-sync.md "Batches and crashes").
///
/// Every bucket name that the iteration meets, on disk or in a checkpoint, gets a *slot*: a small number that stays valid
/// until the next ``load(_:)``. Tracked buckets refer to slots, so that checking a thousand buckets takes one pass
/// over an array and no look-up by name.
///
/// The rows are right as long as no other writer changes `ps_buckets`. Other connections are noticed by
/// `PRAGMA data_version`, clearing on this one by a count of it; see ``revalidate(_:)``.
struct BucketTable: Sendable {
    /// The number of a bucket in this table.
    typealias Slot = Int

    /// One row of `ps_buckets`, and what is known about it.
    struct Row: Sendable, Equatable {
        /// What has to be written back.
        struct Changes: OptionSet, Sendable {
            let rawValue: UInt8
            /// Only `last_op` or `last_applied_op`, as a completion does for all buckets of a checkpoint.
            static let position = Changes(rawValue: 1 << 0)
            /// Any column.
            static let content = Changes(rawValue: 1 << 1)
        }

        /// The primary key; `nil` when there is no row.
        var id: Int64?
        var lastAppliedOp = OpID.zero
        var lastOp = OpID.zero
        var addChecksum = Checksum.zero
        var opChecksum = Checksum.zero
        var countAtLast: Int64 = 0
        var countSinceLast: Int64 = 0
        var downloadedSize: Int64 = 0
        /// What has to be written back.
        var changes: Changes = []
        /// Whether operations may have been stored since the last complete apply.
        var mayHaveUnappliedOps = true
        /// Whether there is certainly no row of the bucket in `ps_oplog`.
        var isKnownEmpty = false

        /// The checksum of everything received.
        var checksum: Checksum { addChecksum + opChecksum }
    }

    // By slot.
    private(set) var names: [BucketName] = []
    var rows: [Row] = []
    private var slots: [BucketName: Slot] = [:]

    /// The slots of the rows that have to be written back.
    var changedSlots: [Slot] = []
    /// Whether `last_applied_op` of a row has changed and has not been written back.
    var hasUnwrittenAppliedOp = false
    /// The highest op id up to which a bucket was published, also of buckets that are gone or have begun anew since.
    var publishedOp = OpID.zero
    /// The op id up to which buckets were published that do not say so any more, since the last complete checkpoint; it is in
    /// `ps_kv`.
    var storedPublishedOp = OpID.zero

    /// The state of the file that the rows are from.
    private struct Version: Sendable, Equatable {
        /// Changes with every commit of another connection.
        var data: Int64?
        /// Changes with what this connection does to `ps_buckets` outside of an iteration.
        var buckets: Int

        init(_ db: Database) throws {
            data = try db.firstInteger("PRAGMA data_version")
            buckets = try ConnectionState.of(db).bucketsVersion
        }
    }

    /// What ``revalidate(_:)`` has found.
    enum Validity {
        /// The rows are right.
        case unchanged
        /// The rows were read again.
        case changed
        /// The rows were read again, and what was downloaded or published is gone.
        case cleared
    }

    // What is known about the file.
    private var version: Version?
    /// Whether ``Row/mayHaveUnappliedOps`` is exact rather than a guess, see ``unappliedBucketIDs``.
    var tracksUnappliedOps = false

    /// Reads all rows anew and forgets all slots.
    mutating func load(_ db: Database) throws {
        self = BucketTable()
        version = try Version(db)
        try readRows(db)
    }

    /// Reads the rows again if another writer changed the database; slots stay valid.
    mutating func revalidate(_ db: Database) throws -> Validity {
        let current = try Version(db)
        if current == version { return .unchanged }
        let (wasEmpty, wasUnapplied) = (isEmpty, isUnapplied)
        let wasChangedHere = current.buckets != version?.buckets
        version = current
        tracksUnappliedOps = false
        for slot in rows.indices { rows[slot] = Row() }
        try readRows(db)
        let isCleared = isUnapplied && !wasUnapplied || isEmpty && (!wasEmpty || wasChangedHere)
        return isCleared ? .cleared : .changed
    }

    /// The slot of a bucket, a new one if it has none.
    mutating func slot(of name: BucketName) -> Slot {
        if let slot = slots[name] { return slot }
        let slot = rows.count
        slots[name] = slot
        names.append(name)
        rows.append(Row())
        return slot
    }

    /// The name of the bucket in a slot.
    func name(at slot: Slot) -> BucketName { names[slot] }

    /// The row in a slot.
    subscript(slot: Slot) -> Row { rows[slot] }

    /// Names and positions of all rows, for the request.
    var positions: [StreamingSyncRequest.BucketPosition] {
        rows.indices.compactMap { slot in
            rows[slot].id == nil ? nil : .init(name: names[slot], after: rows[slot].lastOp)
        }
    }

    /// Whether there is no row.
    private var isEmpty: Bool {
        rows.allSatisfy { $0.id == nil }
    }

    /// Whether no bucket was ever published, or all are to be published again.
    var isUnapplied: Bool {
        rows.allSatisfy { $0.id == nil || $0.lastAppliedOp == .zero }
    }

    /// The ids of the buckets of which something was published, or may have been before all were to be published again.
    var appliedBucketIDs: [Int64] {
        rows.compactMap { $0.lastAppliedOp == .zero && storedPublishedOp == .zero ? nil : $0.id }
    }

    /// The ids of the buckets that may hold operations beyond `last_applied_op`; `nil` when that has to be found out.
    var unappliedBucketIDs: [Int64]? {
        guard tracksUnappliedOps else { return nil }
        return rows.compactMap { $0.mayHaveUnappliedOps ? $0.id : nil }
    }

    /// Whether the SQL queries of an apply would see a wrong `last_applied_op`.
    ///
    /// It may hide what comes next in the transaction (after a CLEAR), or show once more what was published and has been
    /// overtaken by another bucket since.
    var mustFlushBeforeApply: Bool { hasUnwrittenAppliedOp }

    private mutating func readRows(_ db: Database) throws {
        let statement = try db.cachedStatement(
            sql: """
                SELECT id, name, last_applied_op, last_op, add_checksum, op_checksum,
                    count_at_last, count_since_last, downloaded_size
                FROM ps_buckets
                WHERE pending_delete = 0
                ORDER BY id
                """
        )
        let cursor = try GRDB.Row.fetchCursor(statement)
        while let columns = try cursor.next() {
            let slot = try slot(of: BucketName(columns.stored(1, "ps_buckets.name")))
            rows[slot] = try Row(
                id: columns.stored(0, "ps_buckets.id"),
                lastAppliedOp: OpID(columns.stored(2, "ps_buckets.last_applied_op")),
                lastOp: OpID(columns.stored(3, "ps_buckets.last_op")),
                addChecksum: Checksum(truncating: columns.stored(4, "ps_buckets.add_checksum")),
                opChecksum: Checksum(truncating: columns.stored(5, "ps_buckets.op_checksum")),
                countAtLast: columns.stored(6, "ps_buckets.count_at_last"),
                countSinceLast: columns.stored(7, "ps_buckets.count_since_last"),
                downloadedSize: columns.stored(8, "ps_buckets.downloaded_size")
            )
        }
        storedPublishedOp = OpID(try KeyValueStore.integer(db, .publishedOp) ?? 0)
        publishedOp = max(storedPublishedOp, highestAppliedOp)
    }

    /// The highest op id up to which a bucket that exists was published.
    var highestAppliedOp: OpID {
        rows.lazy.map(\.lastAppliedOp).max() ?? .zero
    }
}

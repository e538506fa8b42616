import GRDB
import PowerSyncProtocol
import PowerSyncSQLite

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
    private(set) var rows: [Row] = []
    private var slots: [BucketName: Slot] = [:]

    /// The slots of the rows that have to be written back.
    private var changedSlots: [Slot] = []
    /// Whether `last_applied_op` of a row has changed and has not been written back.
    private var hasUnwrittenAppliedOp = false
    /// The highest op id up to which a bucket was published, also of buckets that are gone or have begun anew since.
    private(set) var publishedOp = OpID.zero
    /// The op id up to which buckets were published that do not say so any more, since the last complete checkpoint; it is in
    /// `ps_kv`.
    private(set) var storedPublishedOp = OpID.zero

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
    private var tracksUnappliedOps = false

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
    private var highestAppliedOp: OpID {
        rows.lazy.map(\.lastAppliedOp).max() ?? .zero
    }
}

extension BucketTable {
    /// Changes a row in memory; it is written by ``flush(_:)``.
    mutating func update(_ slot: Slot, _ changes: Row.Changes, _ body: (inout Row) -> Void) {
        body(&rows[slot])
        if rows[slot].changes.isEmpty { changedSlots.append(slot) }
        rows[slot].changes.formUnion(changes)
    }

    /// Creates the row of a bucket unless it exists.
    ///
    /// - Returns: The row's id.
    mutating func ensureRow(_ db: Database, at slot: Slot) throws -> Int64 {
        if let id = rows[slot].id { return id }
        try db.cachedStatement(sql: "INSERT INTO ps_buckets (name) VALUES (?)").execute(arguments: [
            names[slot].rawValue
        ])
        let id = db.lastInsertedRowID
        rows[slot] = Row(id: id)
        rows[slot].mayHaveUnappliedOps = false
        rows[slot].isKnownEmpty = true
        return id
    }

    /// Sets where the next download of a bucket continues.
    mutating func move(_ slot: Slot, lastOp: OpID) {
        guard rows[slot].lastOp != lastOp else { return }
        update(slot, .position) { $0.lastOp = lastOp }
    }

    /// Notes that everything of a bucket was published.
    mutating func markApplied(_ slot: Slot) {
        guard rows[slot].id != nil, rows[slot].lastAppliedOp != rows[slot].lastOp else { return }
        hasUnwrittenAppliedOp = true
        update(slot, .position) { $0.lastAppliedOp = $0.lastOp }
        publishedOp = max(publishedOp, rows[slot].lastAppliedOp)
    }

    /// Notes that everything of all buckets was published, whether a checkpoint names them or not.
    mutating func markAllApplied() {
        for slot in rows.indices { markApplied(slot) }
    }

    /// Begins to count operations anew in a bucket of which `count` operations are known.
    mutating func resetCounters(at slot: Slot, count: Int64) {
        let row = rows[slot]
        guard row.id != nil, row.countAtLast != count || row.countSinceLast != 0 else { return }
        update(slot, .content) {
            $0.countAtLast = count
            $0.countSinceLast = 0
        }
    }

    /// Notes that operations of a bucket were stored.
    mutating func noteStoredOps(at slot: Slot) {
        rows[slot].mayHaveUnappliedOps = true
    }

    /// Notes that a CLEAR made everything of a bucket unpublished.
    mutating func noteReset(_ db: Database, at slot: Slot) throws {
        rows[slot].lastAppliedOp = .zero
        hasUnwrittenAppliedOp = true
        try keepPublishedOp(db)
    }

    /// Stores ``publishedOp`` if no row has it any more.
    private mutating func keepPublishedOp(_ db: Database) throws {
        guard publishedOp > storedPublishedOp, highestAppliedOp < publishedOp else { return }
        try KeyValueStore.set(db, .publishedOp, to: publishedOp.rawValue)
        storedPublishedOp = publishedOp
    }

    /// Notes that a complete apply took everything of all buckets into account.
    mutating func noteAllApplied(_ db: Database) throws {
        if storedPublishedOp > .zero { try KeyValueStore.remove(db, .publishedOp) }
        storedPublishedOp = .zero
        publishedOp = highestAppliedOp
        tracksUnappliedOps = true
        for slot in rows.indices { rows[slot].mayHaveUnappliedOps = false }
    }

    /// Deletes buckets and their operations, except for those that have no row.
    ///
    /// Their rows are evaluated again by the next complete apply.
    mutating func delete(_ db: Database, _ slots: [Slot]) throws {
        let deleted = Set(slots.filter { rows[$0].id != nil })
        let ids = deleted.compactMap { rows[$0].id }
        guard !ids.isEmpty else { return }
        try OplogStore.deleteAllRows(db, ofBuckets: ids)
        let delete = try db.cachedStatement(sql: "DELETE FROM ps_buckets WHERE id = ?")
        for id in ids { try delete.execute(arguments: [id]) }
        for slot in deleted { rows[slot] = Row() }
        try keepPublishedOp(db)
        changedSlots.removeAll { deleted.contains($0) }
    }
}

extension BucketTable {
    /// Writes all changed rows.
    ///
    /// A completion moves the position of every bucket of a checkpoint. One statement does that for all of them, so that a
    /// thousand unchanged buckets do not cost a thousand statements.
    mutating func flush(_ db: Database) throws {
        guard !changedSlots.isEmpty else { return }
        hasUnwrittenAppliedOp = false
        Announcements.note(db, "ps_buckets")
        try writeCommonPosition(db)

        let update = try PreparedStatement(
            db,
            sql: """
                UPDATE ps_buckets
                SET last_applied_op = ?2, last_op = ?3, add_checksum = ?4, op_checksum = ?5,
                    count_at_last = ?6, count_since_last = ?7, downloaded_size = ?8
                WHERE id = ?1
                """
        )
        for slot in changedSlots where !rows[slot].changes.isEmpty {
            let row = rows[slot]
            rows[slot].changes = []
            guard let id = row.id else { continue }
            update.bind(id, at: 1)
            update.bind(row.lastAppliedOp.rawValue, at: 2)
            update.bind(row.lastOp.rawValue, at: 3)
            update.bind(Int64(row.addChecksum.rawValue), at: 4)
            update.bind(Int64(row.opChecksum.rawValue), at: 5)
            update.bind(row.countAtLast, at: 6)
            update.bind(row.countSinceLast, at: 7)
            update.bind(row.downloadedSize, at: 8)
            try update.run()
        }
        changedSlots.removeAll(keepingCapacity: true)
    }

    /// From so many buckets on, one statement for a list of them is faster than one for each.
    private static let listThreshold = 16

    /// Writes the position of all buckets that have moved to the same one, unless a statement for each is faster.
    private mutating func writeCommonPosition(_ db: Database) throws {
        let moved = changedSlots.filter { rows[$0].changes == .position }
        guard let first = moved.first.map({ rows[$0] }), moved.count > 1 else { return }
        guard moved.allSatisfy({ rows[$0].lastOp == first.lastOp && rows[$0].lastAppliedOp == first.lastAppliedOp })
        else { return }

        let position: StatementArguments = [first.lastOp.rawValue, first.lastAppliedOp.rawValue]
        if changedSlots.count == rows.count(where: { $0.id != nil }) {
            // Every row is about to be written: those that are not in `moved` get their own values afterwards.
            try db.cachedStatement(
                sql: "UPDATE ps_buckets SET last_op = ?, last_applied_op = ? WHERE pending_delete = 0"
            )
            .execute(arguments: position)
        } else if moved.count >= Self.listThreshold {
            let ids = moved.compactMap { rows[$0].id.map(String.init) }.joined(separator: ",")
            try db.cachedStatement(
                sql: """
                    UPDATE ps_buckets SET last_op = ?, last_applied_op = ?
                    WHERE id IN (SELECT value FROM json_each(?))
                    """
            ).execute(arguments: position + ["[\(ids)]"])
        } else {
            return
        }
        for slot in moved { rows[slot].changes = [] }
    }
}

import GRDB
import PowerSyncProtocol

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

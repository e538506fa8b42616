import GRDB
import PowerSyncProtocol
import PowerSyncSQLite

extension BucketTable {
    /// Writes all changed rows.
    ///
    /// A completion moves the position of every bucket of a checkpoint. One statement does that for all of them, so that a
    /// thousand unchanged buckets do not cost a thousand statements.
    mutating func flush(_ db: Database) throws {
        guard !changedSlots.isEmpty else { return }
        hasUnwrittenAppliedOp = false
        try Announcement.note(db, "ps_buckets")
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

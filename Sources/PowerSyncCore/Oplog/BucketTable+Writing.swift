import GRDB
import PowerSyncProtocol

extension BucketTable {
    /// Writes all changed rows.
    ///
    /// A completion moves the position of every bucket of a checkpoint. Beyond ``setThreshold`` buckets one statement
    /// does that, so that a thousand unchanged buckets do not cost a thousand statements.
    mutating func flush(_ db: Database) throws {
        guard !changedSlots.isEmpty else { return }
        hasUnwrittenReset = false
        let moved = changedSlots.filter { rows[$0].changes == .position }
        let isUniform = moved.dropFirst().allSatisfy {
            rows[$0].lastOp == rows[moved[0]].lastOp && rows[$0].lastAppliedOp == rows[moved[0]].lastAppliedOp
        }
        if moved.count > Self.setThreshold, isUniform {
            try writePosition(of: moved, db)
            for slot in moved { rows[slot].changes = [] }
        }

        let update = try RawStatement(
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

    /// Above this number of buckets, positions are written by one statement.
    static let setThreshold = 16

    /// Writes the position that all of `moved` have in common.
    private func writePosition(of moved: [Slot], _ db: Database) throws {
        let position: StatementArguments = [rows[moved[0]].lastOp.rawValue, rows[moved[0]].lastAppliedOp.rawValue]
        let storedRowCount = rows.count { $0.id != nil }
        if changedSlots.count == storedRowCount {
            // Every row is about to be written: those that are not in `moved` get their own values afterwards.
            try db.cachedStatement(sql: "UPDATE ps_buckets SET last_op = ?, last_applied_op = ?")
                .execute(arguments: position)
        } else {
            let ids = moved.compactMap { rows[$0].id.map(String.init) }.joined(separator: ",")
            try db.cachedStatement(
                sql: """
                    UPDATE ps_buckets SET last_op = ?, last_applied_op = ?
                    WHERE id IN (SELECT value FROM json_each(?))
                    """
            ).execute(arguments: position + ["[\(ids)]"])
        }
    }
}

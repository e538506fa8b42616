/// Writes one changed row of a first sync that was applied: the operation, the row and the positions of the buckets.
final class OneRowFloor {
    private let workload: Workload
    private let plain: PlainDatabase
    private let update: PlainStatement
    private let publish: [String: PlainStatement]
    private let move: PlainStatement

    /// Prepares the statements.
    init(_ workload: Workload, _ database: TemporaryDatabase) throws {
        self.workload = workload
        let plain = try database.plain()
        self.plain = plain
        update = try plain.prepare(
            "UPDATE ps_oplog SET op_id = ?1, data = ?2 WHERE rowid = (SELECT rowid FROM ps_oplog WHERE bucket = ?3 AND key = ?4)"
        )
        publish = try Dictionary(
            uniqueKeysWithValues: ["lists", "todos"].map { table in
                (table, try plain.prepare("REPLACE INTO ps_data__\(table)(id, data) VALUES (?1, ?2)"))
            }
        )
        move = try plain.prepare("UPDATE ps_buckets SET last_op = ?1, last_applied_op = ?1")
    }

    /// Writes the row with this number, in a transaction.
    func write(_ number: Int) throws {
        let row = workload.rows[number]
        let opID = Int64(workload.rows.count + number + 1)
        try plain.execute("BEGIN IMMEDIATE")
        update.bind(opID, at: 1)
        update.bind(row.data, at: 2)
        update.bind(Int64(row.bucket + 1), at: 3)
        update.bind(row.key, at: 4)
        try update.run()
        publish[row.table]?.bind(row.id, at: 1)
        publish[row.table]?.bind(row.data, at: 2)
        try publish[row.table]?.run()
        move.bind(opID, at: 1)
        try move.run()
        try plain.execute("COMMIT")
    }
}

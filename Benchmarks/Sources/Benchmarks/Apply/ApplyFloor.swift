import GRDB
import PowerSyncProtocol

/// The same first sync with nothing but prepared statements.
///
/// Every row goes into `ps_oplog`, then one statement a table copies them behind the views: no checksums, no protocol.
enum ApplyFloor {
    /// How the statements are grouped.
    enum Grouping {
        case oneTransactionPerLine
        case sixteenLinesPerTransaction
        case indexesAfterTheLoad
    }

    /// Loads a workload.
    static func load(_ workload: Workload, into pool: DatabasePool, grouping: Grouping) throws {
        let rowsPerTransaction = grouping == .oneTransactionPerLine ? 1_000 : 16_000
        if grouping == .indexesAfterTheLoad {
            try pool.write { db in
                try db.execute(sql: "DROP INDEX ps_oplog_row; DROP INDEX ps_oplog_opid; DROP INDEX ps_oplog_key")
            }
        }
        let insert = try pool.writeWithoutTransaction { db in
            try PlainStatement(
                db,
                "INSERT INTO ps_oplog(bucket, op_id, row_type, row_id, key, data, hash) VALUES (?, ?, ?, ?, ?, ?, ?)"
            )
        }
        for start in stride(from: 0, to: workload.rows.count, by: rowsPerTransaction) {
            try pool.write { _ in
                for index in start..<min(start + rowsPerTransaction, workload.rows.count) {
                    let row = workload.rows[index]
                    insert.bind(Int64(row.bucket + 1), at: 1)
                    insert.bind(Int64(index + 1), at: 2)
                    insert.bind(row.table, at: 3)
                    insert.bind(row.id, at: 4)
                    insert.bind(row.key, at: 5)
                    insert.bind(row.data, at: 6)
                    insert.bind(Int64(row.checksum.signed), at: 7)
                    try insert.run()
                }
            }
        }
        try pool.write { db in
            if grouping == .indexesAfterTheLoad {
                try db.execute(
                    sql: """
                        CREATE INDEX ps_oplog_row ON ps_oplog (row_type, row_id);
                        CREATE INDEX ps_oplog_opid ON ps_oplog (bucket, op_id);
                        CREATE INDEX ps_oplog_key ON ps_oplog (bucket, key);
                        """
                )
            }
            for table in ["lists", "todos"] {
                try db.execute(
                    sql: """
                        INSERT INTO ps_data__\(table)(id, data)
                        SELECT row_id, data FROM ps_oplog WHERE row_type = ? ORDER BY row_id
                        """,
                    arguments: [table]
                )
            }
        }
    }
}

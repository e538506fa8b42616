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
        try download(workload, into: pool, grouping: grouping)
        try pool.write { db in
            if grouping == .indexesAfterTheLoad { try createIndexes(db) }
            for table in tables {
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

    /// Loads a workload, and writes its rows to tables with columns of their own: with one statement a row, whose values are there without
    /// reading JSON.
    ///
    /// - Parameters:
    ///   - workload: The workload.
    ///   - rows: Its rows by table and id.
    ///   - pool: A database with direct tables, whose triggers are dropped.
    /// - Throws: `DatabaseError` of SQLite.
    static func loadDirectTables(_ workload: Workload, _ rows: [Workload.Row], into pool: DatabasePool) throws {
        try download(workload, into: pool, grouping: .indexesAfterTheLoad)
        try pool.write { db in
            try createIndexes(db)
            let index = try String.fetchOne(
                db,
                sql: "SELECT sql FROM sqlite_master WHERE name = 'powersync_todos__by_owner'"
            )
            try db.execute(sql: "DROP INDEX powersync_todos__by_owner")
            for sql in try String.fetchAll(db, sql: "SELECT name FROM sqlite_master WHERE type = 'trigger'") {
                try db.execute(sql: "DROP TRIGGER \(sql)")
            }
            var inserts: [String: PlainStatement] = [:]
            for table in tables {
                let columns = "id, owner, number, title, done"
                inserts[table] = try PlainStatement(db, "INSERT INTO \(table)(\(columns)) VALUES (?, ?, ?, ?, 0)")
            }
            let operations = try PlainStatement(
                db,
                """
                SELECT row_type, row_id, data FROM ps_oplog INDEXED BY ps_oplog_row
                WHERE row_type IS NOT NULL ORDER BY row_type, row_id
                """
            )
            var rest = rows[...]
            try operations.run { operation in
                guard let row = rest.popFirst(), operation.textLength(at: 2) == row.data.utf8.count,
                    let insert = inserts[row.table]
                else { preconditionFailure("the rows are not those of the operations") }
                insert.bind(row.id, at: 1)
                insert.bind(row.owner, at: 2)
                insert.bind(Int64(row.number), at: 3)
                insert.bind(row.title, at: 4)
                try insert.run()
            }
            if let index { try db.execute(sql: index) }
        }
    }

    private static let tables = ["lists", "todos"]

    /// Stores all operations.
    private static func download(_ workload: Workload, into pool: DatabasePool, grouping: Grouping) throws {
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
    }

    private static func createIndexes(_ db: Database) throws {
        try db.execute(
            sql: """
                CREATE INDEX ps_oplog_row ON ps_oplog (row_type, row_id);
                CREATE INDEX ps_oplog_opid ON ps_oplog (bucket, op_id);
                CREATE INDEX ps_oplog_key ON ps_oplog (bucket, key);
                """
        )
    }
}

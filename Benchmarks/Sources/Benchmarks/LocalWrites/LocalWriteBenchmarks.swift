import GRDB
import PowerSyncCore

/// Inserts, updates of one column and deletes through a view: the row, its entry in the upload queue, the mark for the
/// next publication, the transaction's number and the local write gate.
///
/// `…_alone` is the engine without GRDB: prepared statements through the C API write to the same views, as other
/// implementations are measured. The floor does the same durable work with prepared statements on a plain connection; see
/// ``LocalWriteFloor``.
enum LocalWriteBenchmarks {
    /// What is done to each row.
    enum Operation: String, CaseIterable {
        case insert, update, delete
    }

    /// Runs all cases.
    static func run() throws {
        for operation in Operation.allCases {
            try run(operation, rows: 10_000, rowsPerTransaction: 10_000, name: "1_transaction")
            try run(operation, rows: 2_000, rowsPerTransaction: 1, name: "own_transaction")
        }
        var tracked = TemporaryDatabase.schema
        for index in tracked.tables.indices { tracked.tables[index].options.trackPreviousValues = PreviousValues() }
        try run(
            .update,
            rows: 10_000,
            rowsPerTransaction: 10_000,
            name: "1_transaction_with_previous_values",
            schema: tracked
        )
        try runReals()
    }

    /// Inserts rows of four reals with all their digits, which are the most work to write.
    private static func runReals() throws {
        let count = 10_000
        let names = ["a", "b", "c", "d"]
        let schema = ClientSchema(tables: [
            ClientTable(name: "readings", columns: names.map { ClientColumn(name: $0, type: .real) })
        ])
        let ours = try Measurement.best(of: 3, prepare: { try TemporaryDatabase(schema: schema) }) { database in
            var random = SplitMix64(seed: 1)
            try database.pool.write { db in
                let statement = try db.cachedStatement(
                    sql: "INSERT INTO readings(id, a, b, c, d) VALUES (?, ?, ?, ?, ?)"
                )
                for id in 0..<count {
                    let values = names.map { _ in Double(random.next() >> 11) / 0x1p43 }
                    try statement.execute(arguments: ["\(id)", values[0], values[1], values[2], values[3]])
                }
            }
        }
        Report.line("local_writes.10k_inserts.1_transaction_of_reals", ours: ours.rate(of: count), floors: [])
    }

    private static func run(
        _ operation: Operation,
        rows count: Int,
        rowsPerTransaction: Int,
        name: String,
        schema: ClientSchema = TemporaryDatabase.schema
    ) throws {
        let rows = Workload(rows: count, buckets: 1).rows
        let transactions = stride(from: 0, to: count, by: rowsPerTransaction).map { start in
            rows[start..<start + rowsPerTransaction]
        }
        func database() throws -> TemporaryDatabase {
            let database = try TemporaryDatabase(schema: schema)
            if operation != .insert {
                try database.pool.write { try write(.insert, rows[...], in: $0) }
            }
            return database
        }
        let ours = try Measurement.best(of: 3, prepare: database) { database in
            for rows in transactions {
                try database.pool.write { try write(operation, rows, in: $0) }
            }
        }
        let floor = try Measurement.best(
            of: 3,
            prepare: {
                let database = try database()
                return (database, try LocalWriteFloor(database.plain()))
            },
            { _, floor in
                for rows in transactions {
                    try floor.write(operation, rows)
                }
            }
        )
        let alone = try Measurement.best(
            of: 3,
            prepare: {
                let database = try database()
                return (database, try ViewWriter(database.plain()))
            },
            { _, writer in
                for rows in transactions {
                    try writer.write(operation, rows)
                }
            }
        )
        let floors = [("plain statements", floor.rate(of: count))]
        let title = "local_writes.\(count / 1_000)k_\(operation)s.\(name)"
        Report.line(title, ours: ours.rate(of: count), floors: floors)
        Report.line(title + "_alone", ours: alone.rate(of: count), floors: floors)
    }

    /// Writes through the view `lists`.
    static func write(_ operation: Operation, _ rows: ArraySlice<Workload.Row>, in db: Database) throws {
        switch operation {
        case .insert:
            let statement = try db.cachedStatement(
                sql: "INSERT INTO lists(id, owner, number, title, done) VALUES (?, ?, ?, ?, 0)"
            )
            for row in rows {
                try statement.execute(arguments: [row.id, "user-1", 1, row.data])
            }
        case .update:
            let statement = try db.cachedStatement(sql: "UPDATE lists SET owner = ? WHERE id = ?")
            for row in rows {
                try statement.execute(arguments: ["user-2", row.id])
            }
        case .delete:
            let statement = try db.cachedStatement(sql: "DELETE FROM lists WHERE id = ?")
            for row in rows {
                try statement.execute(arguments: [row.id])
            }
        }
    }
}

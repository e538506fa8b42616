import GRDB
import PowerSyncCore

/// Local writes through a view: the row, its entry in the upload queue, and the local write gate.
///
/// The floor writes the same tables with prepared statements; the JSON is made by SQLite in both.
enum UploadQueueBenchmarks {
    /// Runs all cases.
    static func run() throws {
        let many = 10_000
        let few = 2_000
        let titles = Workload(rows: many, buckets: 1).rows

        let ours = try Measurement.best(of: 3, prepare: { try TemporaryDatabase() }) { database in
            try database.pool.write { db in
                try insert(titles[...], in: db)
            }
        }
        let floor = try Measurement.best(of: 3, prepare: { try TemporaryDatabase() }) { database in
            try database.pool.write { db in
                try Floor(db).insert(titles[...], transaction: 1)
            }
        }
        Report.line(
            "upload_queue.10k_rows.1_transaction",
            ours: ours.rate(of: many),
            floors: [("plain statements", floor.rate(of: many))]
        )

        let oursEach = try Measurement.best(of: 3, prepare: { try TemporaryDatabase() }) { database in
            for index in 0..<few {
                try database.pool.write { db in
                    try insert(titles[index...index], in: db)
                }
            }
        }
        let floorEach = try Measurement.best(of: 3, prepare: { try TemporaryDatabase() }) { database in
            let floor = try database.pool.writeWithoutTransaction { try Floor($0) }
            for index in 0..<few {
                try database.pool.write { _ in
                    try floor.insert(titles[index...index], transaction: Int64(index + 1))
                }
            }
        }
        Report.line(
            "upload_queue.2k_rows.own_transaction",
            ours: oursEach.rate(of: few),
            floors: [("plain statements", floorEach.rate(of: few))]
        )

        let complete = try Measurement.best(of: 3, prepare: { try filledDatabase(titles) }, completeAll)
        Report.line("upload_queue.10k_rows.read_and_complete", ours: complete.rate(of: many), floors: [])
    }

    private static func filledDatabase(_ rows: [Workload.Row]) throws -> TemporaryDatabase {
        let database = try TemporaryDatabase()
        try database.pool.write { try insert(rows[...], in: $0) }
        return database
    }

    private static func completeAll(_ database: TemporaryDatabase) throws {
        while let batch = try database.pool.read({ try UploadQueue.batch(limit: 100, $0) }) {
            guard let last = batch.writes.last else { break }
            try database.pool.write { db in
                try UploadQueue.complete(through: last.id, writeCheckpoint: nil, db)
            }
        }
    }

    private static func insert(_ rows: ArraySlice<Workload.Row>, in db: Database) throws {
        let statement = try db.cachedStatement(
            sql: "INSERT INTO lists(id, owner, number, title, done) VALUES (?, ?, ?, ?, 0)"
        )
        for row in rows {
            try statement.execute(arguments: [row.id, "user-1", 1, row.data])
        }
    }

    /// What a C program would do for the same tables.
    private final class Floor {
        private let data: PlainStatement
        private let queue: PlainStatement
        private let updated: PlainStatement

        init(_ db: Database) throws {
            let object = "json_object('owner', ?2, 'number', ?3, 'title', ?4, 'done', 0)"
            data = try PlainStatement(db, "INSERT INTO ps_data__lists(id, data) VALUES (?1, \(object))")
            queue = try PlainStatement(
                db,
                """
                INSERT INTO ps_crud(tx_id, data)
                VALUES (?5, json_object('op', 'PUT', 'id', ?1, 'type', 'lists', 'data', \(object)))
                """
            )
            updated = try PlainStatement(
                db,
                "INSERT OR IGNORE INTO ps_updated_rows(row_type, row_id) VALUES ('lists', ?1)"
            )
        }

        func insert(_ rows: ArraySlice<Workload.Row>, transaction: Int64) throws {
            for row in rows {
                for statement in [data, queue] {
                    statement.bind(row.id, at: 1)
                    statement.bind("user-1", at: 2)
                    statement.bind(1, at: 3)
                    statement.bind(row.data, at: 4)
                }
                queue.bind(transaction, at: 5)
                updated.bind(row.id, at: 1)
                try data.run()
                try queue.run()
                try updated.run()
            }
        }
    }
}

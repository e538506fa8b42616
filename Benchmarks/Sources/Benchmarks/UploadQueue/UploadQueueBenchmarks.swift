import GRDB
import PowerSyncCore

/// Reading and completing a queue of 10 k entries in batches of 100, as an upload does.
///
/// The floor reads the same rows and deletes them with prepared statements, without decoding their JSON.
enum UploadQueueBenchmarks {
    /// Runs all cases.
    static func run() throws {
        let count = 10_000
        let rows = Workload(rows: count, buckets: 1).rows
        func filledDatabase() throws -> TemporaryDatabase {
            let database = try TemporaryDatabase()
            try database.pool.write { try LocalWriteBenchmarks.write(.insert, rows[...], in: $0) }
            return database
        }
        let ours = try Measurement.best(of: 3, prepare: filledDatabase) { database in
            while let batch = try database.pool.read({ try UploadQueue.batch($0, limit: 100) }) {
                guard let last = batch.writes.last else { break }
                try database.pool.write { db in
                    try UploadQueue.complete(db, through: last.id, writeCheckpoint: nil)
                }
            }
        }
        let floor = try Measurement.best(of: 3, prepare: filledDatabase) { database in
            let plain = try database.plain()
            let read = try plain.prepare("SELECT id, tx_id, data FROM ps_crud ORDER BY id LIMIT 101")
            let delete = try plain.prepare("DELETE FROM ps_crud WHERE id <= ?")
            var bytes = 0
            for batch in 1...count / 100 {
                try read.run { bytes += $0.textLength(at: 2) }
                delete.bind(Int64(batch * 100), at: 1)
                try delete.run()
            }
            precondition(bytes > count * 200, "read \(bytes) bytes")
        }
        Report.line(
            "upload_queue.10k_rows.read_and_complete",
            ours: ours.rate(of: count),
            floors: [("plain statements", floor.rate(of: count))]
        )
    }
}

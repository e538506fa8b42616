import GRDB
import PowerSyncCore
import PowerSyncProtocol

/// Three lines that change one row of 100,000, from decoded lines to the committed transaction, again and again.
///
/// The floor does what is left when nothing has to be found out: it writes the operation, the row and the position of the
/// bucket with prepared statements.
enum OneRowBenchmarks {
    private static let rows = 100_000
    private static let changes = 500

    /// Runs all cases.
    static func run() throws {
        for buckets in [10, 1_000] {
            try run(buckets: buckets)
        }
    }

    private static func run(buckets: Int) throws {
        let workload = Workload(rows: rows, buckets: buckets)
        let lines = workload.lines()
        guard case .checkpoint(let checkpoint)? = lines.first else { return }
        let database = try TemporaryDatabase()
        var engine = SyncEngine()
        try ApplyBenchmarks.apply(lines, with: &engine, to: database.pool)

        let batches = changes(to: workload, checkpoint)
        let before = ProcessUsage.now
        let time = try Measurement.best(of: 1, prepare: {}) {
            for batch in batches {
                try ApplyBenchmarks.handle(batch, with: &engine, in: database.pool)
            }
        }
        let cpu = ProcessUsage.now.cpu - before.cpu
        let (floor, floorCPU) = try measureFloor(workload, database)
        func each(_ duration: Duration) -> Measurement { Measurement(best: duration / changes) }
        let name = "one-row.of_100k.\(buckets)_buckets"
        Report.time(name, ours: each(time.best), floors: [("plain statements", each(floor.best))])
        Report.time("\(name).cpu", ours: each(cpu), floors: [("plain statements", each(floorCPU))])
    }

    private static func changes(to workload: Workload, _ checkpoint: Checkpoint) -> [[SyncLine]] {
        var checkpoint = checkpoint
        return (0..<changes).map { change in
            let opID = OpID(Int64(rows + change + 1))
            let row = workload.rows[change]
            checkpoint.buckets[row.bucket].checksum += row.checksum
            var data = DataLine(bucket: Workload.bucketName(row.bucket))
            data.append(
                .put,
                opID: opID,
                checksum: row.checksum,
                objectType: row.table,
                objectID: row.id,
                subkey: "5b2b4a0e-7b63-5b0d-9f0e-5a1f7f0d7c11/" + row.id,
                data: row.data
            )
            return [
                .checkpointDiff(
                    CheckpointDiff(lastOpID: opID, updatedBuckets: [checkpoint.buckets[row.bucket]])
                ),
                .data(data),
                .checkpointComplete(CheckpointComplete(lastOpID: opID)),
            ]
        }
    }

    private static func measureFloor(
        _ workload: Workload,
        _ database: TemporaryDatabase
    ) throws -> (Measurement, Duration) {
        let plain = try database.plain()
        let update = try plain.prepare(
            "UPDATE ps_oplog SET op_id = ?1, data = ?2 WHERE rowid = (SELECT rowid FROM ps_oplog WHERE bucket = ?3 AND key = ?4)"
        )
        let publish = try Dictionary(
            uniqueKeysWithValues: ["lists", "todos"].map { table in
                (table, try plain.prepare("REPLACE INTO ps_data__\(table)(id, data) VALUES (?1, ?2)"))
            }
        )
        let move = try plain.prepare("UPDATE ps_buckets SET last_op = ?1, last_applied_op = ?1")
        let before = ProcessUsage.now
        let time = try Measurement.best(of: 1, prepare: {}) {
            for change in 0..<changes {
                let row = workload.rows[change]
                let opID = Int64(rows + changes + change + 1)
                try plain.execute("BEGIN IMMEDIATE")
                update.bind(opID, at: 1)
                update.bind(row.data, at: 2)
                update.bind(Int64(row.bucket + 1), at: 3)
                update.bind("\(row.table)/\(row.id)/5b2b4a0e-7b63-5b0d-9f0e-5a1f7f0d7c11/\(row.id)", at: 4)
                try update.run()
                publish[row.table]?.bind(row.id, at: 1)
                publish[row.table]?.bind(row.data, at: 2)
                try publish[row.table]?.run()
                move.bind(opID, at: 1)
                try move.run()
                try plain.execute("COMMIT")
            }
        }
        return (time, ProcessUsage.now.cpu - before.cpu)
    }
}

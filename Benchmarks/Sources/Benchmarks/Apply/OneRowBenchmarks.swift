import GRDB
import PowerSyncCore
import PowerSyncProtocol

/// Three lines that change one row of 100,000, from decoded lines to the committed transaction, again and again.
///
/// The floor does what is left when nothing has to be found out: it writes the operation, the row and the position of the
/// bucket with prepared statements. Both take turns, each in a file of its own, and the best of some rounds counts.
enum OneRowBenchmarks {
    private static let rows = 100_000
    private static let rounds = 8
    private static let changesPerRound = 500

    /// Runs all cases.
    static func run() throws {
        try run("10_buckets", buckets: 10)
        try run("1000_buckets", buckets: 1_000)
        try run("10_buckets.100_tables", buckets: 10, otherTables: 98)
    }

    /// - Parameters:
    ///   - name: Of the case.
    ///   - buckets: How many buckets share the rows.
    ///   - otherTables: How many tables without rows the schema has.
    /// - Throws: An error of the engine or of SQLite.
    private static func run(_ name: String, buckets: Int, otherTables: Int = 0) throws {
        let workload = Workload(rows: rows, buckets: buckets)
        let lines = workload.lines()
        guard case .checkpoint(let checkpoint)? = lines.first else { return }
        var schema = TemporaryDatabase.schema
        let columns = schema.tables[0].columns
        schema.tables += (0..<otherTables).map { ClientTable(name: "other\($0)", columns: columns) }
        let (database, floorDatabase) = (try TemporaryDatabase(schema: schema), try TemporaryDatabase(schema: schema))
        var (engine, floorEngine) = (SyncEngine(), SyncEngine())
        try ApplyBenchmarks.apply(lines, with: &engine, to: database.pool)
        try ApplyBenchmarks.apply(lines, with: &floorEngine, to: floorDatabase.pool)

        let batches = changes(to: workload, checkpoint)
        let floor = try OneRowFloor(workload, floorDatabase)
        var (ours, floors) = (BestRound(), BestRound())
        for round in 0..<rounds {
            let changes = round * changesPerRound..<(round + 1) * changesPerRound
            try ours.measure {
                for batch in batches[changes] {
                    try ApplyBenchmarks.handle(batch, with: &engine, in: database.pool)
                }
            }
            try floors.measure {
                for change in changes { try floor.write(change) }
            }
        }
        func each(_ round: Measurement) -> Measurement { Measurement(best: round.best / changesPerRound) }
        Report.time("one-row.of_100k.\(name)", ours: each(ours.time), floors: [("plain statements", each(floors.time))])
        Report.time(
            "one-row.of_100k.\(name).cpu",
            ours: each(ours.cpu),
            floors: [("plain statements", each(floors.cpu))]
        )
    }

    /// The best time, and the least use of the processors, of some rounds.
    private struct BestRound {
        private(set) var time = Measurement.never
        private(set) var cpu = Measurement.never

        mutating func measure(_ body: () throws -> Void) rethrows {
            let before = ProcessUsage.now
            try time.improve(prepare: {}) { try body() }
            cpu.best = min(cpu.best, ProcessUsage.now.cpu - before.cpu)
        }
    }

    private static func changes(to workload: Workload, _ checkpoint: Checkpoint) -> [[SyncLine]] {
        var checkpoint = checkpoint
        return (0..<rounds * changesPerRound).map { change in
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
                subkey: row.subkey,
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
}

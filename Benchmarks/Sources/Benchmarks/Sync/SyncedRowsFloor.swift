/// The floor of the database: the same number of rows by prepared statements, with indexes made after the load.
struct SyncedRowsFloor: Codable {
    /// What is measured.
    struct Result: Codable {
        var seconds: Double
        var cpuSeconds: Double
    }

    /// The number of rows.
    var rows: Int

    /// Loads a new database; see ``ApplyFloor``.
    func run() throws -> Result {
        let workload = Workload(rows: rows, buckets: SyncScenario.bucketCount)
        let database = try TemporaryDatabase()
        let before = ProcessUsage.now
        let time = try Measurement.best(of: 1, prepare: {}) {
            try ApplyFloor.load(workload, into: database.pool, grouping: .indexesAfterTheLoad)
        }
        return Result(
            seconds: time.best / .seconds(1),
            cpuSeconds: (ProcessUsage.now.cpu - before.cpu) / .seconds(1)
        )
    }
}

import PowerSyncSyncConfig
import PowerSyncServiceCore

/// Plain inserts of the same JSON texts into one table, in the order of its rowid, in transactions of the same size.
enum StoreFloor {
    /// - Returns: Rows a second.
    static func insert(_ count: Int) throws -> Double {
        guard let plan = SyncConfig.parse(StoreWorkload.config).plan else { preconditionFailure("the config is wrong") }
        var evaluator = plan.evaluator(for: StoreWorkload.table.name)
        let texts = (0..<count).flatMap { evaluator.evaluate(StoreWorkload.row($0), bucketPrefix: "1#").map(\.data) }
        let time = try Measurement.best(of: 3) {
            let folder = try TemporaryFolder()
            return (folder, try PlainDatabase(path: folder.path))
        } _: { (_, database) in
            try database.execute("CREATE TABLE operations (op_id INTEGER PRIMARY KEY, data TEXT)")
            let statement = try database.prepare("INSERT INTO operations (data) VALUES (?)")
            for start in stride(from: 0, to: texts.count, by: BenchmarkStorage.batch) {
                try database.execute("BEGIN IMMEDIATE")
                for text in texts[start..<min(start + BenchmarkStorage.batch, texts.count)] {
                    statement.bind(text, at: 1)
                    try statement.run()
                }
                try database.execute("COMMIT")
            }
        }
        return time.rate(of: texts.count)
    }
}

import PowerSyncServiceCore

/// The service's bucket storage with many rows: writing, its size, opening, and reading (docs/service.md "Bucket storage").
enum StoreBenchmarks {
    /// Runs all cases.
    ///
    /// - Parameter rows: The rows that are stored when the cases are measured.
    /// - Throws: An error of the storage.
    static func run(rows: Int) async throws {
        let measured = min(100_000, rows / 3)
        let floor = try StoreFloor.insert(measured)
        let floors = [("inserts of the texts", floor)]
        let name = rows % 1_000_000 == 0 ? "\(rows / 1_000_000)M_rows" : "\(rows / 1_000)k_rows"

        var benchmark = try await BenchmarkStorage()
        var total = try await benchmark.insert(rows - measured)
        let last = try await benchmark.insert(measured)
        total += last
        Report.line("store.in.\(name).all", ours: rate(rows, total), floors: floors)
        Report.line("store.in.\(name).last_\(measured / 1_000)k", ours: rate(measured, last), floors: floors)
        let sealing = try await benchmark.seal()
        Report.time("store.seal_rest.\(name)", ours: Measurement(best: sealing), floors: [])
        let opened = try await benchmark.reopen()
        benchmark = opened.storage
        let bytes = try benchmark.bytes()
        print(
            "store.size.\(name): \(bytes.database / rows) bytes a row, \(bytes.used / rows) of them in use,",
            "and \(bytes.wal / 1_000_000) MB of WAL"
        )
        Report.time("store.open.\(name)", ours: Measurement(best: opened.time), floors: [])

        try await read(benchmark, name)
        let changed = min(20_000, rows / 3)
        let same = try await benchmark.update(changed, isChange: false)
        let updates = try await benchmark.update(changed, isChange: true)
        Report.line("store.update.\(name)", ours: rate(changed, updates), floors: floors)
        let update = [("updates that change something", rate(changed, updates))]
        Report.line("economy.update.unsynced_column.\(name)", ours: rate(changed, same), floors: update)
        try benchmark.close()
    }

    private static func read(_ benchmark: BenchmarkStorage, _ name: String) async throws {
        let reading = try await BucketReading(benchmark)
        var first = Duration.zero
        for seed in 0..<20 as Range<UInt64> {
            let buckets = reading.buckets(20, seed: seed)
            first = max(first, try await time { try await reading.firstCheckpoint(buckets) })
        }
        Report.time("store.first_checkpoint.20_buckets.\(name)", ours: Measurement(best: first), floors: [])
        for run in ["cold", "warm"] {
            var count = 0
            let one = try await time { count = try await reading.read([reading.bucket(nil)], limit: 200_000) }
            Report.line("store.out.1_bucket.\(name).\(run)", ours: rate(count, one), floors: [])
            count = 0
            let many = try await time {
                for seed in 100..<150 as Range<UInt64> {
                    count += try await reading.read(reading.buckets(20, seed: seed))
                }
            }
            Report.line("store.out.20_buckets.\(name).\(run)", ours: rate(count, many), floors: [])
        }
        var count = 0
        let eight = try await time {
            count = try await withThrowingTaskGroup(of: Int.self) { group in
                for client in 0..<8 as Range<UInt64> {
                    group.addTask {
                        var count = try await reading.read([reading.bucket(nil)], limit: 50_000)
                        for round in 0..<10 as Range<UInt64> {
                            count += try await reading.read(reading.buckets(20, seed: 1_000 + client * 10 + round))
                        }
                        return count
                    }
                }
                return try await group.reduce(0, +)
            }
        }
        Report.line("store.out.8_clients.\(name)", ours: rate(count, eight), floors: [])
    }

    private static func time(_ body: () async throws -> Void) async throws -> Duration {
        let start = ContinuousClock.now
        try await body()
        return ContinuousClock.now - start
    }

    private static func rate(_ count: Int, _ time: Duration) -> Double {
        Measurement(best: time).rate(of: count)
    }
}

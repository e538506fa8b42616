import GRDB
import PowerSyncCore
import PowerSyncProtocol

#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// A first sync without a network: decoded lines into an empty database, to the applied checkpoint.
enum ApplyBenchmarks {
    /// What fits into the client's limit of 8 MiB for waiting lines.
    private static let linesPerTransaction = 32

    /// Runs all cases.
    ///
    /// - Parameter includesMillion: Also the case of a million rows, which takes minutes.
    /// - Throws: An error of the engine or of SQLite.
    static func run(includesMillion: Bool) throws {
        // First and once, since memory that the process has freed would be used again and not count.
        try measureMemory(rows: includesMillion ? 1_000_000 : 100_000, buckets: 10)
        for rows in [10_000, 100_000] {
            for buckets in [1, 10, 1_000] {
                try run(rows: rows, buckets: buckets, repetitions: 3)
            }
        }
        if includesMillion {
            try run(rows: 1_000_000, buckets: 10, repetitions: 2)
        }
    }

    /// Ours and the floors take turns, so that a machine that becomes slower meanwhile is slower for all of them.
    private static func run(rows: Int, buckets: Int, repetitions: Int) throws {
        let workload = Workload(rows: rows, buckets: buckets)
        let lines = workload.lines()
        let groupings: [(name: String, grouping: ApplyFloor.Grouping)] = [
            ("one transaction a line", .oneTransactionPerLine),
            ("16 lines a transaction", .sixteenLinesPerTransaction),
            ("indexes after the load", .indexesAfterTheLoad),
        ]
        var ours = Measurement.never
        var floors = groupings.map { _ in Measurement.never }
        for _ in 0..<repetitions {
            try ours.improve(prepare: emptyDatabase) { database in
                var engine = SyncEngine()
                try apply(lines, with: &engine, to: database.pool)
                let count = try database.pool.read { db in
                    try Int.fetchOne(db, sql: "SELECT (SELECT count(*) FROM lists) + (SELECT count(*) FROM todos)")
                }
                precondition(count == rows, "\(count ?? 0) of \(rows) rows are visible")
            }
            for (index, (_, grouping)) in groupings.enumerated() {
                try floors[index].improve(prepare: emptyDatabase) { database in
                    try ApplyFloor.load(workload, into: database.pool, grouping: grouping)
                }
            }
        }
        Report.line(
            "apply.\(rows / 1_000)k_rows.\(buckets)_buckets",
            ours: ours.rate(of: rows),
            floors: zip(groupings, floors).map { ($0.name, $1.rate(of: rows)) }
        )
    }

    /// An empty database, when everything that was written before is on the disk.
    private static func emptyDatabase() throws -> TemporaryDatabase {
        sync()
        return try TemporaryDatabase()
    }

    /// The most memory that a first sync needs, when lines come one after the other and are not kept.
    private static func measureMemory(rows: Int, buckets: Int) throws {
        let database = try TemporaryDatabase()
        let peak = try PeakMemory.of {
            var engine = SyncEngine()
            var lines: [SyncLine] = []
            try perform([.start(SyncStart()), .streamOpened], with: &engine, in: database.pool)
            try Workload.forEachLine(rows: rows, buckets: buckets) { line in
                lines.append(line)
                guard lines.count == linesPerTransaction else { return }
                try handle(lines, with: &engine, in: database.pool)
                lines = []
            }
            try handle(lines, with: &engine, in: database.pool)
        }
        guard let peak else { return }
        Report.memory("apply.\(rows / 1_000)k_rows.\(buckets)_buckets.peak_memory", ours: peak)
    }

    /// Hands lines to an engine, several a transaction as the SDK does.
    static func apply(_ lines: [SyncLine], with engine: inout SyncEngine, to pool: DatabasePool) throws {
        try perform([.start(SyncStart()), .streamOpened], with: &engine, in: pool)
        var rest = lines[...]
        while !rest.isEmpty {
            try handle(Array(rest.prefix(linesPerTransaction)), with: &engine, in: pool)
            rest = rest.dropFirst(linesPerTransaction)
        }
    }

    /// Hands lines to an engine in one transaction.
    static func handle(_ lines: [SyncLine], with engine: inout SyncEngine, in pool: DatabasePool) throws {
        let events = lines.map { line in
            SyncEvent.line(ReceivedLine(line: line, byteCount: 300_000))
        }
        try perform(events, with: &engine, in: pool)
    }

    private static func perform(_ events: [SyncEvent], with engine: inout SyncEngine, in pool: DatabasePool) throws {
        var rest = events[...]
        while !rest.isEmpty {
            var next = engine
            let step = try pool.write { db in
                try next.handle(rest, in: db, now: SyncInstant(microseconds: 1_767_225_600_000_000))
            }
            engine = next
            rest = rest.dropFirst(step.handledEvents)
        }
    }
}

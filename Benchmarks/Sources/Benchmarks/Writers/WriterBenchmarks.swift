import Foundation
import PowerSync
import PowerSyncProtocol

/// How long a small write of the app waits while a first sync is going on, through the public interface: one row of a
/// local-only table, which does not hold the sync back.
///
/// | Case | Meaning |
/// | --- | --- |
/// | `writers.<rows>.<n>_priorities` | the first sync itself, with the writes beside it |
/// | `….wait.p50`, `….wait.p99`, `….wait.worst` | from the call to the return of a write; see ``WriteWaits`` |
/// | `….peak_log` | the largest size of the write-ahead log, as seen after each write |
///
/// Lines come decoded and at once, so this is the sync of a very fast network. The floor of a wait is that of the same
/// writes to the same file before the sync.
enum WriterBenchmarks {
    private static let bucketCount = 10

    /// Runs all cases.
    ///
    /// - Parameter includesMillion: Also the cases of a million rows, which take a minute.
    /// - Throws: An error of the database.
    static func run(includesMillion: Bool) async throws {
        for rows in includesMillion ? [100_000, 1_000_000] : [100_000] {
            let workload = Workload(rows: rows, buckets: bucketCount)
            for priorities in [1, 3] {
                let lines = workload.lines(priorities: priorities)
                var results: [Result] = []
                for _ in 0..<(rows > 100_000 ? 1 : 3) {
                    results.append(try await measure(lines, rows: rows))
                }
                report("writers.\(rows / 1_000)k_rows.\(priorities)_priorities", rows: rows, results)
            }
        }
    }

    private struct Result {
        var duration: Duration
        var idle: WriteWaits
        var waits: WriteWaits
        var peakLog: Int
    }

    private static func measure(_ lines: [SyncLine], rows: Int) async throws -> Result {
        let folder = try TemporaryFolder()
        let database = SyncedDatabase(
            schema: schema,
            dbFilename: folder.path,
            logger: DefaultLogger(minSeverity: .error),
            environment: SyncEnvironment(transport: ReadyLines(lines))
        )
        var number = 0
        func write() async throws {
            number += 1
            _ = try await database.execute(
                sql: "INSERT INTO drafts(id, title) VALUES (?, ?)",
                parameters: ["draft-\(number)", "A thought in between"]
            )
        }
        // Opens the file.
        try await write()
        var idle = WriteWaits()
        for _ in 0..<500 { try await idle.measure(write) }

        var waits = WriteWaits()
        var peakLog = 0
        let status = database.currentStatus
        let start = ContinuousClock.now
        try await database.connect(connector: Connector(), options: ConnectOptions())
        while status.hasSynced != true {
            try await waits.measure(write)
            let attributes = try? FileManager.default.attributesOfItem(atPath: folder.path + "-wal")
            peakLog = max(peakLog, (attributes?[.size] as? NSNumber)?.intValue ?? 0)
        }
        let duration = ContinuousClock.now - start

        let count = try await database.get(
            "SELECT (SELECT count(*) FROM lists) + (SELECT count(*) FROM todos)"
        ) { try $0.getInt(index: 0) }
        precondition(count == rows, "\(count) of \(rows) rows are visible")
        try await database.disconnect()
        try await database.close()
        return Result(duration: duration, idle: idle, waits: waits, peakLog: peakLog)
    }

    /// Of several runs the best counts, figure by figure: noise only ever adds time.
    private static func report(_ name: String, rows: Int, _ results: [Result]) {
        func best(_ figure: (Result) -> Duration) -> Measurement {
            Measurement(best: results.lazy.map(figure).min() ?? .zero)
        }
        Report.line(name, ours: best(\.duration).rate(of: rows), floors: [])
        let shares = [(name: "p50", share: 0.5), (name: "p99", share: 0.99), (name: "worst", share: 1)]
        for (figure, share) in shares {
            Report.time(
                "\(name).wait.\(figure)",
                ours: best { $0.waits.percentile(share) },
                floors: [("idle", best { $0.idle.percentile(share) })]
            )
        }
        let peakLog = results.map(\.peakLog).min() ?? 0
        Report.memory("\(name).peak_log", ours: PeakMemory(bytes: peakLog))
    }

    /// The tables of the workload, and one that is not synced.
    private static let schema = Schema(
        Table(name: "lists", columns: columns),
        Table(name: "todos", columns: columns, indexes: [.ascending(name: "by_owner", column: "owner")]),
        Table(name: "drafts", columns: [.text("title")], localOnly: true)
    )

    private static let columns: [Column] = [
        .text("owner"), .integer("number"), .text("title"), .integer("done"),
    ]

    private final class Connector: PowerSyncBackendConnectorProtocol {
        func fetchCredentials() async throws -> PowerSyncCredentials? {
            PowerSyncCredentials(endpoint: "http://localhost", token: "token")
        }

        func uploadData(database: any PowerSyncDatabaseProtocol) async throws {}
    }
}

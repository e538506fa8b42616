import Foundation
import Logging
import NIOConcurrencyHelpers
import PowerSyncSyncConfig
import PowerSyncService
import PowerSyncServiceCore
import PowerSyncServicePostgres
import PowerSyncServiceSQLite

/// A service that follows a PostgreSQL server while applications write to it.
///
/// | Case | Meaning |
/// | --- | --- |
/// | `postgres.live.4_clients.<storage>.transactions` | what four clients of pgbench write, 280,000 rows each, one in a transaction |
/// | `postgres.live.4_clients.<storage>.lag` | from their end to the checkpoint with the last change |
/// | `postgres.live.commit_to_client` | from the statement that writes a row to a client of one of two API nodes, 50 times a second; the storage is PostgreSQL, another node replicates |
///
/// Needs `scripts/with-postgres`, whose server has the storage, too. Everything shares the machine's cores.
enum PostgresLiveBenchmarks {
    private static let rows = 100_000
    /// What each client of pgbench writes: for about a minute.
    private static let transactions = 280_000

    /// Runs all cases.
    ///
    /// - Throws: An error of the server, of the storage or of a connection.
    static func run() async throws {
        let environment = ProcessInfo.processInfo.environment
        guard let server = environment["POWERSYNC_POSTGRES"], let programs = environment["POWERSYNC_POSTGRES_BIN"]
        else {
            return print("postgres-live: there is no server; scripts/with-postgres starts one for a command.")
        }
        for isSQLite in [true, false] {
            try await BenchmarkDatabase.with(server: server) { source in
                try await BenchmarkDatabase.with(server: server) { database in
                    let folder = try TemporaryFolder()
                    let storage: any BucketStorage =
                        isSQLite
                        ? try SQLiteBucketStorage(path: folder.path, defaultSchema: PostgresSource.defaultSchema)
                        : try await database.storage()
                    try await load(source, storage, isSQLite ? "sqlite" : "postgresql", programs: programs)
                    try storage.close()
                }
            }
        }
        try await BenchmarkDatabase.with(server: server) { source in
            try await BenchmarkDatabase.with(server: server) { storage in
                try await commitToClient(source, storage)
            }
        }
    }

    // MARK: Load

    private static func load(
        _ database: BenchmarkDatabase,
        _ storage: any BucketStorage,
        _ name: String,
        programs: String
    ) async throws {
        try await database.fill(rows: rows)
        let plan = PostgresBenchmarks.plan
        let source = database.source()
        let replication = SourceReplication(
            storage: storage,
            source: source,
            config: PostgresBenchmarks.config,
            plan: plan
        )
        try await replication.replicate()
        let script = try TemporaryFolder()
        let path = script.folderPath + "/update.sql"
        try """
        \\set n random(1, \(rows))
        UPDATE public.todos SET done = NOT done, list = :n % 1000 WHERE id = md5(:n::text)::uuid;
        """.write(toFile: path, atomically: true, encoding: .utf8)
        let rate = NIOLockedValueBox(0.0)
        let lag = try await replication.replicate {
            let measured = try await pgbench(programs + "/pgbench", script: path, database: database.uri)
            rate.withLockedValue { $0 = measured }
        }
        Report.line("postgres.live.4_clients.\(name).transactions", ours: rate.withLockedValue(\.self), floors: [])
        Report.time("postgres.live.4_clients.\(name).lag", ours: Measurement(best: lag), floors: [])
        try source.close()
    }

    /// Runs pgbench with four clients.
    ///
    /// For so many transactions, not for a time: its alarm is blocked in threads of this process, and in what they start.
    ///
    /// - Returns: The transactions a second.
    private static func pgbench(_ program: String, script: String, database: String) async throws -> Double {
        let process = Process()
        let output = Pipe()
        process.executableURL = URL(filePath: program)
        process.arguments = ["-n", "-c", "4", "-t", String(transactions), "-f", script, database]
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
            process.terminationHandler = { _ in continuation.resume() }
            do { try process.run() } catch { continuation.resume(throwing: error) }
        }
        // It says little: a pipe has room for all of it.
        let said = String(decoding: output.fileHandleForReading.availableData, as: UTF8.self)
        guard let match = said.firstMatch(of: /tps = ([0-9.]+)/), let rate = Double(match.1) else {
            throw ChildProcess.Failure(description: "\(program) failed: \(said)")
        }
        return rate
    }

    // MARK: From commit to client

    private static func commitToClient(_ source: BenchmarkDatabase, _ storage: BenchmarkDatabase) async throws {
        let count = 100
        try await fill(source, notes: count)
        func node<Result>(
            _ role: ServiceConfiguration.Role,
            _ body: (RunningService, ServiceConfiguration) async throws -> Result
        ) async throws -> Result {
            let configuration = configuration(source, settings(of: storage), role)
            return try await SyncService.withService(configuration: configuration, logger: logger) { running in
                try await body(running, configuration)
            }
        }
        try await node(.sync) { _, _ in
            try await node(.api) { first, configuration in
                try await node(.api) { second, _ in
                    var delays: [Duration] = []
                    let nodes = [("a", first, StreamClients()), ("b", second, StreamClients())]
                    for (name, node, clients) in nodes {
                        let requests = try (0..<count).map { number in
                            StreamClients.request(
                                token: try configuration.makeDevelopmentToken(userID: "\(name)-\(number)")
                            )
                        }
                        try await clients.open(requests, port: node.address.port)
                        _ = clients.takeDelays()
                    }
                    let start = ContinuousClock.now
                    for number in 0..<500 {
                        let (name, _, clients) = nodes[number % 2]
                        try await source.run(
                            "UPDATE public.notes SET title = '\(clients.stamp)' WHERE id = '\(name)-\(number % count)'"
                        )
                        try await Task.sleep(until: start + .milliseconds(20) * (number + 1), clock: .continuous)
                    }
                    try await Task.sleep(for: .seconds(2))
                    for (_, _, clients) in nodes {
                        delays += clients.takeDelays()
                        await clients.close()
                    }
                    try Report.delays("postgres.live.commit_to_client", delays)
                }
            }
        }
    }

    static var logger: Logger {
        var logger = Logger(label: "service") { StreamLogHandler.standardError(label: $0) }
        logger.logLevel = .error
        return logger
    }

    /// Makes the table of todos, and notes of so many users of each of two names.
    static func fill(_ source: BenchmarkDatabase, rows: Int = rows, notes count: Int) async throws {
        try await source.fill(rows: rows)
        try await source.run(
            """
            CREATE TABLE public.notes (id text PRIMARY KEY, title text);
            INSERT INTO public.notes SELECT node || '-' || n, '' FROM generate_series(0, \(count - 1)) n, unnest('{a,b}'::text[]) node
            """
        )
    }

    static func settings(of storage: BenchmarkDatabase) -> ServiceConfiguration.Storage {
        var settings = PostgresSettings(uri: storage.uri)
        settings.tls = .disable
        return .postgresql(settings)
    }

    static func configuration(
        _ source: BenchmarkDatabase,
        _ storage: ServiceConfiguration.Storage,
        _ role: ServiceConfiguration.Role
    ) -> ServiceConfiguration {
        var settings = PostgresSettings(uri: source.uri)
        settings.tls = .disable
        var configuration = ServiceConfiguration(
            source: .postgresql(settings),
            storage: storage,
            syncConfig: .content(
                """
                config: {edition: 3}
                streams:
                  todos: {query: "SELECT * FROM todos WHERE list = subscription.parameter('list')"}
                  notes: {auto_subscribe: true, query: SELECT * FROM notes WHERE id = auth.user_id()}
                """
            )
        )
        configuration.role = role
        configuration.host = "127.0.0.1"
        configuration.port = 0
        configuration.authentication = ServeScenario.authentication
        return configuration
    }
}

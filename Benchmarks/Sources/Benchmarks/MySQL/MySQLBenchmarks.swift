import Foundation
import Logging
import NIOConcurrencyHelpers
import PowerSyncMySQLConnection
import PowerSyncService
import PowerSyncServiceCore
import PowerSyncServiceMySQL
import PowerSyncServiceSQLite
import PowerSyncSyncConfig

/// Replication from a MySQL or MariaDB server into a bucket storage in SQLite.
///
/// Server and service share the machine's cores.
///
/// | Area | Case | Meaning |
/// | --- | --- | --- |
/// | `mysql` | `mysql.copy` | a table of rows of ten columns and about 300 bytes; the floor is a client that reads the same rows |
/// | | `mysql.backlog` | updates of one row, each a transaction; the floor is a client that takes the same log |
/// | | `.memory` | what both take besides |
/// | `mysql-transaction` | `mysql.transaction.1m_rows` | one transaction of a million rows; the floor is a client that takes the same log |
/// | | `mysql.transaction.1m_rows.memory` | what it takes besides |
/// | `mysql-live` | `mysql.live.4_clients.transactions` | what four clients write for a minute, a row in a transaction |
/// | | `mysql.live.4_clients.lag` | from their end to the checkpoint with the last change |
/// | `mysql-clients` | `mysql.live.commit_to_client` | from the statement that writes a row to the client that gets it, 50 times a second |
///
/// The floor of what is live is a client that takes the log in the place of the service, for ten seconds. Needs a server:
/// `scripts/with-mysql` starts one.
enum MySQLBenchmarks {
    private static let config = """
        config: {edition: 3}
        streams:
          todos: {query: "SELECT * FROM todos WHERE list = subscription.parameter('list')"}
        """

    /// Decodes a log, copies a table, and takes a backlog.
    ///
    /// - Parameter rows: The rows of the table, and the updates of the backlog.
    /// - Throws: An error of the server or of the storage.
    static func run(rows: Int) async throws {
        try MySQLDecodeBenchmarks.run()
        try await withDatabase { database in
            try await database.fill(rows: rows)
            try await measure(database, rows: rows)
        }
    }

    /// Takes one transaction of a million rows.
    static func runTransaction() async throws {
        try await withDatabase { database in
            try await database.fill(rows: 1000)
            try await largeTransaction(database)
        }
    }

    /// Follows what four clients write for a minute.
    static func runLive() async throws {
        try await withDatabase { database in
            let rows = 100_000
            try await database.fill(rows: rows)
            try await live(database, rows: rows)
        }
    }

    /// Serves rows to clients while they are written.
    static func runClients() async throws {
        try await withDatabase { try await commitToClient($0) }
    }

    private static func withDatabase(_ body: (MySQLBenchmarkDatabase) async throws -> Void) async throws {
        guard let server = ProcessInfo.processInfo.environment["POWERSYNC_MYSQL"] else {
            return print("mysql: there is no server; scripts/with-mysql starts one for a command.")
        }
        try await MySQLBenchmarkDatabase.with(server: server, body)
    }

    private static func replication(
        _ database: MySQLBenchmarkDatabase,
        _ folder: TemporaryFolder
    ) throws -> SourceReplication {
        guard var plan = SyncConfig.parse(config).plan else { preconditionFailure("the config is wrong") }
        plan.defaultSchema = database.name
        return SourceReplication(
            storage: try SQLiteBucketStorage(path: folder.path, defaultSchema: database.name),
            source: database.source(),
            config: config,
            plan: plan
        )
    }

    private static func measure(_ database: MySQLBenchmarkDatabase, rows: Int) async throws {
        let name = "\(rows / 1_000)k"
        let copyFloor = try await time { try await database.readRows() }
        let folder = try TemporaryFolder()
        let replication = try replication(database, folder)
        var baseline = PeakMemory.Baseline()
        let copy = try await time { try await replication.replicate() }
        Report.line(
            "mysql.copy.\(name)_rows.sqlite",
            ours: rate(rows, copy),
            floors: [("reading the rows", rate(rows, copyFloor))]
        )
        if let peak = baseline?.peak { Report.memory("mysql.copy.\(name)_rows.sqlite.memory", ours: peak) }
        let begin = try await database.logEnd()
        try await database.update(rows)
        let logFloor = try await time { try await database.readLog(from: begin) }
        baseline = PeakMemory.Baseline()
        let backlog = try await time { try await replication.replicate() }
        Report.line(
            "mysql.backlog.\(name)_updates.sqlite",
            ours: rate(rows, backlog),
            floors: [("reading the log", rate(rows, logFloor))]
        )
        if let peak = baseline?.peak { Report.memory("mysql.backlog.\(name)_updates.sqlite.memory", ours: peak) }
        try replication.close()
    }

    private static func largeTransaction(_ database: MySQLBenchmarkDatabase) async throws {
        let folder = try TemporaryFolder()
        let replication = try replication(database, folder)
        try await replication.replicate()
        let rows = 1_000_000
        let begin = try await database.logEnd()
        try await database.insert(from: 1000, count: rows)
        let floor = try await time { try await database.readLog(from: begin) }
        let baseline = PeakMemory.Baseline()
        let transaction = try await time { try await replication.replicate() }
        Report.line(
            "mysql.transaction.1m_rows",
            ours: rate(rows, transaction),
            floors: [("reading the log", rate(rows, floor))]
        )
        if let peak = baseline?.peak { Report.memory("mysql.transaction.1m_rows.memory", ours: peak) }
        try replication.close()
    }

    private static func live(_ database: MySQLBenchmarkDatabase, rows: Int) async throws {
        let folder = try TemporaryFolder()
        let replication = try replication(database, folder)
        try await replication.replicate()
        let (time, timeOfFloor, clients) = (Duration.seconds(60), Duration.seconds(10), 4)
        let alone = try await database.readingLog {
            try await database.update(rows, for: timeOfFloor, clients: clients)
        }
        let count = NIOLockedValueBox(0)
        let lag = try await replication.replicate {
            let written = try await database.update(rows, for: time, clients: clients)
            count.withLockedValue { $0 = written }
        }
        Report.line(
            "mysql.live.4_clients.transactions",
            ours: rate(count.withLockedValue(\.self), time),
            floors: [("taking the log", rate(alone.result, timeOfFloor))]
        )
        Report.time(
            "mysql.live.4_clients.lag",
            ours: Measurement(best: lag),
            floors: [("taking the log", Measurement(best: alone.lag))]
        )
        try replication.close()
    }

    // MARK: From commit to client

    private static func commitToClient(_ database: MySQLBenchmarkDatabase) async throws {
        let count = 100
        try await database.run("CREATE TABLE notes (id VARCHAR(20) PRIMARY KEY, title VARCHAR(40))")
        let values = (0..<count).map { "('a-\($0)', '')" }.joined(separator: ", ")
        try await database.run("INSERT INTO notes VALUES \(values)")
        let folder = try TemporaryFolder()
        var settings = MySQLSettings(uri: database.uri)
        settings.tls = .disable
        var configuration = ServiceConfiguration(
            source: .mysql(settings),
            storage: .sqlite(path: folder.path),
            syncConfig: .content(
                """
                config: {edition: 3}
                streams:
                  notes: {auto_subscribe: true, query: SELECT * FROM notes WHERE id = auth.user_id()}
                """
            )
        )
        configuration.host = "127.0.0.1"
        configuration.port = 0
        configuration.authentication = ServeScenario.authentication
        var logger = Logger(label: "service") { StreamLogHandler.standardError(label: $0) }
        logger.logLevel = .error
        try await SyncService.withService(configuration: configuration, logger: logger) { running in
            let clients = StreamClients()
            let requests = try (0..<count).map { number in
                StreamClients.request(token: try configuration.makeDevelopmentToken(userID: "a-\(number)"))
            }
            try await clients.open(requests, port: running.address.port)
            _ = clients.takeDelays()
            try await update(database, clients, count)
            try await Task.sleep(for: .seconds(2))
            let delays = clients.takeDelays()
            await clients.close()
            try Report.delays(
                "mysql.live.commit_to_client",
                delays,
                floor: ("taking the log", try await commitToLog(database, count))
            )
        }
    }

    /// The time from the statement that writes a row until a client of the log has its event.
    private static func commitToLog(_ database: MySQLBenchmarkDatabase, _ count: Int) async throws -> [Duration] {
        let stamps = StreamClients()
        _ = try await database.readingLog { event in
            if MySQLBenchmarkDatabase.isUpdate(event) { stamps.noteLastStamp(in: event) }
        } while: {
            try await update(database, stamps, count)
        }
        return stamps.takeDelays()
    }

    /// Writes the time into one row after the other, 50 times a second.
    private static func update(_ database: MySQLBenchmarkDatabase, _ clients: StreamClients, _ count: Int) async throws
    {
        let start = ContinuousClock.now
        for number in 0..<500 {
            try await database.run("UPDATE notes SET title = '\(clients.stamp)' WHERE id = 'a-\(number % count)'")
            try await Task.sleep(until: start + .milliseconds(20) * (number + 1), clock: .continuous)
        }
    }

    private static func time(_ body: () async throws -> Void) async throws -> Duration {
        let start = ContinuousClock.now
        try await body()
        return ContinuousClock.now - start
    }

    private static func rate(_ count: Int, _ time: Duration) -> Double { Measurement(best: time).rate(of: count) }
}

extension SourceReplication {
    fileprivate func close() throws {
        try source.close()
        try storage.close()
    }
}

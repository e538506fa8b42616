import Foundation
import Logging
import NIOCore
import PowerSyncMySQLConnection
import PowerSyncServiceMySQL

/// A database of its own in a MySQL or MariaDB server.
final class MySQLBenchmarkDatabase: Sendable {
    let name = "bench_\(String(UInt64.random(in: .min ... .max), radix: 36))"
    /// How to connect to it.
    let uri: String
    private let settings: MySQLConnectionSettings
    private let connection: MySQLConnection
    private static let logger = Logger(label: "bench") { _ in SwiftLogNoOpLogHandler() }
    /// What statements take at most that write all rows.
    private static let timeout = Duration.seconds(1800)

    private init(server: String) async throws {
        uri = "\(server)/\(name)"
        var serverSettings = MySQLSettings(uri: "\(server)/mysql")
        serverSettings.tls = .disable
        let outside = try await MySQLConnection.open(serverSettings.connection(), logger: Self.logger)
        try await outside.execute("CREATE DATABASE \(name) CHARACTER SET utf8mb4")
        outside.close()
        var settings = MySQLSettings(uri: uri)
        settings.tls = .disable
        self.settings = try settings.connection()
        connection = try await MySQLConnection.open(self.settings, logger: Self.logger)
    }

    /// Uses a database, and drops it.
    static func with(server: String, _ body: (MySQLBenchmarkDatabase) async throws -> Void) async throws {
        let database = try await MySQLBenchmarkDatabase(server: server)
        do {
            try await body(database)
        } catch {
            try await database.run("DROP DATABASE \(database.name)")
            throw error
        }
        try await database.run("DROP DATABASE \(database.name)")
        database.connection.close()
    }

    /// A source over the database.
    func source() -> MySQLSource { MySQLSource(MySQLSettings(uri: uri), connecting: settings, logger: Self.logger) }

    /// Runs a statement.
    func run(_ sql: String) async throws { try await connection.execute(sql, timeout: Self.timeout) }

    // MARK: Writing

    /// Makes a table with rows of ten columns and about 300 bytes.
    func fill(rows: Int) async throws {
        try await run(
            """
            CREATE TABLE todos (id INT PRIMARY KEY, list INT, title VARCHAR(100), note TEXT, done TINYINT(1), made DATETIME(3),
                price DECIMAL(10,2), weight DOUBLE, state ENUM('open', 'closed'), owner CHAR(36))
            """
        )
        try await run("CREATE TABLE digits (d INT PRIMARY KEY)")
        try await run("INSERT INTO digits VALUES (0), (1), (2), (3), (4), (5), (6), (7), (8), (9)")
        try await run(
            """
            CREATE PROCEDURE update_rows(count INT) BEGIN
                DECLARE n INT DEFAULT 0;
                WHILE n < count DO
                    UPDATE todos SET done = NOT done, list = n % 1000 WHERE id = n;
                    SET n = n + 1;
                END WHILE;
            END
            """
        )
        try await insert(from: 0, count: rows)
    }

    /// Inserts rows in one transaction.
    func insert(from first: Int, count: Int) async throws {
        let places = 0..<String(count - 1).count
        let number = places.map { "d\($0).d * \(Int(pow(10, Double($0))))" }.joined(separator: " + ")
        let digits = places.map { "digits d\($0)" }.joined(separator: ", ")
        try await run(
            """
            INSERT INTO todos
            SELECT n, n % 1000, CONCAT('title title title title ', n), REPEAT('lorem ipsum ', 12), n % 2, NOW(3), n / 100, n / 7, 'open', UUID()
            FROM (SELECT \(first) + \(number) AS n FROM \(digits)) AS numbers WHERE n < \(first + count)
            """
        )
    }

    /// Updates rows, one in a transaction.
    func update(_ rows: Int) async throws { try await run("CALL update_rows(\(rows))") }

    /// Has clients update one row after the other, each when the server has answered the last.
    ///
    /// - Returns: How many they have updated.
    func update(_ rows: Int, for time: Duration, clients: Int) async throws -> Int {
        try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<clients {
                group.addTask { [settings] in
                    let client = try await MySQLConnection.open(settings, logger: Self.logger)
                    defer { client.close() }
                    let end = ContinuousClock.now + time
                    var written = 0
                    while ContinuousClock.now < end {
                        let id = Int.random(in: 0..<rows)
                        let list = written % 1000
                        try await client.execute("UPDATE todos SET done = NOT done, list = \(list) WHERE id = \(id)")
                        written += 1
                    }
                    return written
                }
            }
            return try await group.reduce(0, +)
        }
    }

    // MARK: Floors

    /// Reads all rows, and keeps none.
    func readRows() async throws {
        try await connection.withRows("SELECT * FROM todos", timeout: Self.timeout) { rows in
            while try await rows.next() != nil {}
        }
    }

    /// Where the log ends.
    func logEnd() async throws -> (file: String, offset: UInt32) {
        let row = try await connection.query("SHOW BINARY LOGS").rows.last
        return (row?.string("Log_name") ?? "", UInt32(row?.integer("File_size") ?? 4))
    }

    /// Takes the log from a place to its end, and keeps nothing.
    func readLog(from begin: (file: String, offset: UInt32)) async throws {
        let client = try await MySQLConnection.open(settings, logger: Self.logger)
        let request = BinlogRequest(file: begin.file, position: begin.offset, waits: false)
        try await client.withBinlog(request) { packets in while try await packets.next() != nil {} }
    }

    /// Has a client take the log while a body runs, and until everything that it has written has come.
    ///
    /// - Parameters:
    ///   - note: Called with each event, from its header to its checksum.
    ///   - body: Writes.
    /// - Returns: The result of the body, and the time from its end until everything has come.
    /// - Throws: The error of the body, or one of the server.
    func readingLog<Result: Sendable>(
        _ note: @escaping @Sendable (ByteBuffer) -> Void = { _ in },
        while body: () async throws -> Result
    ) async throws -> (result: Result, lag: Duration) {
        let begin = try await logEnd()
        // A table of this name is what is in the log behind everything else.
        let mark = "end_\(String(UInt64.random(in: .min ... .max), radix: 36))"
        async let arrival = readLog(from: begin, to: mark, note)
        let result = try await body()
        let end = ContinuousClock.now
        try await run("CREATE TABLE \(mark) (id INT)")
        return (result, try await arrival - end)
    }

    private func readLog(
        from begin: (file: String, offset: UInt32),
        to mark: String,
        _ note: @Sendable (ByteBuffer) -> Void
    ) async throws -> ContinuousClock.Instant {
        let client = try await MySQLConnection.open(settings, logger: Self.logger)
        defer { client.close() }
        let request = BinlogRequest(
            file: begin.file,
            position: begin.offset,
            serverID: .random(in: 4_000_000_000...4_100_000_000),
            waits: true
        )
        let name = Array(mark.utf8)
        try await client.withBinlog(request) { packets in
            while let event = try await packets.next() {
                note(event)
                if Self.type(of: event) == 2, event.readableBytesView.firstRange(of: name) != nil { return }
            }
        }
        return ContinuousClock.now
    }

    /// Whether an event has rows before and after an update.
    static func isUpdate(_ event: ByteBuffer) -> Bool { [24, 31].contains(type(of: event)) }

    /// The type of an event is behind its time, of four bytes.
    private static func type(of event: ByteBuffer) -> UInt8? {
        event.getInteger(at: event.readerIndex + 4, as: UInt8.self)
    }
}

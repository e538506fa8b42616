import Foundation
import MySQLTestSupport
import NIOConcurrencyHelpers
import PowerSyncMySQLConnection
import PowerSyncServiceCore
import PowerSyncTesting
import Testing

@testable import PowerSyncServiceMySQL

/// The binary log of a server: its end, what tables show of it, and whether it has what was read of it.
@Suite(.timeLimit(.minutes(2))) struct MySQLLogTests {
    private func log(_ server: TestMySQL, clock: any Clock<Duration> = ContinuousClock()) -> MySQLLog {
        let connector = MySQLConnector(server.settings(), logger: TestMySQL.logger)
        let pool = MySQLPool(connector, maximumConnections: 4)
        return MySQLLog(connector, pool: pool, clock: clock, logger: TestMySQL.logger)
    }

    /// Runs statements in a server.
    private func run(_ server: TestMySQL, _ statements: String...) async throws {
        let connection = try await server.open()
        defer { connection.close() }
        for statement in statements { try await connection.execute(statement) }
    }

    private static let reset = TestMySQL.isMySQL ? "RESET BINARY LOGS AND GTIDS" : "RESET MASTER"

    // MARK: Positions

    @Test func theHeadIsWhereTheLogEnds() async throws {
        let fixture = try await MySQLFixture("CREATE TABLE t (id INT PRIMARY KEY)")
        let before = try await fixture.source.log.head()
        #expect(before.history.rawValue.hasPrefix(TestMySQL.isMySQL ? "mysql." : "mariadb.1-0."))
        #expect(before.history.rawValue.hasSuffix(".binlog"))
        try await fixture.database.run("INSERT INTO t VALUES (1)")
        let after = try await fixture.restarted().log.head()
        #expect(after.history == before.history && after.lsn > before.lsn)
        #expect(after.lsn.hasForm(of: before.lsn))
    }

    @Test func thePositionGrowsWithEachFile() async throws {
        let server = try await TestMySQLServer()
        let log = log(server.address)
        var last = try await log.head()
        for _ in 0..<20 {
            try await run(server.address, "FLUSH BINARY LOGS")
            let head = try await log.head(having: last)
            #expect(head.history == last.history && head.lsn > last.lsn)
            last = head
        }
    }

    @Test func nothingIsWrittenToAnIdleServer() async throws {
        let server = try await TestMySQLServer()
        let log = log(server.address)
        let head = try await log.head()
        #expect(try await log.visibleHead() == head)
        try await log.waitUntilShown()
        #expect(try await log.head(having: head) == head)
    }

    /// The log of MariaDB goes on by itself, some time after a file was begun: no snapshot shows that.
    @Test(.enabled(if: !TestMySQL.isMySQL, "MySQL writes no such event"))
    func whatIsNoTransactionIsNotWaitedFor() async throws {
        let server = try await TestMySQLServer()
        let log = log(server.address)
        try await run(
            server.address,
            "CREATE DATABASE d",
            "CREATE TABLE d.t (id INT PRIMARY KEY)",
            "INSERT INTO d.t VALUES (1)",
            "FLUSH BINARY LOGS",
            "INSERT INTO d.t VALUES (2)"
        )
        // Waits for the event.
        try await server.address.purgeLog()
        #expect(try await log.visibleHead().lsn <= log.head().lsn)
        try await log.waitUntilShown()
        // What follows a transaction is none.
        try await run(server.address, "INSERT INTO d.t VALUES (3)")
        #expect(try await log.visibleHead() == log.head())
        try await log.waitUntilShown()
    }

    @Test func aSnapshotHasWhatIsBeforeThePosition() async throws {
        let fixture = try await MySQLFixture("CREATE TABLE t (id INT AUTO_INCREMENT PRIMARY KEY, w INT)")
        let count = ProcessInfo.processInfo.environment["POWERSYNC_SLOW"] == nil ? 200 : 1000
        try await withThrowingTaskGroup(of: Void.self) { group in
            for writer in 0..<8 {
                group.addTask {
                    let connection = try await fixture.database.open()
                    defer { connection.close() }
                    while !Task.isCancelled { try await connection.execute("INSERT INTO t (w) VALUES (\(writer))") }
                }
            }
            let start = try await fixture.position()
            var seen: [(position: LogPosition, rows: Int64)] = []
            let connection = try await fixture.database.open()
            defer { connection.close() }
            for _ in 0..<count {
                let position = try #require(LogPosition(try await fixture.source.log.visibleHead().lsn))
                let rows = try await connection.query("SELECT COUNT(*) FROM t").firstString.flatMap { Int64($0) }
                seen.append((position, try #require(rows)))
            }
            // What is read by keys is read in such snapshots: they have nothing behind their places.
            var snapshots: [Snapshot] = []
            if !TestMySQL.isMySQL { for _ in 0..<3 { snapshots.append(try await snapshot(connection)) } }
            group.cancelAll()
            // Each position is a boundary, and what is counted afterwards has all that is before it.
            #expect(zip(seen, seen.dropFirst()).allSatisfy { $0.position <= $1.position && $0.rows <= $1.rows })
            for sample in [0, count / 2, count - 1] {
                let inserted = try await fixture.rowsInLog(of: "t", until: seen[sample].position, from: start)
                let first = try await fixture.rowsInLog(of: "t", until: start, from: start)
                #expect(first == 0 && seen[sample].rows >= inserted)
            }
            // Between two of them are as many rows as the log has there.
            let file = LogFileName(base: "binlog", number: start.file).description
            var before: (rows: Int64, inLog: Int64)?
            for snapshot in snapshots where snapshot.file == file {
                var position = start
                position.offset = snapshot.offset
                let inLog = try await fixture.rowsInLog(of: "t", until: position, from: start)
                if let before { #expect(snapshot.rows - before.rows == inLog - before.inLog) }
                before = (snapshot.rows, inLog)
            }
            try? await group.waitForAll()
        }
    }

    /// The place in the log of a snapshot, as MariaDB tells it, and how many rows the snapshot has.
    private struct Snapshot {
        var file: String
        var offset: UInt64
        var rows: Int64
    }

    private func snapshot(_ connection: MySQLConnection) async throws -> Snapshot {
        try await connection.execute("START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY")
        let status = try await connection.query("SHOW STATUS LIKE 'binlog_snapshot_%'").rows
        let rows = try await connection.query("SELECT COUNT(*) FROM t").firstString.flatMap { Int64($0) }
        try await connection.execute("COMMIT")
        func value(_ name: String) -> String? {
            status.first { $0.string("Variable_name")?.lowercased() == name }?.string("Value")
        }
        return Snapshot(
            file: try #require(value("binlog_snapshot_file")),
            offset: try #require(value("binlog_snapshot_position").flatMap { UInt64($0) }),
            rows: try #require(rows)
        )
    }

    // MARK: Histories

    @Test func aLogThatWasResetIsAnotherHistory() async throws {
        let server = try await TestMySQLServer()
        try await run(server.address, "CREATE DATABASE d", "CREATE TABLE d.t (id INT)", "INSERT INTO d.t VALUES (1)")
        let log = log(server.address)
        let known = try await log.head()
        #expect(try await log.head(having: known).history == known.history)
        try await run(server.address, Self.reset)
        let head = try await log.head(having: known)
        #expect(head.history != known.history)
        // Another process finds the same name, and one that has started since, too.
        #expect(try await self.log(server.address).head(having: known).history == head.history)
        #expect(try await self.log(server.address).head(having: head).history == head.history)
        await #expect(throws: ReplicationSourceError.self) {
            try await log.prepare("s", resumingAfter: known, reached: nil)
        }
    }

    @Test func aLogThatWasResetAndHasThePositionAgainIsAnotherHistory() async throws {
        let server = try await TestMySQLServer()
        try await run(server.address, "CREATE DATABASE d", "CREATE TABLE d.t (id INT AUTO_INCREMENT PRIMARY KEY)")
        let known = try await log(server.address).head()
        try await run(server.address, Self.reset)
        for _ in 0..<20 { try await run(server.address, "INSERT INTO d.t VALUES ()", "FLUSH BINARY LOGS") }
        let log = log(server.address)
        let newer = try await log.head()
        #expect(newer.lsn > known.lsn)
        let error = await #expect(throws: ReplicationSourceError.self) {
            try await log.prepare("s", resumingAfter: known, reached: nil)
        }
        #expect(error?.code == .historyLost)
        #expect(try await log.head(having: known).history != known.history)
    }

    /// The server seems to have been started at another time, and its files have the marks that they had.
    @Test func aClockThatWasSetIsNoOtherHistory() async throws {
        let server = try await TestMySQLServer()
        let log = log(server.address)
        let known = try await log.head()
        for seconds: Int64 in [3600, -3600] {
            log.state.withLockedValue { $0.latest?.server.startedAt += seconds }
            try await run(server.address, "FLUSH BINARY LOGS")
            let head = try await log.head(having: known)
            #expect(head.history == known.history && head.lsn > known.lsn)
            #expect(try await log.prepare("s", resumingAfter: known, reached: head.lsn) == known)
        }
    }

    @Test func aResetIsNoticedWithinAMinute() async throws {
        let server = try await TestMySQLServer()
        let insert = "INSERT INTO d.t VALUES ()"
        try await run(
            server.address,
            "CREATE DATABASE d",
            "CREATE TABLE d.t (id INT AUTO_INCREMENT PRIMARY KEY)",
            Self.reset
        )
        try await run(server.address, insert, "FLUSH BINARY LOGS")
        let clock = TestClock()
        let log = log(server.address, clock: clock)
        let known = try await log.head()
        #expect(try await log.head(having: known).history == known.history)
        // The same file is there again, and is as long, after more transactions than before.
        try await run(server.address, Self.reset, insert, insert, "FLUSH BINARY LOGS", insert)
        clock.advance(by: .seconds(61))
        #expect(try await log.head(having: known).history != known.history)
    }

    @Test func filesThatWerePutBackAreAnotherHistory() async throws {
        let server = try await TestMySQLServer()
        try await run(
            server.address,
            "CREATE DATABASE d",
            "CREATE TABLE d.t (id INT AUTO_INCREMENT PRIMARY KEY, a VARCHAR(100))"
        )
        try await server.keepFiles()
        let write = "INSERT INTO d.t (a) VALUES (REPEAT('a', 50))"
        for _ in 0..<5 { try await run(server.address, write, "FLUSH BINARY LOGS") }
        let known = try await log(server.address).head()
        let clock = TestClock()
        let running = log(server.address, clock: clock)
        #expect(try await running.head(having: known).history == known.history)
        try await server.putFilesBack()
        // The file and the offset are there again, with other contents.
        for _ in 0..<8 { try await run(server.address, write, write, "FLUSH BINARY LOGS") }
        // The server was started again so soon that its clock does not tell.
        clock.advance(by: .seconds(61))
        let head = try await running.head(having: known)
        #expect(head.lsn > known.lsn && head.history != known.history)
        let error = await #expect(throws: ReplicationSourceError.self) {
            try await log(server.address).prepare("s", resumingAfter: known, reached: nil)
        }
        #expect(error?.code == .historyLost)
    }

    @Test func anotherServerWithTheSameNumberIsAnotherHistory() async throws {
        let (server, other) = (try await TestMySQLServer(), try await TestMySQLServer())
        try await run(server.address, "CREATE DATABASE d")
        let known = try await log(server.address).head()
        for _ in 0..<5 { try await run(other.address, "FLUSH BINARY LOGS") }
        let log = log(other.address)
        #expect(try await !log.verify(known))
        #expect(try await log.head(having: known).history != known.history)
    }

    @Test func aServerThatWasStartedAgainHasTheSameHistory() async throws {
        let server = try await TestMySQLServer()
        let log = log(server.address)
        let known = try await log.head()
        server.stop()
        try await server.start()
        let head = try await log.head(having: known)
        #expect(head.history == known.history && head.lsn > known.lsn)
        #expect(try await log.prepare("s", resumingAfter: known, reached: head.lsn) == known)
    }

    // MARK: Retention

    @Test func aFileThatIsNeededAndGoneIsALoss() async throws {
        let server = try await TestMySQLServer()
        let known = try await log(server.address).head()
        let copying = log(server.address)
        _ = try await copying.prepare("s", resumingAfter: nil, reached: nil)
        for _ in 0..<3 { try await run(server.address, "FLUSH BINARY LOGS") }
        try await server.address.purgeLog()
        let lost = await #expect(throws: ReplicationSourceError.self) {
            try await log(server.address).prepare("s", resumingAfter: known, reached: nil)
        }
        #expect(lost?.code == .historyLost)
        #expect(lost?.message.contains("was deleted by the server: all tables are copied again.") == true)
        #expect(lost?.message.contains("binlog_expire_logs_seconds (now ") == true)
        let exceeded = await #expect(throws: ReplicationSourceError.self) {
            try await copying.prepare("s", resumingAfter: known, reached: nil)
        }
        #expect(exceeded?.code == .retentionExceeded)
        #expect(try await copying.retention(of: "s")?.status == "lost")
    }

    @Test func aCopyNoticesWithinMinutesThatItIsInVain() async throws {
        let server = try await TestMySQLServer()
        let clock = TestClock()
        let log = log(server.address, clock: clock)
        _ = try await log.prepare("s", resumingAfter: nil, reached: nil)
        for _ in 0..<3 { try await run(server.address, "FLUSH BINARY LOGS") }
        clock.advance(by: .seconds(121))
        try await log.checkRetention(for: "s")
        #expect(try await log.retention(of: "s")?.status == "reserved")
        try await server.address.purgeLog()
        // Not yet due.
        try await log.checkRetention(for: "s")
        clock.advance(by: .seconds(121))
        let error = await #expect(throws: ReplicationSourceError.self) { try await log.checkRetention(for: "s") }
        #expect(error?.code == .retentionExceeded)
    }

    @Test func theSizeOfTheLogIsThatOfItsFiles() async throws {
        let server = try await TestMySQLServer()
        let log = log(server.address)
        let first = try #require(LogPosition(try await log.head().lsn))
        try await run(
            server.address,
            "CREATE DATABASE d",
            "FLUSH BINARY LOGS",
            "CREATE TABLE d.t (id INT)",
            "FLUSH BINARY LOGS"
        )
        let head = try await log.head()
        let last = try #require(LogPosition(head.lsn))
        #expect(log.size(from: first, to: last) == nil)
        #expect(try await log.verify(head))
        let connection = try await server.address.open()
        defer { connection.close() }
        let sizes = try await connection.logFiles().suffix(3).map { Int64($0.size) }
        #expect(log.size(from: first, to: last) == sizes[0] - Int64(first.offset) + sizes[1] + Int64(last.offset))
        #expect(log.size(from: last, to: last) == 0)
        #expect(log.size(from: last, to: first) == 0)
    }
}

extension MySQLFixture {
    /// How many rows of a table the log has between two positions of one file.
    fileprivate func rowsInLog(of name: String, until end: LogPosition, from start: LogPosition) async throws -> Int64 {
        let connection = try await database.open()
        defer { connection.close() }
        let file = LogFileName(base: "binlog", number: start.file)
        let rows = try await connection.query("SHOW BINLOG EVENTS IN '\(file)' FROM \(start.offset)").rows
        var isOurs = false
        var count: Int64 = 0
        for row in rows {
            guard let position = row.string("End_log_pos").flatMap({ UInt64($0) }), position <= end.offset else {
                break
            }
            switch row.string("Event_type") ?? "" {
            case "Table_map": isOurs = row.string("Info")?.contains("(\(database.name).\(name))") == true
            case let type where type.hasPrefix("Write_rows"): if isOurs { count += 1 }
            default: break
            }
        }
        return count
    }
}

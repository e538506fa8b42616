import Foundation
import MySQLTestSupport
import PowerSyncMySQLConnection
import PowerSyncSyncConfig
import ServiceTestSupport
import TestSupport
import Testing

@testable import PowerSyncServiceCore
@testable import PowerSyncServiceMySQL

/// Servers with other settings, and those that take the place of others.
@Suite(.timeLimit(.minutes(3))) struct MySQLServerTests {
    private static let isSlow = ProcessInfo.processInfo.environment["POWERSYNC_SLOW"] != nil
    private static let isMySQL: ConditionTrait = .enabled(if: TestMySQL.isMySQL, "MariaDB has no such setting")

    // MARK: Replicas

    /// The codes of the errors with which a service would not start.
    private static func refusals(by server: TestMySQL) async throws -> [String] {
        let uri = server.uri(database: "mysql")
        let connection = server.settings(database: "mysql")
        let source = MySQLSource(MySQLSettings(uri: uri), connecting: connection, logger: TestMySQL.logger)
        defer { try? source.close() }
        do {
            try await source.checkConfiguration()
            return []
        } catch let error as ReplicationSourceError where error.code == .configuration {
            return error.message.matches(of: #/PSYNC_S[0-9]+/#).map { String($0.output) }
        }
    }

    @Test func settingsOfAServerAreSeen() async throws {
        let server = try await TestMySQLServer()
        let session = try await server.address.open()
        defer { session.close() }
        #expect(try await Self.refusals(by: server.address) == [])
        var settings = [
            (name: "binlog_format", wrong: "'MIXED'", right: "'ROW'", code: "PSYNC_S1202"),
            (name: "binlog_format", wrong: "'STATEMENT'", right: "'ROW'", code: "PSYNC_S1202"),
            (name: "read_only", wrong: "ON", right: "OFF", code: "PSYNC_S1206"),
        ]
        if TestMySQL.isMySQL { settings.append(("gtid_mode", "ON_PERMISSIVE", "ON", "PSYNC_S1204")) }
        for setting in settings {
            try await session.execute("SET GLOBAL \(setting.name) = \(setting.wrong)")
            #expect(try await Self.refusals(by: server.address) == [setting.code], "\(setting)")
            try await session.execute("SET GLOBAL \(setting.name) = \(setting.right)")
        }
        #expect(try await Self.refusals(by: server.address) == [])
        server.stop()
        try await server.start(["--skip-log-bin"])
        #expect(try await Self.refusals(by: server.address).contains("PSYNC_S1201"))
    }

    @Test func aReplicaThatWasPromotedIsAnotherHistory() async throws {
        let primary = try await TestMySQLServer()
        let replica = try await TestMySQLServer("--server-id=2")
        replica.stop()
        if TestMySQL.isMySQL {
            // Both have begun with the same files.
            try FileManager.default.removeItem(atPath: "\(replica.dataFolder)/auto.cnf")
            try await replica.start()
        } else {
            try await replica.start(["--server-id=2", "--log-slave-updates=ON"])
        }
        let follower = try await replica.address.open()
        let begin = try await primary.address.logEnd()
        for statement in Self.follow(primary.port, begin) { try await follower.execute(statement) }

        var scenario = try await MySQLScenario(server: primary.address)
        let name = scenario.database.name
        try await scenario.replicating { [scenario] in
            try await scenario.database.run("INSERT INTO lists VALUES ('a', 'u', 'on both'), ('b', 'u', 'on both')")
            try await scenario.caughtUp()
            // The replica gets what is written until now, and nothing more.
            let end = try await primary.address.logEnd()
            let wait = TestMySQL.isMySQL ? "SOURCE_POS_WAIT" : "MASTER_POS_WAIT"
            let waited = try await follower.query("SELECT \(wait)('\(end.file)', \(end.offset), 60)").firstString
            #expect(waited.flatMap { Int($0) }.map { $0 >= 0 } == true)
            // It cannot be the source as long as it follows another server.
            #expect(try await Self.refusals(by: replica.address) == ["PSYNC_S1206"])
            try await follower.execute(TestMySQL.isMySQL ? "STOP REPLICA" : "STOP SLAVE")
            try await scenario.database.run("INSERT INTO lists VALUES ('c', 'u', 'lost')")
            try await scenario.database.run("UPDATE lists SET name = 'lost' WHERE id = 'a'")
            try await scenario.caughtUp()
            #expect(try await scenario.ids() == ["a", "b", "c"])
        }
        primary.crash()
        try await follower.execute(TestMySQL.isMySQL ? "RESET REPLICA ALL" : "RESET SLAVE ALL")
        follower.close()
        let promoted = TestMySQLDatabase(named: name, in: replica.address)
        try await promoted.run("INSERT INTO lists VALUES ('d', 'u', 'new')")
        scenario = try scenario.reopened(over: promoted)
        defer { withExtendedLifetime((primary, replica)) {} }
        let held = HeldSource(scenario.source)
        scenario.front = held
        held.hold()
        let seen = held.waitCount
        try await scenario.replicating { [scenario] in
            try await held.copyWaits(after: seen)
            // What clients had is served until the copy is there.
            #expect(try await scenario.ids() == ["a", "b", "c"])
            held.release()
            try await scenario.caughtUp()
            #expect(try await scenario.ids() == ["a", "b", "d"])
            #expect(try await scenario.rows()["lists/a"]?.contains("on both") == true)
        }
        #expect(scenario.log.lines.contains { $0.contains("no longer what was replicated") })
        try await scenario.expectSameRowsAsAFreshCopy(of: "lists")
    }

    private static func follow(_ port: Int, _ begin: (file: String, offset: Int)) -> [String] {
        TestMySQL.isMySQL
            ? [
                """
                CHANGE REPLICATION SOURCE TO SOURCE_HOST = '127.0.0.1', SOURCE_PORT = \(port), SOURCE_USER = 'tests',
                    SOURCE_PASSWORD = 'tests', SOURCE_LOG_FILE = '\(begin.file)', SOURCE_LOG_POS = \(begin.offset),
                    SOURCE_AUTO_POSITION = 0, GET_SOURCE_PUBLIC_KEY = 1
                """, "START REPLICA",
            ]
            : [
                """
                CHANGE MASTER TO MASTER_HOST = '127.0.0.1', MASTER_PORT = \(port), MASTER_USER = 'tests', MASTER_PASSWORD = 'tests',
                    MASTER_LOG_FILE = '\(begin.file)', MASTER_LOG_POS = \(begin.offset), MASTER_USE_GTID = no, MASTER_SSL = 0
                """, "START SLAVE",
            ]
    }

    @Test(isMySQL) func aRowWhoseCommitAReplicaHasNotConfirmedIsCopied() async throws {
        let server = try await Self.serverThatWaitsForReplicas()
        let scenario = try await MySQLScenario(on: server)
        try await scenario.database.run("SET GLOBAL rpl_semi_sync_source_enabled = ON")
        var writer: Task<Void, any Error>?
        try await server.address.eventInLog(ofType: 30) {
            writer = Task { [database = scenario.database] in
                try await database.run("INSERT INTO lists VALUES ('a', 'u', 'late')")
            }
        }
        #expect(try await scenario.database.run("SELECT COUNT(*) FROM lists") == [["0"]])
        try await scenario.replicate()
        #expect(try await scenario.ids() == ["a"])
        try await writer?.value
    }

    @Test(isMySQL) func aRowWhoseCommitAReplicaHasNotConfirmedIsNotReadAsItWas() async throws {
        let server = try await Self.serverThatWaitsForReplicas()
        let scenario = try await MySQLScenario(on: server)
        try await scenario.database.run("INSERT INTO lists VALUES ('a', 'u', 'old')")
        try await scenario.replicating {
            try await scenario.caughtUp()
            try await scenario.database.run("SET GLOBAL rpl_semi_sync_source_enabled = ON")
            let before = try await scenario.head()
            let writer = Task {
                try await scenario.database.run([
                    "SET SESSION binlog_row_image = 'MINIMAL'", "UPDATE lists SET name = 'new' WHERE id = 'a'",
                ])
            }
            // The boundary behind the update, which is in the log for long before others see it.
            try await scenario.published { $0.lsn > before.lsn }
            #expect(try await scenario.rows()["lists/a"]?.contains("new") == true)
            try await writer.value
            try await scenario.caughtUp()
            #expect(try await scenario.rows()["lists/a"]?.contains("new") == true)
        }
    }

    /// Once that is switched on, a commit waits three seconds for a replica, and others do not see it meanwhile.
    private static func serverThatWaitsForReplicas() async throws -> TestMySQLServer {
        let server = try await TestMySQLServer()
        let connection = try await server.address.open()
        defer { connection.close() }
        for statement in [
            "INSTALL PLUGIN rpl_semi_sync_source SONAME 'semisync_source.so'",
            "SET GLOBAL rpl_semi_sync_source_timeout = 3000",
        ] {
            try await connection.execute(statement)
        }
        return server
    }

    // MARK: Logs

    @Test(isMySQL) func documentsOfWhichTheLogHasPartsAreReadInBatches() async throws {
        let server = try await TestMySQLServer()
        var scenario = try await MySQLScenario(
            ["CREATE TABLE documents (id INT PRIMARY KEY, body JSON)"],
            config: MySQLScenario.all("documents"),
            on: server
        )
        try await scenario.database.run(
            "INSERT INTO documents VALUES (1, JSON_OBJECT('n', 0, 'large', REPEAT('x', 1000000))), (2, JSON_OBJECT('n', 0))"
        )
        try await scenario.replicate()
        scenario = try scenario.reopened()
        let updates = Self.isSlow ? 1000 : 200
        let session = try await scenario.database.open()
        try await session.execute("SET SESSION binlog_row_value_options = 'PARTIAL_JSON'")
        for number in 1...updates {
            try await session.execute("UPDATE documents SET body = JSON_SET(body, '$.n', \(number))")
        }
        let before = try await server.address.selects()
        try await scenario.replicating { [scenario] in
            try await scenario.caughtUp()
            #expect(try await scenario.rows().values.allSatisfy { $0.contains(#"\"n\": \#(updates)"#) })
        }
        // Those of the catalogue are a few dozen.
        #expect(try await server.address.selects() - before < updates / 50 + 60)
        session.close()
        try await scenario.expectSameRowsAsAFreshCopy()
    }

    /// The system's MariaDB gets the plugin with its keys in `make soak`; the newest one, and MySQL, have theirs always.
    @Test(.enabled(if: TestMySQL.hasKeys, "The server has no plugin for keys"))
    func anEncryptedLogIsSentInClear() async throws {
        let server = try await TestMySQLServer()
        server.stop()
        try await server.start(try server.encryptingOptions())
        let scenario = try await MySQLScenario(on: server)
        try await scenario.replicating {
            try await scenario.caughtUp()
            for round in 0..<3 {
                try await scenario.database.run("INSERT INTO lists VALUES ('\(round)', 'u', 'only in clear')")
                try await scenario.caughtUp()
                try await scenario.database.run("FLUSH BINARY LOGS")
            }
        }
        try await scenario.database.run("INSERT INTO lists VALUES ('3', 'u', 'only in clear')")
        #expect(try server.logFiles().count > 3)
        #expect(try !server.logFiles().contains { $0.contains(Data("only in clear".utf8)) })
        // In the middle of a file that is encrypted.
        let again = try scenario.reopened()
        try await again.database.run("DELETE FROM lists WHERE id = '1'")
        try await again.replicate()
        #expect(try await again.ids() == ["0", "2", "3"])
        #expect(again.log.lines.count { $0.contains("has been copied") } == 1)
    }

    /// To such a server, names in other case are the same.
    @Test func namesInOtherCaseAreTheSameTables() async throws {
        let server = try await TestMySQLServer(comparingNamesExactly: false)
        let scenario = try await MySQLScenario(
            [
                "CREATE TABLE Lists (id VARCHAR(36) PRIMARY KEY, owner TEXT, name TEXT)",
                "CREATE TABLE TODOS (id VARCHAR(36) PRIMARY KEY)",
            ],
            config: """
                config: {edition: 3}
                streams:
                  all:
                    queries:
                      - SELECT * FROM lists
                      - SELECT * FROM todos
                """,
            on: server
        )
        try await scenario.replicating {
            for sql in [
                "INSERT INTO LISTS VALUES ('a', 'u', 'x'), ('b', 'u', 'x')", "INSERT INTO Todos VALUES ('t')",
                "UPDATE lIsTs SET name = 'y' WHERE id = 'a'",
            ] {
                try await scenario.database.run(sql)
            }
            try await scenario.caughtUp()
            #expect(try await scenario.ids() == ["a", "b", "t"])
            try await scenario.database.run("TRUNCATE `LISTS`")
            try await scenario.database.run("INSERT INTO Lists VALUES ('c', 'u', 'x')")
            try await scenario.caughtUp()
            #expect(try await scenario.ids() == ["c", "t"])
            try await scenario.database.run("DROP TABLE TODOS")
            try await scenario.database.run("ALTER TABLE LISTS ADD color VARCHAR(10) DEFAULT 'red'")
            try await scenario.caughtUp()
            #expect(try await scenario.ids() == ["c"])
            #expect(try await scenario.rows()["lists/c"]?.contains("red") == true)
        }
    }

    @Test func checksumsAreAsEachFileSays() async throws {
        let server = try await TestMySQLServer()
        var scenario = try await MySQLScenario(on: server)
        try await scenario.replicate()
        scenario = try scenario.reopened()
        for (round, checksum) in ["NONE", "CRC32", "NONE"].enumerated() {
            try await scenario.database.run("SET GLOBAL binlog_checksum = '\(checksum)'")
            try await scenario.database.run("INSERT INTO lists VALUES ('\(round)', 'u', 'x')")
        }
        try await scenario.replicating { [scenario] in
            try await scenario.caughtUp()
            try await scenario.database.run("SET GLOBAL binlog_checksum = 'CRC32'")
            try await scenario.database.run("INSERT INTO lists VALUES ('3', 'u', 'x')")
            try await scenario.caughtUp()
            #expect(try await scenario.ids() == ["0", "1", "2", "3"])
        }
        #expect(scenario.log.lines.count { $0.contains("has been copied") } == 1)
    }

    // MARK: Two processes

    @Test func aProcessThatTakesOverEndsTheOtherOnesReading() async throws {
        let proxy = try await MySQLProxy(to: try TestMySQL.shared().port)
        let scenario = try await MySQLScenario(proxy: proxy)
        let (database, first) = (scenario.database, scenario.source)
        let second = MySQLSource(
            MySQLSettings(uri: database.uri),
            connecting: database.settings,
            logger: scenario.log.logger
        )
        var plan = try plan(scenario.config)
        plan.defaultSchema = database.name
        let handle = "stream of \(database.name)"
        let position = try await first.prepareStream(handle, resumingAfter: nil, reached: nil)
        let file = LogFileName(base: "binlog", number: try #require(LogPosition(position.lsn)).file)
        try await database.run("INSERT INTO lists VALUES ('a', 'u', 'x')")
        // The first process stands still, as by SIGSTOP; the second one reads, and short dumps of files do not disturb it.
        try await first.reads(handle, after: position, plan) { reader in
            _ = try await reader.next()
            proxy.freeze()
            try await second.reads(handle, after: position, plan) { reader in
                _ = try await reader.next()
                for _ in 0..<3 {
                    #expect(try await second.log.verify(position))
                    _ = try await second.log.stamp(of: file)
                }
                while try await !reader.next().contains(where: { if case .changes = $0 { true } else { false } }) {}
            }
            try await proxy.thaw()
        }
        // The one that comes later reads.
        let taken = await #expect(throws: ReplicationSourceError.self) {
            try await second.reads(handle, after: position, plan) { reader in
                _ = try await reader.next()
                try await first.reads(handle, after: position, plan) { reader in _ = try await reader.next() }
                while true { _ = try await reader.next() }
            }
        }
        #expect(taken?.message.contains("Another reader has taken the place of this stream") == true)
        try second.close()
        try first.close()
        try await proxy.stop()
    }
}

extension MySQLSource {
    /// Reads a stream whose tables were copied.
    func reads(
        _ handle: String,
        after position: SourcePosition,
        _ plan: SyncPlan,
        _ body: (inout any ChangeReader) async throws -> Void
    ) async throws {
        let tables = try await tables(for: plan).map {
            SourceTable(id: $0.relationID, descriptor: $0, isSnapshotDone: true, lastSnapshotKey: nil)
        }
        try await withChanges(of: handle, after: position, tables: tables, plan: plan, body)
    }
}

extension TestMySQL {
    /// Where the log ends.
    fileprivate func logEnd() async throws -> (file: String, offset: Int) {
        let connection = try await open()
        defer { connection.close() }
        let status = try await connection.query(Self.isMySQL ? "SHOW BINARY LOG STATUS" : "SHOW MASTER STATUS")
        let row = try #require(status.rows.first)
        return (try #require(row.string("File")), try #require(row.integer("Position")))
    }

    /// How many queries the server has answered.
    fileprivate func selects() async throws -> Int {
        let connection = try await open()
        defer { connection.close() }
        return try await connection.query("SHOW GLOBAL STATUS LIKE 'Com_select'").rows.first?.integer("Value") ?? 0
    }
}

extension TestMySQLServer {
    /// Makes keys in the folder of the server, which is stopped.
    ///
    /// - Returns: The options with which it encrypts its log (scripts/with-mysql).
    fileprivate func encryptingOptions() throws -> [String] {
        guard TestMySQL.isMySQL else {
            let key = String(repeating: "0123456789abcdef", count: 4)
            try "1;\(key)\n".write(toFile: "\(dataFolder)/keys", atomically: false, encoding: .utf8)
            return [
                "--plugin-load-add=file_key_management", "--file-key-management-filename=\(dataFolder)/keys",
                "--encrypt-binlog=ON",
            ]
        }
        try #"{"components": "file://component_keyring_file"}"#
            .write(toFile: "\(dataFolder)/mysqld.my", atomically: false, encoding: .utf8)
        try #"{"path": "\#(dataFolder)/keyring", "read_only": false}"#
            .write(toFile: "\(dataFolder)/component_keyring_file.cnf", atomically: false, encoding: .utf8)
        return ["--binlog-encryption=ON"]
    }

    /// What is in each file of the log.
    fileprivate func logFiles() throws -> [Data] {
        try FileManager.default.contentsOfDirectory(atPath: dataFolder)
            .filter { $0.wholeMatch(of: /binlog\.[0-9]+/) != nil }
            .map { try Data(contentsOf: URL(filePath: "\(dataFolder)/\($0)")) }
    }
}

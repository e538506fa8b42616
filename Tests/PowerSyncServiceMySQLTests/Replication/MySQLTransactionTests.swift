import Foundation
import MySQLTestSupport
import PowerSyncMySQLConnection
import PowerSyncSyncConfig
import ServiceTestSupport
import TestSupport
import Testing

@testable import PowerSyncServiceCore
@testable import PowerSyncServiceMySQL

/// What transactions, servers and other schemas do, from the log to a bucket.
@Suite(.timeLimit(.minutes(3))) struct MySQLTransactionTests {
    private static let isSlow = ProcessInfo.processInfo.environment["POWERSYNC_SLOW"] != nil

    // MARK: XA

    @Test func aPreparedTransactionOutlivesTheServerAndTheService() async throws {
        let server = try await TestMySQLServer()
        var scenario = try await MySQLScenario(on: server)
        try await scenario.replicating { [scenario] in
            try await scenario.caughtUp()
            let session = try await scenario.database.open()
            for sql in [
                "XA START 'a'", "INSERT INTO lists VALUES ('xa', 'u', 'x')", "XA END 'a'", "XA PREPARE 'a'",
            ] {
                try await session.execute(sql)
            }
            try await scenario.database.run("INSERT INTO lists VALUES ('other', 'u', 'x')")
            try await scenario.caughtUp()
            session.close()
        }
        scenario = try scenario.reopened()
        server.stop()
        try await server.start()
        try await scenario.replicating { [scenario] in
            try await scenario.caughtUp()
            #expect(try await scenario.ids() == ["other"])
            try await scenario.database.run("XA COMMIT 'a'")
            try await scenario.caughtUp()
            #expect(try await scenario.ids() == ["other", "xa"])
        }
        try await scenario.expectSameRowsAsAFreshCopy(of: "lists")
    }

    // MARK: Positions

    @Test func anotherSchemaMovesThePosition() async throws {
        let other = try await TestMySQLDatabase("CREATE TABLE t (id INT AUTO_INCREMENT PRIMARY KEY)")
        let scenario = try await MySQLScenario()
        try await scenario.replicating {
            try await scenario.caughtUp()
            for _ in 0..<20 {
                try await other.run("INSERT INTO t VALUES ()")
                let head = try await scenario.head()
                try await scenario.published { $0.lsn >= head.lsn }
            }
        }
        // Warnings about settings of the server name copies, too.
        #expect(scenario.log.lines.count { $0.contains("has been copied") } == 1)
    }

    @Test func aWriteIsInTheBucketAtItsWriteCheckpoint() async throws {
        let scenario = try await MySQLScenario(
            [
                "CREATE TABLE lists (id VARCHAR(36) PRIMARY KEY, owner TEXT, name TEXT)",
                "CREATE TABLE load_of_others (id INT PRIMARY KEY, n INT)",
                "INSERT INTO load_of_others VALUES (0, 0), (1, 0), (2, 0), (3, 0), (4, 0), (5, 0), (6, 0), (7, 0)",
            ],
            config: """
                config: {edition: 3}
                streams:
                  all: {query: SELECT * FROM lists}
                  others: {query: SELECT * FROM load_of_others}
                """
        )
        try await scenario.replicating {
            try await scenario.caughtUp()
            try await withThrowingTaskGroup(of: Void.self) { group in
                for writer in 0..<8 {
                    group.addTask {
                        let connection = try await scenario.database.open()
                        defer { connection.close() }
                        while !Task.isCancelled {
                            try await connection.execute("UPDATE load_of_others SET n = n + 1 WHERE id = \(writer)")
                        }
                    }
                }
                for upload in 0..<(Self.isSlow ? 100 : 25) {
                    try await scenario.database.run("INSERT INTO lists VALUES ('upload \(upload)', 'u', 'x')")
                    let head = try await scenario.head()
                    try await scenario.published { $0.lsn >= head.lsn }
                    #expect(try await scenario.ids().contains("upload \(upload)"))
                    if upload % 5 == 0 { try await scenario.database.run("FLUSH BINARY LOGS") }
                }
                group.cancelAll()
                while let result = await group.nextResult() { _ = result }
            }
        }
    }

    // MARK: Names of transactions

    @Test(.enabled(if: TestMySQL.isMySQL, "MariaDB has other ones"))
    func whateverTheNumbersOfTransactionsAre() async throws {
        let server = try await TestMySQLServer()
        let scenario = try await MySQLScenario(on: server)
        let uuid = try #require(try await scenario.database.run("SELECT @@server_uuid").first?.first ?? nil)
        try await scenario.replicating {
            try await scenario.caughtUp()
            var count = 0
            func insert(as gtid: String?) async throws {
                count += 1
                let session = try await scenario.database.open()
                if let gtid { try await session.execute("SET GTID_NEXT = '\(gtid)'") }
                try await session.execute("INSERT INTO lists VALUES ('\(count)', 'u', '\(gtid ?? "automatic")')")
                session.close()
                // A write checkpoint.
                let head = try await scenario.head()
                try await scenario.published { $0.lsn >= head.lsn }
                #expect(try await scenario.ids().count == count)
            }
            try await insert(as: "\(uuid):1000")
            for _ in 0..<3 { try await insert(as: nil) }
            try await insert(as: "aaaaaaaa-aaaa-aaaa-aaaa-aaaaaaaaaaaa:7")
            try await insert(as: "aaaaaaaa-aaaa-aaaa-aaaa-aaaaaaaaaaaa:3")
            try await insert(as: "\(uuid):tag_of_tests:5")
            try await insert(as: "AUTOMATIC:another_tag")
            try await insert(as: "bbbbbbbb-aaaa-aaaa-aaaa-aaaaaaaaaaaa:1")
            try await scenario.database.run("SET GLOBAL gtid_purged = '+cccccccc-aaaa-aaaa-aaaa-aaaaaaaaaaaa:1-5:9'")
            try await insert(as: nil)
            try await insert(as: "cccccccc-aaaa-aaaa-aaaa-aaaaaaaaaaaa:7")
            try await scenario.database.run("FLUSH BINARY LOGS")
            try await insert(as: nil)
        }
        #expect(scenario.log.lines.count { $0.contains("has been copied") } == 1)
        try await scenario.expectSameRowsAsAFreshCopy(of: "lists")
    }

    // MARK: Other schemas

    @Test func tablesOfOtherSchemasChangeNothing() async throws {
        let other = try await TestMySQLDatabase(
            "CREATE TABLE lists (id INT PRIMARY KEY)",
            "INSERT INTO lists VALUES (1)"
        )
        let scenario = try await MySQLScenario([
            "CREATE TABLE lists (id VARCHAR(36) PRIMARY KEY, owner VARCHAR(40), name VARCHAR(100))"
        ])
        try await scenario.replicating {
            try await scenario.caughtUp()
            // A table that has had no row.
            try await scenario.database.run("ALTER TABLE lists ADD color VARCHAR(10) DEFAULT 'red'")
            try await scenario.caughtUp()
            try await scenario.database.run("INSERT INTO lists (id) VALUES ('a')")
            for sql in [
                "ALTER TABLE lists ADD n INT", "RENAME TABLE lists TO lists2", "RENAME TABLE lists2 TO lists",
                "TRUNCATE lists",
            ] {
                try await other.run(sql)
            }
            try await scenario.caughtUp()
            #expect(try await scenario.ids() == ["a"])
            let copies = scenario.log.lines.count { $0.contains("has been copied") }
            #expect(copies == 2)
            // Into another schema, and back.
            try await other.run("RENAME TABLE \(scenario.database.name).lists TO \(other.name).moved")
            try await scenario.caughtUp()
            try await other.run("INSERT INTO moved (id) VALUES ('b')")
            try await other.run("RENAME TABLE \(other.name).moved TO \(scenario.database.name).lists")
            try await scenario.caughtUp()
            #expect(try await scenario.ids() == ["a", "b"])
        }
        #expect(!scenario.log.lines.contains { $0.hasPrefix("error ") })
        try await scenario.expectSameRowsAsAFreshCopy(of: "lists")
    }

    @Test func namesMayHaveAnySign() async throws {
        let other = try await TestMySQLDatabase(
            "CREATE TABLE `a``b-c.d ✨` (id INT PRIMARY KEY, `select` VARCHAR(10), `x``y.z-1 ✨` VARCHAR(10))",
            "INSERT INTO `a``b-c.d ✨` VALUES (1, 's', 'copied')"
        )
        let scenario = try await MySQLScenario(
            config: MySQLScenario.all(#""\#(other.name)"."a`b-c.d ✨" AS lists"#)
        )
        try await scenario.replicating {
            try await scenario.caughtUp()
            #expect(try await scenario.rows()["lists/1"]?.contains(#""x`y.z-1 ✨":"copied""#) == true)
            try await other.run("UPDATE `a``b-c.d ✨` SET `x``y.z-1 ✨` = 'changed', `select` = 't' WHERE id = 1")
            try await other.run("INSERT INTO `a``b-c.d ✨` VALUES (2, 's', 'new')")
            try await scenario.caughtUp()
            #expect(try await scenario.rows()["lists/1"]?.contains(#""select":"t","x`y.z-1 ✨":"changed""#) == true)
            #expect(try await scenario.ids() == ["1", "2"])
        }
        try await scenario.expectSameRowsAsAFreshCopy()
    }

    @Test func aFilterOfTheLogHidesNoTruncationFromWhoeverMaySeeNumbersOfTables() async throws {
        let server = try await TestMySQLServer()
        let database = try await TestMySQLDatabase(
            server: server.address,
            "CREATE TABLE lists (id VARCHAR(36) PRIMARY KEY, owner TEXT, name TEXT)",
            "CREATE DATABASE other"
        )
        server.stop()
        try await server.start(["--binlog-do-db=\(database.name)"])
        let scenario = try await MySQLScenario(
            database: database,
            on: server,
            settings: { $0.heartbeatInterval = .milliseconds(300) }
        )
        try await scenario.replicating {
            try await database.run("INSERT INTO lists VALUES ('a', 'u', 'x')")
            try await scenario.caughtUp()
            let session = try await database.open()
            try await session.execute("USE other")
            try await session.execute("TRUNCATE \(database.name).lists")
            session.close()
            // Nothing of it is in the log.
            try await scenario.untilPublished { try await scenario.ids().isEmpty }
        }
        var plan = try plan(scenario.config)
        plan.defaultSchema = database.name
        let warning = try await scenario.source.findings(for: plan).first { $0.code == .mysqlLogFilter }
        #expect(warning?.severity == .warning)

        // For who does not see the numbers, it is an error.
        let account = try await TestAccount(password: "p", in: database.server)
        try await account.grantReplication(of: database)
        let blind = try await MySQLScenario(
            database: database,
            connection: { $0 = account.settings(database: database.name) }
        )
        let error = try await blind.source.findings(for: plan).first { $0.code == .mysqlLogFilter }
        #expect(error?.severity == .error)
        _ = try await blind.storage.deploy(blind.config, plan: plan)
        let stream = try #require(try await blind.stream())
        let refusal = await #expect(throws: ReplicationSourceError.self) {
            try await blind.source.warn(about: stream)
        }
        #expect(refusal?.code == .configuration)
        #expect(refusal?.pause == .seconds(60))
        #expect(refusal?.message.contains("[PSYNC_S1205]") == true)
        #expect(refusal?.message.contains("binlog-do-db") == true)
        try blind.source.close()
    }
}

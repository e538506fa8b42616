import Foundation
import MySQLTestSupport
import NIOConcurrencyHelpers
import PowerSyncMySQLConnection
import PowerSyncSyncConfig
import ServiceTestSupport
import Testing

@testable import PowerSyncServiceCore
@testable import PowerSyncServiceMySQL

/// Streams and copies that follow each other, and what is copied meanwhile.
@Suite(.timeLimit(.minutes(2))) struct MySQLDeploymentTests {
    private static func config(_ queries: [(name: String, query: String)], options: String = "") -> String {
        "config: {edition: 3\(options)}\nstreams:\n"
            + queries.map { "  \($0.name):\n    auto_subscribe: true\n    query: \($0.query)\n" }.joined()
    }

    private static let names = (name: "names", query: "SELECT id, name FROM lists")
    private static let owners = (name: "owners", query: "SELECT id, owner FROM lists")

    private func scenario(
        rows: Int = 3,
        config: String = config([names]),
        settings: (inout MySQLSettings) -> Void = { _ in }
    ) async throws -> MySQLScenario {
        let scenario = try await MySQLScenario(
            ["CREATE TABLE lists (id VARCHAR(36) PRIMARY KEY, owner VARCHAR(40), name VARCHAR(100), unread TEXT)"],
            config: config,
            settings: settings
        )
        for start in stride(from: 0, to: rows, by: 1000) {
            let values = (start..<min(start + 1000, rows)).map { "('k\(100_000 + $0)', 'o', 'n', NULL)" }
            try await scenario.database.run("INSERT INTO lists VALUES \(values.joined(separator: ", "))")
        }
        return scenario
    }

    private func operations(_ scenario: MySQLScenario, _ bucket: String) async throws -> Int {
        let checkpoint = try #require(scenario.storage.feed.current)
        let stream = try #require(try await scenario.stream())
        return try await scenario.storage.allOperations(bucket, of: stream, at: checkpoint).count
    }

    @Test func theFirstStreamIsServedUntilTheSecondIsActive() async throws {
        let first = Self.config([Self.names])
        var scenario = try await scenario(rows: 200)
        try await scenario.replicate()
        let second = Self.config([Self.names], options: ", timestamp_max_precision: seconds")
        scenario = try scenario.reopened(config: second)
        let held = HeldSource(scenario.source)
        scenario.front = held
        held.hold()
        let seen = held.waitCount
        try await scenario.replicating { [scenario] in
            try await held.copyWaits(after: seen)
            // Both read the log: what the first one sees is served.
            try await scenario.database.run("INSERT INTO lists VALUES ('meanwhile', 'o', 'n', NULL)")
            let head = try await scenario.head()
            try await scenario.untilPublished { scenario.storage.feed.current.map { $0.lsn >= head.lsn } ?? false }
            #expect(try await scenario.servedConfigs() == [first])
            #expect(try await scenario.rows("names|0[]").keys.contains("lists/meanwhile"))
            held.release()
            try await scenario.caughtUp()
            #expect(try await scenario.servedConfigs() == [scenario.config])
            #expect(try await scenario.rows("names|0[]").count == 201)
        }
    }

    @Test(arguments: [owners, (name: "all", query: "SELECT * FROM lists")], [true, false])
    func whatReadsAnotherColumnIsFilledAlone(
        _ added: (name: String, query: String),
        copiesAfterAlter: Bool
    ) async throws {
        var scenario = try await scenario { $0.copiesAfterAlter = copiesAfterAlter }
        try await scenario.replicate()
        let stream = try await scenario.stream()
        let before = try await operations(scenario, "names|0[]")
        scenario = try scenario.reopened(config: Self.config([Self.names, added]))
        try await scenario.deployKeepingParts()
        try await scenario.replicating { [scenario] in
            let served = try await scenario.served(scenario.config)
            #expect(served.id == stream?.id)
            #expect(try await operations(scenario, "names|0[]") == before)
            // Not named after the stream, which came after the first config.
            let added = try #require(served.plan.buckets.last?.name) + "[]"
            #expect(try await scenario.rows(added).count == 3)
            try await scenario.database.run("UPDATE lists SET owner = 'new' WHERE id = 'k100001'")
            try await scenario.caughtUp()
            #expect(try await scenario.rows(added)["lists/k100001"]?.contains("new") == true)
            // The first part reads another column.
            #expect(try await operations(scenario, "names|0[]") == before)
        }
        #expect(scenario.log.lines.count { $0.contains("has been copied") } == 1)
        #expect(scenario.log.lines.count { $0.contains("has been read beside the change stream") } == 1)

        // Fewer columns again.
        scenario = try scenario.reopened(config: Self.config([Self.names]))
        try await scenario.deployKeepingParts()
        try await scenario.replicating { [scenario] in
            try await scenario.database.run("UPDATE lists SET name = 'changed' WHERE id = 'k100002'")
            try await scenario.caughtUp()
            #expect(try await scenario.rows("names|0[]")["lists/k100002"]?.contains("changed") == true)
        }
        #expect(scenario.log.lines.count { $0.contains("has been copied") } == 1)
    }

    /// With `copy_after_alter: false`, a table is the same whatever its columns are, and the columns that each stream reads of it are not.
    @Test func streamsReadTheirOwnColumnsWhenNoALTERIsFollowed() async throws {
        var scenario = try await scenario(rows: 25_000) {
            $0.copiesAfterAlter = false
            $0.heartbeatInterval = .milliseconds(1)
        }
        try await scenario.replicate()
        scenario = try scenario.reopened(config: Self.config([Self.owners]))
        let held = HeldSource(scenario.source)
        scenario.front = held
        held.hold("lists", afterRows: 10_000)
        let seen = held.waitCount
        try await scenario.replicating { [scenario] in
            try await held.copyWaits(after: seen)
            // The first stream looks at the catalogue in the middle of the copy for the second one, before it delivers the row.
            try await scenario.database.run("INSERT INTO lists (id, owner, name) VALUES ('meanwhile', 'o', 'n')")
            let head = try await scenario.head()
            try await scenario.untilPublished { scenario.storage.feed.current.map { $0.lsn >= head.lsn } ?? false }
            #expect(try await scenario.rows("names|0[]")["lists/meanwhile"]?.contains(#""name":"n""#) == true)
            held.release()
            try await scenario.caughtUp()
            let rows = try await scenario.rows("owners|0[]")
            #expect(rows.count == 25_001)
            #expect(rows.values.count { $0.contains(#""owner":"o""#) } == 25_001)
        }
        #expect(scenario.log.lines.count { $0.contains("has been copied") } == 2)
        try await scenario.expectSameRowsAsAFreshCopy()
    }

    @Test func aColumnThatChangesIsCopiedForWhoeverReadsIt() async throws {
        var scenario = try await scenario(config: Self.config([Self.names, Self.owners]))
        try await scenario.replicate()
        scenario = try scenario.reopened()
        try await scenario.database.run("ALTER TABLE lists MODIFY owner VARCHAR(41), ALGORITHM = INPLACE")
        try await scenario.database.run("ALTER TABLE lists ADD another INT FIRST")
        try await scenario.replicating { [scenario] in
            try await scenario.caughtUp()
            #expect(try await scenario.rows("owners|0[]").count == 3)
        }
        #expect(scenario.log.lines.count { $0.contains("has been copied") } == 2)
    }

    @Test func noRowIsMissedWhoseKeyMovesBehindTheCopy() async throws {
        var scenario = try await scenario(rows: 25_000)
        let held = HeldSource(scenario.source)
        scenario.front = held
        held.hold("lists", afterRows: 10_000)
        let seen = held.waitCount
        try await scenario.replicating { [scenario] in
            try await held.copyWaits(after: seen)
            try await scenario.database.run("UPDATE lists SET id = CONCAT('a', id) WHERE id >= 'k120000'")
            try await scenario.database.run("UPDATE lists SET id = CONCAT('z', id) WHERE id < 'k100100'")
            try await scenario.database.run("DELETE FROM lists WHERE id BETWEEN 'k105000' AND 'k105999'")
            held.release()
            try await scenario.caughtUp()
            #expect(try await scenario.rows("names|0[]").count == 24_000)
        }
        try await scenario.expectSameRowsAsAFreshCopy()
    }

    @Test(arguments: ["ALTER TABLE lists ADD color VARCHAR(10) DEFAULT 'red'", "DROP TABLE lists"])
    func aTableThatChangesWhileItIsCopied(_ sql: String) async throws {
        var scenario = try await MySQLScenario(
            [
                "CREATE TABLE lists (id VARCHAR(36) PRIMARY KEY)", "CREATE TABLE notes (id VARCHAR(36) PRIMARY KEY)",
                "INSERT INTO notes VALUES ('n')",
            ],
            config: "config: {edition: 3}\nstreams: {all: {queries: [SELECT * FROM lists, SELECT * FROM notes]}}"
        )
        for start in stride(from: 0, to: 12_000, by: 1000) {
            let values = (start..<start + 1000).map { "('k\(100_000 + $0)')" }
            try await scenario.database.run("INSERT INTO lists VALUES \(values.joined(separator: ", "))")
        }
        let held = HeldSource(scenario.source)
        scenario.front = held
        held.hold("lists", afterRows: 10_000)
        let seen = held.waitCount
        try await scenario.replicating { [scenario] in
            try await held.copyWaits(after: seen)
            let isDone = NIOLockedValueBox(false)
            async let change: Void = {
                try await scenario.database.run(sql)
                isDone.withLockedValue { $0 = true }
            }()
            // The copy may be in the middle of a statement, whose end the change waits for.
            try await scenario.database.untilLockIsWaitedFor { isDone.withLockedValue { $0 } }
            held.release()
            try await change
            try await scenario.caughtUp()
            let rows = try await scenario.rows()
            #expect(rows["notes/n"] != nil)
            if sql.hasPrefix("DROP") {
                #expect(rows.count == 1)
            } else {
                #expect(rows.count == 12_001)
                #expect(rows.allSatisfy { $0.key == "notes/n" || $0.value.contains("red") })
            }
        }
        try await scenario.expectSameRowsAsAFreshCopy()
    }

    @Test(.enabled(if: !TestMySQL.isMySQL, "MySQL describes tables that are locked"))
    func aTableThatIsLockedAtAStartKeepsItsRowsAndTheOthersGoOn() async throws {
        var scenario = try await MySQLScenario(
            ["lists", "notes"].map { "CREATE TABLE \($0) (id VARCHAR(36) PRIMARY KEY)" }
                + ["INSERT INTO lists VALUES ('a')"],
            config: Self.config([("lists", "SELECT * FROM lists"), ("notes", "SELECT * FROM notes")])
        )
        try await scenario.replicate()
        scenario = try scenario.reopened()
        let locking = try await scenario.database.open()
        defer { locking.close() }
        try await locking.execute("LOCK TABLES lists WRITE")
        try await scenario.replicating { [scenario] in
            try await scenario.database.run("INSERT INTO notes VALUES ('n')")
            try await scenario.caughtUp()
            #expect(try await scenario.ids("notes|0[]") == ["n"])
            #expect(try await scenario.ids("lists|0[]") == ["a"])
            try await locking.execute("INSERT INTO lists VALUES ('b')")
            try await locking.execute("UNLOCK TABLES")
            try await scenario.untilPublished { try await scenario.ids("lists|0[]") == ["a", "b"] }
        }
    }

    /// A table whose file is not there, and how it comes back.
    struct Damage: CustomTestStringConvertible, Sendable {
        var testDescription: String
        /// What the name of the file ends with.
        var suffix: String
        /// Makes the file anew; `nil` for one that is put back while the server is stopped.
        var repair: String?

        static let all = [
            Damage(testDescription: "MyISAM", suffix: "MYI", repair: "REPAIR TABLE lists USE_FRM"),
            Damage(testDescription: "InnoDB", suffix: "ibd", repair: nil),
        ]
    }

    @Test(arguments: Damage.all)
    func aTableThatIsDamagedAtAStartKeepsItsRowsAndTheOthersGoOn(_ damage: Damage) async throws {
        let server = try await TestMySQLServer()
        var scenario = try await MySQLScenario(
            [
                "CREATE TABLE lists (id VARCHAR(36) PRIMARY KEY) ENGINE = \(damage.testDescription)",
                "CREATE TABLE notes (id VARCHAR(36) PRIMARY KEY)", "INSERT INTO lists VALUES ('a')",
            ],
            config: Self.config([("lists", "SELECT * FROM lists"), ("notes", "SELECT * FROM notes")]),
            on: server
        )
        try await scenario.replicate()
        scenario = try scenario.reopened()
        let file = "\(server.dataFolder)/\(scenario.database.name)/lists.\(damage.suffix)"
        server.stop()
        try FileManager.default.moveItem(atPath: file, toPath: "\(file).away")
        try await server.start()
        try await scenario.replicating { [scenario] in
            try await scenario.database.run("INSERT INTO notes VALUES ('n')")
            try await scenario.caughtUp()
            #expect(try await scenario.ids("notes|0[]") == ["n"])
            #expect(try await scenario.ids("lists|0[]") == ["a"])
            if let repair = damage.repair {
                try await scenario.database.run(repair)
            } else {
                server.stop()
                try FileManager.default.moveItem(atPath: "\(file).away", toPath: file)
                try await server.start()
            }
            try await scenario.database.run("INSERT INTO lists VALUES ('b')")
            try await scenario.untilPublished { try await scenario.ids("lists|0[]") == ["a", "b"] }
        }
        try await scenario.expectSameRowsAsAFreshCopy()
    }

    @Test func closingEndsACopyThatRuns() async throws {
        let fixture = try await MySQLFixture("CREATE TABLE t (id INT PRIMARY KEY, body TEXT)")
        for id in 0..<20 { try await fixture.database.run("INSERT INTO t VALUES (\(id), REPEAT('x', 60000))") }
        var copy = try await fixture.source.snapshot(of: fixture.table(), after: nil)
        _ = try await copy.next()
        let locking = try await fixture.database.open()
        defer { locking.close() }
        try await locking.execute("LOCK TABLES t WRITE")
        let rows = Task { [copy] in
            var copy = copy
            return try await copy.next()
        }
        // The copy waits for the lock.
        try await fixture.database.untilLockIsWaitedFor()
        try fixture.source.close()
        let error = await #expect(throws: (any Error).self) { _ = try await rows.value }
        #expect((error as? MySQLConnectionError)?.code == .closed)
    }

    @Test func aSourceIsLetGoOfThatHasReadRows() async throws {
        weak var source: MySQLSource?
        do {
            let fixture = try await MySQLFixture("CREATE TABLE t (id INT PRIMARY KEY)", "INSERT INTO t VALUES (1)")
            let other = fixture.restarted()
            source = other
            let table = try #require(try await other.tables(for: MySQLFixture.plan(["t"])).first)
            #expect(try await other.rows(of: table, keys: [[.integer(1)]], showing: []).rows.count == 1)
        }
        #expect(source == nil)
    }
}

extension TestMySQLDatabase {
    /// Waits until a session waits for a lock on a table of the database, or something else is true.
    func untilLockIsWaitedFor(or isDone: () -> Bool = { false }) async throws {
        while !isDone() {
            let sessions = try await run("SHOW PROCESSLIST")
            if sessions.contains(where: { $0[3] == name && $0[6]?.hasPrefix("Waiting for table") == true }) { return }
            await Task.yield()
        }
    }
}

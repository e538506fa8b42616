import Foundation
import MySQLTestSupport
import PowerSyncMySQLConnection
import ServiceTestSupport
import TestSupport
import Testing

@testable import PowerSyncServiceCore
@testable import PowerSyncServiceMySQL

/// Rows from the server to a bucket, over its log (docs/mysql.md).
@Suite(.timeLimit(.minutes(5))) struct MySQLReplicationTests {
    private static let two = """
        config:
          edition: 3
        streams:
          all:
            queries:
              - SELECT * FROM lists
              - SELECT * FROM todos
        """

    /// What makes followers of any schema copy tables, such as statements in the log, needs a server of its own: that of
    /// `scripts/with-mysql` has other tests, which count copies.
    private func scenario(
        _ statements: String...,
        config: String = two,
        on server: TestMySQLServer? = nil
    ) async throws -> MySQLScenario {
        try await MySQLScenario(
            [
                "CREATE TABLE lists (id VARCHAR(36) PRIMARY KEY, owner VARCHAR(40), name VARCHAR(100))",
                "CREATE TABLE todos (id VARCHAR(36) PRIMARY KEY, list_id VARCHAR(36), done TINYINT(1), note TEXT)",
                "INSERT INTO lists VALUES ('l1', 'u', 'one'), ('l2', 'u', 'two'), ('l3', 'u', 'three')",
            ] + statements,
            config: config,
            on: server
        )
    }

    @Test func rowsAreCopiedAndThenFollowed() async throws {
        let scenario = try await scenario()
        try await scenario.replicating {
            try await scenario.caughtUp()
            #expect(try await scenario.ids() == ["l1", "l2", "l3"])
            try await scenario.database.run("INSERT INTO lists VALUES ('l4', 'u', 'four')")
            try await scenario.database.run("UPDATE lists SET name = 'changed' WHERE id = 'l1'")
            try await scenario.database.run("DELETE FROM lists WHERE id = 'l2'")
            try await scenario.caughtUp()
            #expect(try await scenario.ids() == ["l1", "l3", "l4"])
            #expect(try await scenario.rows()["lists/l1"]?.contains("changed") == true)
            // In the order of the log.
            let stream = try #require(try await scenario.stream())
            let checkpoint = try #require(scenario.storage.feed.current)
            let operations = try await scenario.storage.allOperations("all|0[]", of: stream, at: checkpoint)
            #expect(operations.suffix(3).map { "\($0.kind) \($0.id)" } == ["PUT l4", "PUT l1", "REMOVE l2"])
            #expect(operations.count == 6)
        }
        try await scenario.expectSameRowsAsAFreshCopy()
    }

    @Test func transactionsAreShownWholeOrNotAtAll() async throws {
        let scenario = try await scenario()
        try await scenario.replicating {
            try await scenario.caughtUp()
            try await scenario.database.run([
                "BEGIN", "INSERT INTO lists VALUES ('a', 'u', 'x')", "INSERT INTO lists VALUES ('b', 'u', 'x')",
                "INSERT INTO todos VALUES ('c', 'a', 0, 'x')", "COMMIT",
            ])
            try await scenario.database.run(["BEGIN", "INSERT INTO lists VALUES ('no', 'u', 'x')", "ROLLBACK"])
            try await scenario.database.run([
                "BEGIN", "INSERT INTO lists VALUES ('d', 'u', 'x')", "SAVEPOINT s",
                "INSERT INTO lists VALUES ('e', 'u', 'x')",
                "ROLLBACK TO s", "SAVEPOINT t", "INSERT INTO lists VALUES ('f', 'u', 'x')", "RELEASE SAVEPOINT t",
                "COMMIT",
            ])
            try await scenario.caughtUp()
            #expect(try await scenario.ids() == ["l1", "l2", "l3", "a", "b", "c", "d", "f"])
        }
    }

    @Test(arguments: ["UPDATE lists SET id = 'b' WHERE id = 'l1'", "UPDATE lists SET id = 'L1' WHERE id = 'l1'"])
    func anotherKeyIsAnotherRow(_ sql: String) async throws {
        let scenario = try await scenario()
        try await scenario.replicating {
            try await scenario.caughtUp()
            // No checkpoint has the row under both keys, and none under neither.
            try await scenario.looking {
                #expect($0.count == 3)
            } while: {
                try await scenario.database.run(sql)
                try await scenario.caughtUp()
            }
        }
        try await scenario.expectSameRowsAsAFreshCopy()
        #expect(try await scenario.ids().count == 3)
    }

    @Test func updatesThatChangeNothingMakeNoOperation() async throws {
        let scenario = try await scenario()
        try await scenario.replicating {
            try await scenario.caughtUp()
            let before = try await scenario.published { _ in true }
            try await scenario.database.run("UPDATE lists SET name = 'one' WHERE id = 'l1'")
            try await scenario.caughtUp()
            let after = try await scenario.published { _ in true }
            #expect(before.opID == after.opID)
        }
    }

    @Test func replicationGoesOnAfterARestart() async throws {
        var scenario = try await scenario()
        for round in 0..<3 {
            try await scenario.replicate()
            scenario = try scenario.reopened()
            try await scenario.database.run("INSERT INTO lists VALUES ('n\(round)', 'u', 'x')")
            try await scenario.database.run("UPDATE lists SET name = 'round \(round)' WHERE id = 'l1'")
        }
        try await scenario.replicate()
        #expect(scenario.log.lines.count { $0.contains("has been copied") } == 2)
        try await scenario.expectSameRowsAsAFreshCopy()
    }

    // 250,000 rows in `make soak`.
    @Test func aLargeTransactionIsShownAtItsEnd() async throws {
        let isSlow = ProcessInfo.processInfo.environment["POWERSYNC_SLOW"] != nil
        let rows = isSlow ? 250_000 : 20_000
        let scenario = try await scenario(
            "CREATE TABLE numbers (n INT PRIMARY KEY)",
            "INSERT INTO numbers VALUES (0),(1),(2),(3),(4),(5),(6),(7),(8),(9)"
        )
        try await scenario.replicating {
            try await scenario.caughtUp()
            let before = scenario.storage.feed.current
            let memory = try ProcessMemory.isKnown ? ProcessMemory().own : 0
            try await scenario.database.run(
                """
                INSERT INTO lists SELECT CONCAT('r', n), 'u', 'n' FROM
                    (SELECT a.n + 10 * b.n + 100 * c.n + 1000 * d.n + 10000 * e.n + 100000 * f.n AS n
                        FROM numbers a, numbers b, numbers c, numbers d, numbers e, numbers f WHERE f.n < 3) AS all_numbers
                WHERE n < \(rows)
                """,
                timeout: .seconds(600)
            )
            try await scenario.published { $0.opID != before?.opID }
            if ProcessMemory.isKnown { #expect(try ProcessMemory().own - memory < 200 << 20) }
            #expect(try await scenario.ids().count == rows + 3)
            let full = scenario.storage.feed.current
            try await scenario.database.run("DELETE FROM lists", timeout: .seconds(600))
            try await scenario.published { $0.opID != full?.opID }
            #expect(try await scenario.ids().isEmpty)
        }
    }

    @Test(arguments: ["MyISAM", "Aria", "MEMORY"])
    func tablesWithoutTransactionsAreFollowed(_ engine: String) async throws {
        guard engine != "Aria" || !TestMySQL.isMySQL else { return }
        let scenario = try await MySQLScenario([
            "CREATE TABLE lists (id VARCHAR(36) PRIMARY KEY, owner VARCHAR(40), name VARCHAR(100)) ENGINE = \(engine)",
            "INSERT INTO lists VALUES ('a', 'u', 'x')",
        ])
        try await scenario.replicating {
            try await scenario.caughtUp()
            try await scenario.database.run("INSERT INTO lists VALUES ('b', 'u', 'x')")
            // Nothing else is written, and nobody asks where the log ends.
            try await scenario.untilPublished { try await scenario.ids() == ["a", "b"] }
            try await scenario.database.run("TRUNCATE lists")
            try await scenario.database.run("INSERT INTO lists VALUES ('c', 'u', 'x')")
            try await scenario.caughtUp()
            #expect(try await scenario.ids() == ["c"])
        }
    }

    // MARK: What is undone

    @Test(.enabled(if: !TestMySQL.isMySQL, "MySQL refuses such transactions"))
    func whatIsUndoneBesideTablesWithoutTransactionsIsAsInTheSource() async throws {
        let scenario = try await scenario(
            "CREATE TABLE plain (id VARCHAR(36) PRIMARY KEY) ENGINE = MyISAM",
            config: Self.two + "\n      - SELECT * FROM plain"
        )
        try await scenario.replicating {
            try await scenario.caughtUp()
            try await scenario.database.run([
                "BEGIN", "INSERT INTO plain VALUES ('p1')", "INSERT INTO lists VALUES ('both', 'u', 'x')",
                "UPDATE lists SET name = 'both' WHERE id = 'l2'", "COMMIT",
            ])
            try await scenario.caughtUp()
            #expect(try await scenario.ids() == ["l1", "l2", "l3", "p1", "both"])
            #expect(try await scenario.rows()["lists/l2"]?.contains(#""both""#) == true)
            try await scenario.database.run([
                "BEGIN", "INSERT INTO lists VALUES ('kept', 'u', 'x')", "SAVEPOINT s",
                "INSERT INTO plain VALUES ('p2')",
                "INSERT INTO lists VALUES ('undone', 'u', 'x')", "UPDATE lists SET name = 'undone' WHERE id = 'l1'",
                "ROLLBACK TO s",
                "INSERT INTO lists VALUES ('after', 'u', 'x')", "COMMIT",
            ])
            // What is done to a table without transactions stays.
            try await scenario.database.run([
                "BEGIN", "INSERT INTO plain VALUES ('p3')", "DELETE FROM plain WHERE id = 'p1'",
                "INSERT INTO lists VALUES ('rolled back', 'u', 'x')", "ROLLBACK",
            ])
            try await scenario.caughtUp()
            #expect(try await scenario.ids() == ["l1", "l2", "l3", "both", "kept", "after", "p2", "p3"])
            #expect(try await scenario.rows()["lists/l1"]?.contains("one") == true)
        }
        try await scenario.expectSameRowsAsAFreshCopy()
    }

    // MARK: XA

    @Test func preparedTransactionsShowWhenTheyAreCommitted() async throws {
        let scenario = try await scenario(on: TestMySQLServer())
        try await scenario.replicating {
            try await scenario.caughtUp()
            let session = try await scenario.database.open()
            for sql in [
                "XA START 'a'", "INSERT INTO lists VALUES ('xa', 'u', 'x')", "DELETE FROM lists WHERE id = 'l2'",
                "XA END 'a'", "XA PREPARE 'a'",
            ] {
                try await session.execute(sql)
            }
            try await scenario.database.run("INSERT INTO lists VALUES ('other', 'u', 'x')")
            try await scenario.caughtUp()
            #expect(try await scenario.ids() == ["l1", "l2", "l3", "other"])
            try await session.execute("XA COMMIT 'a'")
            session.close()
            try await scenario.caughtUp()
            #expect(try await scenario.ids() == ["l1", "l3", "other", "xa"])
            let second = try await scenario.database.open()
            for sql in [
                "XA START 'b'", "INSERT INTO lists VALUES ('no', 'u', 'x')", "XA END 'b'", "XA PREPARE 'b'",
                "XA ROLLBACK 'b'",
            ] {
                try await second.execute(sql)
            }
            for sql in [
                "XA START 'c'", "INSERT INTO lists VALUES ('one phase', 'u', 'x')", "XA END 'c'",
                "XA COMMIT 'c' ONE PHASE",
            ] {
                try await second.execute(sql)
            }
            second.close()
            try await scenario.caughtUp()
            #expect(try await scenario.ids() == ["l1", "l3", "other", "xa", "one phase"])
        }
        #expect(!scenario.log.lines.contains { $0.contains("A table of the source is copied again") })
        try await scenario.expectSameRowsAsAFreshCopy()
    }

    @Test func transactionsThatWerePreparedBeforeTheStartShowWhenTheyAreCommitted() async throws {
        var scenario = try await scenario(on: TestMySQLServer())
        let session = try await scenario.database.open()
        for sql in [
            "XA START 'before'", "INSERT INTO lists VALUES ('xa', 'u', 'x')", "XA END 'before'", "XA PREPARE 'before'",
        ] {
            try await session.execute(sql)
        }
        try await scenario.replicate()
        #expect(try await scenario.ids() == ["l1", "l2", "l3"])
        scenario = try scenario.reopened()
        try await session.execute("XA COMMIT 'before'")
        session.close()
        try await scenario.replicate()
        #expect(try await scenario.ids() == ["l1", "l2", "l3", "xa"])
    }

    /// What a key has of a time is not what its column has.
    @Test func rowsThatAreReadByKeysWithTimesHaveTheirValues() async throws {
        let scenario = try await MySQLScenario(
            [
                "CREATE TABLE moments (at DATETIME(6) PRIMARY KEY, n INT)",
                "CREATE TABLE plain (at DATETIME(6), n INT)",
                "INSERT INTO plain VALUES ('2024-01-02 03:04:05.123456', 1), ('2024-01-02 03:04:05.123456', 1), (NULL, 2)",
            ],
            config: """
                config: {edition: 3}
                streams:
                  all:
                    queries:
                      - SELECT at || '' AS id, at, n FROM moments
                      - SELECT 'p' || n AS id, at FROM plain
                """,
            on: TestMySQLServer()
        )
        try await scenario.replicating {
            try await scenario.caughtUp()
            let session = try await scenario.database.open()
            defer { session.close() }
            for sql in [
                "XA START 'a'", "INSERT INTO moments VALUES ('2024-01-02 03:04:05.123456', 1)", "XA END 'a'",
                "XA PREPARE 'a'", "XA COMMIT 'a'", "DELETE FROM plain WHERE n = 1 LIMIT 1",
            ] {
                try await session.execute(sql)
            }
            try await scenario.caughtUp()
            let time = "2024-01-02T03:04:05.123Z"
            #expect(try await scenario.rows()["moments/\(time)"]?.contains(#""at":"\#(time)""#) == true)
            #expect(try await scenario.rows()["plain/p1"]?.contains(time) == true)
        }
        try await scenario.expectSameRowsAsAFreshCopy()
    }

    // MARK: Statements

    @Test func rowsThatStatementsChangeAreCopiedAgain() async throws {
        let server = try await TestMySQLServer()
        for sql in [
            "UPDATE lists SET name = 'by statement'",
            "INSERT INTO lists SELECT CONCAT(id, '2'), owner, name FROM lists",
            "DELETE FROM lists WHERE id = 'l1'", "CALL change_lists()", "UPDATE shown SET name = 'by a view'",
        ] {
            let scenario = try await scenario(
                "CREATE PROCEDURE change_lists() UPDATE lists SET name = 'by a procedure'",
                "CREATE VIEW shown AS SELECT * FROM lists",
                on: server
            )
            try await scenario.replicating {
                try await scenario.caughtUp()
                try await scenario.database.run(["SET SESSION binlog_format = 'STATEMENT'", sql])
                try await scenario.caughtUp()
            }
            #expect(scenario.log.lines.contains { $0.contains("binlog_format is STATEMENT") }, "\(sql)")
            try await scenario.expectSameRowsAsAFreshCopy("\(sql)")
        }
    }

    // MARK: Cascades

    @Test func rowsThatRulesOfForeignKeysChangeAreAsInTheSource() async throws {
        let scenario = try await MySQLScenario(
            [
                "CREATE TABLE lists (id VARCHAR(36) PRIMARY KEY, name VARCHAR(100))",
                """
                CREATE TABLE todos (id VARCHAR(36) PRIMARY KEY, list_id VARCHAR(36),
                    FOREIGN KEY (list_id) REFERENCES lists (id) ON DELETE CASCADE ON UPDATE CASCADE)
                """,
                "INSERT INTO lists VALUES ('l1', 'one'), ('l2', 'two')",
                "INSERT INTO todos VALUES \((0..<1000).map { "('u\($0)', 'l1')" }.joined(separator: ", ")), ('t3', 'l2')",
            ],
            config: Self.two
        )
        try await scenario.replicating {
            try await scenario.caughtUp()
            try await scenario.database.run("UPDATE lists SET name = 'no other key' WHERE id = 'l1'")
            try await scenario.caughtUp()
            #expect(!scenario.log.lines.contains { $0.contains("A table of the source is copied again") })
            let before = scenario.storage.feed.current
            try await scenario.database.run("DELETE FROM lists WHERE id = 'l1'")
            // The first checkpoint without the parent has none of its children.
            try await scenario.published { $0.opID != before?.opID }
            #expect(try await scenario.ids() == ["l2", "t3"])
        }
        try await scenario.expectSameRowsAsAFreshCopy()
    }

    // MARK: Row images

    @Test(arguments: ["NO_LOG", "MINIMAL", "FULL"])
    func rowsThatTheLogHasInPartAreRead(_ metadata: String) async throws {
        guard metadata != "NO_LOG" || !TestMySQL.isMySQL else { return }
        let server = try await TestMySQLServer("--binlog-row-metadata=\(metadata)")
        for image in ["MINIMAL", "NOBLOB", "FULL"] { try await expectTheRowsOfTheSource(server, image) }
    }

    private func expectTheRowsOfTheSource(_ server: TestMySQLServer, _ image: String) async throws {
        let scenario = try await scenario("CREATE TABLE wide (id INT PRIMARY KEY)", on: server)
        try await scenario.replicating {
            try await scenario.caughtUp()
            let session = try await scenario.database.open()
            try await session.execute("SET SESSION binlog_row_image = '\(image)'")
            for sql in [
                "INSERT INTO lists (id, name) VALUES ('m', 'default owner')",
                "UPDATE lists SET owner = 'only this' WHERE id = 'l1'",
                "UPDATE lists SET id = 'k' WHERE id = 'l2'", "DELETE FROM lists WHERE id = 'l3'",
                "INSERT INTO todos (id) VALUES ('t')", "UPDATE todos SET note = 'large' WHERE id = 't'",
                "UPDATE todos SET done = 1 WHERE id = 't'",
            ] {
                try await session.execute(sql)
            }
            session.close()
            try await scenario.caughtUp()
            #expect(try await scenario.ids() == ["l1", "k", "m", "t"])
        }
        #expect(!scenario.log.lines.contains { $0.contains("A table of the source is copied again") })
        try await scenario.expectSameRowsAsAFreshCopy("\(image)")
    }

    /// MariaDB leaves the values of generated columns out of its log from 11.8 on, and can leave out what has not changed.
    @Test(arguments: ["FULL", "FULL_NODUP"])
    func rowsWithGeneratedColumnsAreAsInTheSource(_ image: String) async throws {
        guard try image == "FULL" || TestMySQL.kind == .newestMariaDB else { return }
        let scenario = try await MySQLScenario(
            [
                "CREATE TABLE g (id INT PRIMARY KEY, a INT, s INT AS (a + 1) STORED, v INT AS (a * 2) VIRTUAL)",
                // A key of MySQL; MariaDB knows no NOT NULL here, so that all columns that are written tell rows apart.
                """
                CREATE TABLE h (a INT NOT NULL, b VARCHAR(10), s INT AS (a + 1) STORED \(TestMySQL.isMySQL ? "NOT NULL" : ""),
                    v INT AS (a * 2) VIRTUAL, UNIQUE (s))
                """, "INSERT INTO g (id, a) VALUES (0, 100)", "INSERT INTO h (a, b) VALUES (100, 'copied')",
            ],
            config: """
                config: {edition: 3}
                streams:
                  all:
                    queries:
                      - SELECT * FROM g
                      - SELECT s || '' AS id, a, b, v FROM h
                """
        )
        try await scenario.replicating {
            try await scenario.caughtUp()
            let session = try await scenario.database.open()
            defer { session.close() }
            try await session.execute("SET SESSION binlog_row_image = '\(image)'")
            for sql in [
                "INSERT INTO g (id, a) VALUES (1, 10), (2, NULL), (3, 30)", "UPDATE g SET a = a + 1 WHERE id <> 2",
                "UPDATE g SET a = 5 WHERE id = 2", "DELETE FROM g WHERE id = 3",
                "INSERT INTO h (a, b) VALUES (1, 'x'), (2, 'y'), (3, 'z')", "UPDATE h SET b = 'other' WHERE a = 1",
                "UPDATE h SET a = 20 WHERE a = 2", "DELETE FROM h WHERE a IN (3, 100)",
            ] {
                try await session.execute(sql)
            }
            try await scenario.caughtUp()
            let rows = try await scenario.rows()
            #expect(rows["g/0"]?.contains(#""a":101,"s":102,"v":202"#) == true)
            #expect(rows["g/2"]?.contains(#""a":5,"s":6,"v":10"#) == true)
            #expect(rows["h/2"]?.contains(#""b":"other","v":2"#) == true)
            #expect(rows["h/21"]?.contains(#""a":20,"b":"y","v":40"#) == true)
            #expect(rows.count == 5)
        }
        #expect(!scenario.log.lines.contains { $0.contains("A table of the source is copied again") })
        try await scenario.expectSameRowsAsAFreshCopy()
    }

    /// They are one row for clients, which goes with the last of them.
    @Test func equalRowsOfATableWithoutAKeyGoTogether() async throws {
        let scenario = try await MySQLScenario(
            [
                "CREATE TABLE plain (a INT, b VARCHAR(10))",
                "INSERT INTO plain VALUES (1, 'x'), (1, 'x'), (1, 'x'), (2, NULL), (2, NULL)",
            ],
            config: MySQLScenario.all("plain").replacing("SELECT *", with: "SELECT a || '' AS id, b")
        )
        try await scenario.replicating {
            try await scenario.caughtUp()
            for expected in [["1", "2"], ["1", "2"], ["2"]] as [Set<String>] {
                try await scenario.database.run("DELETE FROM plain WHERE a = 1 LIMIT 1")
                try await scenario.caughtUp()
                #expect(try await scenario.ids() == expected)
            }
            try await scenario.database.run("UPDATE plain SET b = 'y' WHERE a = 2 LIMIT 1")
            try await scenario.caughtUp()
            try await scenario.database.run("DELETE FROM plain WHERE b IS NULL")
            try await scenario.caughtUp()
            #expect(try await scenario.rows()["plain/2"]?.contains(#""b":"y""#) == true)
        }
        try await scenario.expectSameRowsAsAFreshCopy()
    }

    // MARK: The server

    @Test func replicationGoesOnAfterTheServerHasBeenRestarted() async throws {
        let server = try await TestMySQLServer()
        let scenario = try await MySQLScenario(server: server.address)
        try await scenario.replicating {
            try await scenario.database.run("INSERT INTO lists VALUES ('a', 'u', 'x')")
            try await scenario.caughtUp()
            server.stop()
            try await server.start()
            try await scenario.database.run("INSERT INTO lists VALUES ('b', 'u', 'x')")
            try await scenario.caughtUp()
            server.crash()
            try await server.start()
            try await scenario.database.run("INSERT INTO lists VALUES ('c', 'u', 'x')")
            try await scenario.caughtUp()
            #expect(try await scenario.ids() == ["a", "b", "c"])
        }
        #expect(scenario.log.lines.count { $0.contains("has been copied") } == 1)
    }

    @Test func anotherFileOfTheLogIsReadOn() async throws {
        let scenario = try await scenario()
        try await scenario.replicating {
            try await scenario.caughtUp()
            for round in 0..<5 {
                try await scenario.database.run("FLUSH BINARY LOGS")
                try await scenario.caughtUp()
                try await scenario.database.run("INSERT INTO lists VALUES ('n\(round)', 'u', 'x')")
                try await scenario.caughtUp()
            }
        }
        try await scenario.expectSameRowsAsAFreshCopy()
    }
}

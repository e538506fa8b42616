import MySQLTestSupport
import PowerSyncMySQLConnection
import ServiceTestSupport
import Testing

@testable import PowerSyncServiceCore
@testable import PowerSyncServiceMySQL

/// Rows that rules of foreign keys change, which most servers write nothing of to their logs.
@Suite(.timeLimit(.minutes(2))) struct MySQLCascadeTests {
    /// Who carries the rules out.
    enum Rules: CaseIterable {
        /// As the server does without being told: MySQL writes the rows to its log, MariaDB does not.
        case usual
        /// The engine of MySQL, as in versions before 9.6.
        case native

        static let all = TestMySQL.isMySQL ? allCases : [.usual]
    }

    private static let tables = [
        "CREATE TABLE lists (id VARCHAR(36) PRIMARY KEY, name VARCHAR(100))",
        """
        CREATE TABLE todos (id VARCHAR(36) PRIMARY KEY, list_id VARCHAR(36), note VARCHAR(100),
            FOREIGN KEY (list_id) REFERENCES lists (id) ON DELETE CASCADE ON UPDATE CASCADE)
        """,
        "INSERT INTO lists VALUES ('l1', 'one'), ('l2', 'two'), ('l3', 'three')",
        "INSERT INTO todos VALUES ('t1', 'l1', 'a'), ('t2', 'l1', 'b'), ('t3', 'l2', 'c'), ('t4', NULL, 'd')",
    ]

    private static let config = """
        config: {edition: 3}
        streams:
          all:
            queries:
              - SELECT * FROM lists
              - SELECT * FROM todos
        """

    /// A server with some rules: the one of all tests, if these are its own.
    private func server(_ rules: Rules) async throws -> TestMySQLServer? {
        rules == .native ? try await TestMySQLServer("--innodb-native-foreign-keys=ON") : nil
    }

    /// Runs statements one after the other, each in a session of its own, and looks at each checkpoint.
    ///
    /// Unless it `copies`, no table may be copied for it.
    private func expectTheSameAfterEach(
        of statements: [[String]],
        _ rules: Rules,
        tables: [String] = tables,
        config: String = config,
        copies: Bool = false
    ) async throws {
        let server = try await server(rules)
        let scenario = try await MySQLScenario(tables, config: config, on: server)
        try await scenario.replicating {
            try await scenario.caughtUp()
            for sql in statements {
                let session = try await scenario.database.open()
                for statement in sql { try await session.execute(statement) }
                session.close()
                try await scenario.caughtUp()
                try await scenario.expectSameRowsAsAFreshCopy("\(sql)")
            }
        }
        if !copies { #expect(!scenario.log.lines.contains { $0.contains("A table of the source is copied again") }) }
    }

    /// With `ignore_foreign_key_cascades: true`, children stay where the log does not have them, and a finding names the table.
    @Test(arguments: Rules.all)
    func childrenStayWhenTheirRulesAreNotFollowed(_ rules: Rules) async throws {
        let server = try await server(rules)
        let scenario = try await MySQLScenario(Self.tables, config: Self.config, on: server) {
            $0.ignoresForeignKeyCascades = true
        }
        let isLogged = TestMySQL.isMySQL && rules == .usual
        try await scenario.replicating {
            try await scenario.caughtUp()
            try await scenario.database.run("DELETE FROM lists WHERE id = 'l1'")
            try await scenario.caughtUp()
            #expect(
                try await scenario.ids()
                    == (isLogged ? ["l2", "l3", "t3", "t4"] : ["l2", "l3", "t1", "t2", "t3", "t4"])
            )
        }
        let finding = "clients keep such rows as they were (ignore_foreign_key_cascades)"
        #expect(scenario.log.lines.contains { $0.contains(finding) && $0.contains("todos") } == !isLogged)
    }

    /// Rows of children that are found by what they refer to, over several tables and in one.
    @Test(arguments: Rules.all)
    func childrenAreReadByTheirKeys(_ rules: Rules) async throws {
        try await expectTheSameAfterEach(
            of: [
                ["DELETE FROM areas WHERE id = 1"], ["UPDATE areas SET id = 20 WHERE id = 2"],
                ["DELETE FROM notes WHERE id = X'0005'"], ["DELETE FROM owners WHERE kind = 'B' AND id = 7"],
                [
                    "BEGIN", "INSERT INTO todos VALUES ('T9', 20, NULL, NULL)", "DELETE FROM areas WHERE id = 20",
                    "COMMIT",
                ],
                ["DELETE FROM areas"],
            ],
            rules,
            tables: [
                "CREATE TABLE areas (id INT PRIMARY KEY)",
                "CREATE TABLE owners (kind VARCHAR(5), id BIGINT, PRIMARY KEY (kind, id))",
                """
                CREATE TABLE todos (id VARCHAR(20) PRIMARY KEY, area INT, owner_kind VARCHAR(5), owner BIGINT,
                    FOREIGN KEY (area) REFERENCES areas (id) ON DELETE CASCADE ON UPDATE CASCADE,
                    FOREIGN KEY (owner_kind, owner) REFERENCES owners (kind, id) ON DELETE SET NULL)
                """,
                """
                CREATE TABLE notes (id BINARY(2) PRIMARY KEY, todo VARCHAR(20), parent BINARY(2), at DATETIME(6),
                    FOREIGN KEY (todo) REFERENCES todos (id) ON DELETE CASCADE ON UPDATE CASCADE,
                    FOREIGN KEY (parent) REFERENCES notes (id) ON DELETE CASCADE)
                """,
                "INSERT INTO areas VALUES (1), (2), (3)", "INSERT INTO owners VALUES ('a', 7), ('b', 7)",
                "INSERT INTO todos VALUES ('t1', 1, 'A', 7), ('t2', 1, 'b', 7), ('t3', 2, 'B', 7), ('t4', 3, NULL, 7)",
                """
                INSERT INTO notes VALUES (X'0001', 'T1', NULL, NOW(6)), (X'0002', 't2', NULL, NOW(6)), (X'0003', 't3', NULL, NOW(6)),
                    (X'0004', NULL, X'0002', NOW(6)), (X'0005', NULL, NULL, NOW(6)), (X'0006', 't4', X'0005', NOW(6))
                """,
            ],
            config: """
                config: {edition: 3}
                streams:
                  all:
                    queries:
                      - SELECT * FROM areas
                      - SELECT id, owner FROM todos
                      - SELECT hex(id) AS id, at FROM notes
                """
        )
    }

    @Test(arguments: Rules.all)
    func aParentThatIsReplacedOrLeftWithoutItsChildren(_ rules: Rules) async throws {
        try await expectTheSameAfterEach(
            of: [
                ["REPLACE INTO lists VALUES ('l1', 'replaced')"],
                ["SET foreign_key_checks = 0", "DELETE FROM lists WHERE id = 'l2'"],
                ["SET foreign_key_checks = 0", "UPDATE lists SET id = 'l4' WHERE id = 'l3'"],
                ["INSERT INTO todos VALUES ('t5', 'l4', 'e')"], ["DELETE FROM lists WHERE id = 'l4'"],
            ],
            rules
        )
    }

    @Test(arguments: Rules.all)
    func keysOfParentsThatChange(_ rules: Rules) async throws {
        try await expectTheSameAfterEach(
            of: [
                ["UPDATE lists SET id = 'l9' WHERE id = 'l1'"], ["DELETE FROM lists WHERE id = 'l9'"],
                ["BEGIN", "INSERT INTO todos VALUES ('t6', 'l2', 'e')", "DELETE FROM lists WHERE id = 'l2'", "COMMIT"],
            ],
            rules
        )
    }

    @Test(arguments: Rules.all)
    func rulesOverTablesThatNoStreamReads(_ rules: Rules) async throws {
        try await expectTheSameAfterEach(
            of: [
                ["UPDATE areas SET id = 20 WHERE id = 2"], ["DELETE FROM areas WHERE id = 1"],
                ["DELETE FROM owners WHERE id = 1"], ["DELETE FROM todos WHERE id = 5"],
                ["DELETE FROM areas WHERE id = 20"],
            ],
            rules,
            tables: [
                "CREATE TABLE areas (id INT PRIMARY KEY)",
                "CREATE TABLE owners (id INT PRIMARY KEY)",
                """
                CREATE TABLE middle (id INT PRIMARY KEY, area INT,
                    FOREIGN KEY (area) REFERENCES areas (id) ON DELETE CASCADE ON UPDATE CASCADE)
                """,
                """
                CREATE TABLE todos (id INT PRIMARY KEY, middle INT, owner INT, parent INT,
                    FOREIGN KEY (middle) REFERENCES middle (id) ON DELETE CASCADE ON UPDATE CASCADE,
                    FOREIGN KEY (owner) REFERENCES owners (id) ON DELETE SET NULL,
                    FOREIGN KEY (parent) REFERENCES todos (id) ON DELETE CASCADE)
                """,
                "INSERT INTO areas VALUES (1), (2)", "INSERT INTO owners VALUES (1), (2)",
                "INSERT INTO middle VALUES (1, 1), (2, 2), (3, 2)",
                """
                INSERT INTO todos VALUES (1, 1, 1, NULL), (2, 1, 2, NULL), (3, 2, 1, NULL), (4, 3, 2, 3), (5, NULL, 1, NULL),
                    (6, NULL, NULL, 5), (7, NULL, NULL, 6)
                """,
            ],
            config: "config: {edition: 3}\nstreams: {all: {query: SELECT * FROM todos}}",
            copies: true
        )
    }

    @Test(arguments: Rules.all)
    func keysThatAreEqualOnlyByTheirCollation(_ rules: Rules) async throws {
        try await expectTheSameAfterEach(
            of: [["DELETE FROM lists WHERE id = 'Ä1'"], ["UPDATE lists SET id = 'C' WHERE id = 'b'"]],
            rules,
            tables: [
                "CREATE TABLE lists (id VARCHAR(36) COLLATE utf8mb4_general_ci PRIMARY KEY)",
                """
                CREATE TABLE todos (id INT PRIMARY KEY, list_id VARCHAR(36) COLLATE utf8mb4_general_ci,
                    FOREIGN KEY (list_id) REFERENCES lists (id) ON DELETE CASCADE ON UPDATE CASCADE)
                """,
                "INSERT INTO lists VALUES ('Ä1'), ('b')", "INSERT INTO todos VALUES (1, 'ä1'), (2, 'B'), (3, 'a1')",
            ],
            copies: true
        )
    }

    @Test(arguments: Rules.all)
    func childrenThatAreBeingCopied(_ rules: Rules) async throws {
        let server = try await server(rules)
        var scenario = try await MySQLScenario(Self.tables, config: Self.config, on: server)
        for start in stride(from: 0, to: 15_000, by: 1000) {
            let values = (start..<start + 1000).map { "('u\(100_000 + $0)', 'l\($0 % 3 + 1)', 'x')" }
            try await scenario.database.run("INSERT INTO todos VALUES \(values.joined(separator: ", "))")
        }
        let held = HeldSource(scenario.source)
        scenario.front = held
        held.hold("todos", afterRows: 10_000)
        let seen = held.waitCount
        try await scenario.replicating { [scenario] in
            try await held.copyWaits(after: seen)
            try await scenario.database.run("DELETE FROM lists WHERE id = 'l1'")
            try await scenario.database.run("UPDATE lists SET id = 'l7' WHERE id = 'l2'")
            held.release()
            try await scenario.caughtUp()
        }
        try await scenario.expectSameRowsAsAFreshCopy()
    }
}

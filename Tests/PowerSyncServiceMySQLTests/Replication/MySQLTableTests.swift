import MySQLTestSupport
import PowerSyncMySQLConnection
import ServiceTestSupport
import Testing

@testable import PowerSyncServiceCore
@testable import PowerSyncServiceMySQL

/// What changes of tables do, while they are replicated and while they are not (docs/mysql.md "Changed tables").
@Suite(.timeLimit(.minutes(5))) struct MySQLTableTests {
    static let config = """
        config:
          edition: 3
        streams:
          all:
            queries:
              - SELECT * FROM lists
              - SELECT * FROM "part_%"
        """

    struct Change: CustomTestStringConvertible, Sendable {
        var testDescription: String
        var sql: [String]
        /// How often the table is copied for it at most, while it is replicated by an account with `PROCESS`.
        var copies: Int?

        init(_ name: String, copies: Int? = nil, _ sql: String...) {
            testDescription = name
            self.sql = sql
            self.copies = copies
        }

        /// Ten rows for an `INSERT`: ids that begin with a word, and a name.
        private static func ten(_ word: String) -> String {
            (0..<10).map { "('\(word) \($0)', 'n')" }.joined(separator: ", ")
        }

        static let all = [
            Change("a column", "ALTER TABLE lists ADD color TEXT"),
            Change("a column with a default", "ALTER TABLE lists ADD color VARCHAR(10) DEFAULT 'red'"),
            Change("a column in front", "ALTER TABLE lists ADD color VARCHAR(36) DEFAULT 'red' FIRST"),
            Change("no column", "ALTER TABLE lists DROP name"),
            Change(
                "a column again",
                "ALTER TABLE lists DROP name",
                "ALTER TABLE lists ADD name VARCHAR(100) DEFAULT 'new'"
            ),
            Change(
                "a column for some rows",
                "ALTER TABLE lists ADD extra INT DEFAULT 7",
                "INSERT INTO lists (id, name) VALUES \(ten("with"))",
                "ALTER TABLE lists DROP extra",
                "INSERT INTO lists (id, name) VALUES \(ten("without"))"
            ),
            Change("another name", "ALTER TABLE lists RENAME COLUMN name TO title"),
            Change(
                "another name and back",
                "ALTER TABLE lists RENAME COLUMN name TO title",
                "ALTER TABLE lists RENAME COLUMN title TO name"
            ),
            Change(
                "names exchanged, rows, and back",
                "ALTER TABLE lists RENAME COLUMN name TO owner, RENAME COLUMN owner TO name",
                "INSERT INTO lists (id, owner, name) VALUES ('e', 'o', 'n')",
                "ALTER TABLE lists RENAME COLUMN name TO owner, RENAME COLUMN owner TO name"
            ),
            Change("another order", "ALTER TABLE lists MODIFY name VARCHAR(100) AFTER id"),
            Change("another type", "ALTER TABLE lists MODIFY number VARCHAR(20)"),
            Change(
                "another type with rows",
                "ALTER TABLE lists MODIFY number BIGINT",
                "INSERT INTO lists (id, number) VALUES ('e', 5000000000)"
            ),
            Change("gone", "DROP TABLE lists"),
            Change(
                "made again",
                "DROP TABLE lists",
                "CREATE TABLE lists (id VARCHAR(36) PRIMARY KEY, name VARCHAR(100))",
                "INSERT INTO lists VALUES ('m', 'made')"
            ),
            Change(
                "made again as it was",
                "DROP TABLE lists",
                "CREATE TABLE lists (id VARCHAR(36) PRIMARY KEY, owner VARCHAR(100), name VARCHAR(100), number INT)",
                "INSERT INTO lists (id) VALUES ('n')"
            ),
            Change("renamed away", "RENAME TABLE lists TO other"),
            Change("renamed into its place", copies: 1, "RENAME TABLE lists TO old, spare TO lists"),
            Change(
                "renamed away, rows, and back",
                "RENAME TABLE lists TO old",
                "INSERT INTO old (id) VALUES ('r')",
                "DELETE FROM old WHERE id = 'a'",
                "RENAME TABLE old TO lists"
            ),
            Change("emptied", copies: 1, "TRUNCATE lists", "INSERT INTO lists (id) VALUES ('t')"),
            Change(
                "emptied in other words",
                copies: 1,
                "/* all */ truncate\n table `lists` -- of it",
                "INSERT INTO lists (id) VALUES ('t')"
            ),
            Change(
                "emptied twice",
                copies: 2,
                "TRUNCATE lists",
                "INSERT INTO lists (id) VALUES ('t')",
                "TRUNCATE lists",
                "INSERT INTO lists (id) VALUES ('u')"
            ),
            Change(
                "emptied, with the same name in another schema",
                copies: 1,
                "CREATE DATABASE IF NOT EXISTS other_of_tests",
                "CREATE TABLE IF NOT EXISTS other_of_tests.lists (id INT)",
                "TRUNCATE lists",
                "TRUNCATE other_of_tests.lists",
                "INSERT INTO lists (id) VALUES ('v')"
            ),
            Change(
                "another key",
                "ALTER TABLE lists DROP PRIMARY KEY, ADD PRIMARY KEY (id, number)",
                "DELETE FROM lists WHERE id = 'b'"
            ),
            Change(
                "no key",
                "ALTER TABLE lists DROP PRIMARY KEY",
                "UPDATE lists SET name = 'other' WHERE id = 'a'",
                "DELETE FROM lists WHERE id = 'b'"
            ),
            Change("rewritten as it is", copies: 2, "OPTIMIZE TABLE lists", "ALTER TABLE lists ENGINE = InnoDB"),
            Change(
                "indexes and comments",
                copies: 0,
                "ALTER TABLE lists ADD INDEX (name), COMMENT 'DROP TABLE lists'",
                "ANALYZE TABLE lists"
            ),
            Change(
                "a new table",
                "CREATE TABLE part_1 (id VARCHAR(10) PRIMARY KEY)",
                "INSERT INTO part_1 VALUES ('p')"
            ),
            Change("a new table without rows", "CREATE TABLE part_1 (id VARCHAR(10) PRIMARY KEY)"),
            Change("a new table of rows", "CREATE TABLE part_1 (PRIMARY KEY (id)) SELECT id, name FROM lists"),
            Change(
                "a new table that is gone again",
                "CREATE TABLE part_1 (id VARCHAR(10) PRIMARY KEY)",
                "INSERT INTO part_1 VALUES ('p')",
                "TRUNCATE part_1",
                "DROP TABLE part_1"
            ),
            Change(
                "names that match and names that do so no longer",
                "RENAME TABLE spare TO part_2",
                "INSERT INTO part_2 (id) VALUES ('q')",
                "CREATE TABLE part_3 LIKE part_2",
                "INSERT INTO part_3 (id) VALUES ('r')",
                "RENAME TABLE part_3 TO elsewhere"
            ),
            Change(
                "a generated column",
                "ALTER TABLE lists ADD size INT AS (CHAR_LENGTH(name)) STORED",
                "UPDATE lists SET name = 'longer' WHERE id = 'a'"
            ),
            Change(
                "partitions",
                "ALTER TABLE lists PARTITION BY KEY () PARTITIONS 3",
                "INSERT INTO lists (id) VALUES ('p'), ('q'), ('r')",
                "ALTER TABLE lists TRUNCATE PARTITION p1",
                "ALTER TABLE lists REMOVE PARTITIONING"
            ),
            Change(
                "a partition exchanged",
                "CREATE TABLE x LIKE lists",
                "INSERT INTO x (id, number) VALUES ('x', 7)",
                "ALTER TABLE lists DROP PRIMARY KEY, MODIFY number INT NOT NULL, ADD PRIMARY KEY (id, number)",
                "ALTER TABLE x DROP PRIMARY KEY, MODIFY number INT NOT NULL, ADD PRIMARY KEY (id, number)",
                "ALTER TABLE lists PARTITION BY RANGE (number) (PARTITION low VALUES LESS THAN (10), PARTITION rest VALUES LESS THAN MAXVALUE)",
                "ALTER TABLE lists EXCHANGE PARTITION low WITH TABLE x"
            ),
            Change(
                "a partition exchanged, rows, and back",
                "CREATE TABLE x LIKE lists",
                "ALTER TABLE lists DROP PRIMARY KEY, MODIFY number INT NOT NULL, ADD PRIMARY KEY (id, number)",
                "ALTER TABLE x DROP PRIMARY KEY, MODIFY number INT NOT NULL, ADD PRIMARY KEY (id, number)",
                "ALTER TABLE lists PARTITION BY RANGE (number) (PARTITION low VALUES LESS THAN (10), PARTITION rest VALUES LESS THAN MAXVALUE)",
                "ALTER TABLE lists EXCHANGE PARTITION low WITH TABLE x",
                "DELETE FROM x WHERE id = 'a'",
                "INSERT INTO x (id, number) VALUES ('y', 8)",
                "ALTER TABLE lists EXCHANGE PARTITION low WITH TABLE x"
            ),
            Change(
                "partitions added and dropped",
                "ALTER TABLE lists DROP PRIMARY KEY, MODIFY number INT NOT NULL, ADD PRIMARY KEY (id, number)",
                "ALTER TABLE lists PARTITION BY RANGE (number) (PARTITION low VALUES LESS THAN (2), PARTITION middle VALUES LESS THAN (10))",
                "ALTER TABLE lists ADD PARTITION (PARTITION high VALUES LESS THAN (100))",
                "INSERT INTO lists (id, number) VALUES ('h', 50)",
                "ALTER TABLE lists DROP PARTITION low"
            ),
            Change(
                "as gh-ost does it",
                copies: 1,
                "CREATE TABLE _lists_gho LIKE lists",
                "ALTER TABLE _lists_gho ADD color TEXT",
                "INSERT INTO _lists_gho (id, owner, name, number) SELECT * FROM lists",
                "RENAME TABLE lists TO _lists_del, _lists_gho TO lists",
                "DROP TABLE _lists_del"
            ),
            Change(
                "as pt-online-schema-change does it",
                copies: 1,
                "CREATE TABLE _lists_new LIKE lists",
                "ALTER TABLE _lists_new ADD color TEXT",
                "CREATE TRIGGER pt_osc_del AFTER DELETE ON lists FOR EACH ROW DELETE IGNORE FROM _lists_new WHERE id <=> OLD.id",
                """
                CREATE TRIGGER pt_osc_upd AFTER UPDATE ON lists FOR EACH ROW
                    REPLACE INTO _lists_new (id, owner, name, number) VALUES (NEW.id, NEW.owner, NEW.name, NEW.number)
                """,
                """
                CREATE TRIGGER pt_osc_ins AFTER INSERT ON lists FOR EACH ROW
                    REPLACE INTO _lists_new (id, owner, name, number) VALUES (NEW.id, NEW.owner, NEW.name, NEW.number)
                """,
                "INSERT LOW_PRIORITY IGNORE INTO _lists_new (id, owner, name, number) SELECT * FROM lists LOCK IN SHARE MODE",
                "UPDATE lists SET name = 'meanwhile' WHERE id = 'a'",
                "ANALYZE TABLE _lists_new",
                "RENAME TABLE lists TO _lists_old, _lists_new TO lists",
                "DROP TABLE IF EXISTS _lists_old"
            ),
            Change(
                "a name in a statement of another schema",
                copies: 0,
                "CREATE DATABASE IF NOT EXISTS other_of_tests",
                "CREATE TABLE IF NOT EXISTS other_of_tests.lists (id INT)",
                "TRUNCATE other_of_tests.lists"
            ),
            Change(
                "a schema of a dump",
                copies: 0,
                "/*!40000 ALTER TABLE lists DISABLE KEYS */",
                "INSERT INTO lists (id) VALUES ('d1'), ('d2')",
                "/*!40000 ALTER TABLE lists ENABLE KEYS */"
            ),
        ]
    }

    private func scenario(as account: TestAccount? = nil) async throws -> MySQLScenario {
        let scenario = try await MySQLScenario(
            [
                "CREATE TABLE lists (id VARCHAR(36) PRIMARY KEY, owner VARCHAR(100), name VARCHAR(100), number INT)",
                "INSERT INTO lists VALUES ('a', 'o', 'one', 1), ('b', 'p', 'two', 2)",
                "CREATE TABLE spare (id VARCHAR(36) PRIMARY KEY, owner VARCHAR(100), name VARCHAR(100), number INT)",
                "INSERT INTO spare VALUES ('s', 'o', 'spare', 3)",
            ],
            config: Self.config,
            connection: { if let account { $0 = account.settings(database: $0.database) } }
        )
        try await account?.grantReplication(of: scenario.database)
        return scenario
    }

    @Test(arguments: Change.all)
    func whileTheyAreReplicated(_ change: Change) async throws {
        let scenario = try await scenario()
        try await scenario.replicating {
            try await scenario.caughtUp()
            for sql in change.sql { try await scenario.database.run(sql) }
            try await scenario.caughtUp()
        }
        if let most = change.copies { #expect(Self.copies(scenario) <= 1 + most) }
        #expect(!scenario.log.lines.contains { $0.hasPrefix("error ") })
        try await scenario.expectSameRowsAsAFreshCopy()
    }

    /// How often the table was copied, the first time included.
    private static func copies(_ scenario: MySQLScenario) -> Int {
        scenario.log.lines.count { $0.contains("has been copied") && $0.contains("lists") }
    }

    @Test(arguments: Change.all)
    func whileTheyAreReplicatedWithChangesBeforeAndAfter(_ change: Change) async throws {
        let scenario = try await scenario()
        try await scenario.replicating {
            try await scenario.caughtUp()
            try await scenario.database.run("UPDATE lists SET name = CONCAT('before ', id)")
            try await scenario.database.run("INSERT INTO lists VALUES ('c', 'o', 'before', 4)")
            for sql in change.sql { try await scenario.database.run(sql) }
            // Of those that are still there and like that.
            _ = try? await scenario.database.run("INSERT INTO lists (id) VALUES ('f')")
            _ = try? await scenario.database.run("UPDATE lists SET name = 'after' WHERE id = 'a'")
            try await scenario.caughtUp()
        }
        try await scenario.expectSameRowsAsAFreshCopy()
    }

    @Test(arguments: Change.all)
    func whileTheyAreNotReplicated(_ change: Change) async throws {
        var scenario = try await scenario()
        try await scenario.replicate()
        scenario = try scenario.reopened()
        try await scenario.database.run("UPDATE lists SET name = CONCAT('before ', id)")
        try await scenario.database.run("INSERT INTO lists VALUES ('c', 'o', 'before', 4)")
        for sql in change.sql { try await scenario.database.run(sql) }
        _ = try? await scenario.database.run("UPDATE lists SET name = 'after' WHERE id = 'a'")
        try await scenario.replicate()
        // Whatever was done, what is there at the start is copied once.
        #expect(Self.copies(scenario) <= 1 + min(1, change.copies ?? 1))
        #expect(!scenario.log.lines.contains { $0.hasPrefix("error ") })
        try await scenario.expectSameRowsAsAFreshCopy()
    }

    /// A table that has taken the place of another one is not copied again when the service starts.
    @Test func aTableInThePlaceOfAnotherIsCopiedOnce() async throws {
        // The server's file names, by which its tables are told, have these characters in an encoding of their own.
        let columns = "(id VARCHAR(36) PRIMARY KEY, name VARCHAR(100))"
        var scenario = try await MySQLScenario(
            [
                "CREATE TABLE `Ünï-x.y` \(columns)", "INSERT INTO `Ünï-x.y` VALUES ('a', 'one')",
                "CREATE TABLE spare \(columns)", "INSERT INTO spare VALUES ('b', 'two')",
            ],
            config: MySQLScenario.all(#""Ünï-x.y" AS lists"#)
        )
        func copies(_ scenario: MySQLScenario) -> Int { scenario.log.lines.count { $0.contains("has been copied") } }
        try await scenario.replicating { [scenario] in
            try await scenario.caughtUp()
            #expect(try await scenario.ids() == ["a"])
            try await scenario.database.run("RENAME TABLE `Ünï-x.y` TO old, spare TO `Ünï-x.y`")
            try await scenario.caughtUp()
            #expect(try await scenario.ids() == ["b"])
        }
        #expect(copies(scenario) == 2)
        scenario = try scenario.reopened()
        try await scenario.database.run("INSERT INTO `Ünï-x.y` VALUES ('c', 'three')")
        try await scenario.replicate()
        #expect(try await scenario.ids() == ["b", "c"])
        #expect(copies(scenario) == 2)
    }

    /// Without the privilege `PROCESS`, the catalogue does not tell that rows were written anew.
    @Test(arguments: Change.all)
    func whileTheyAreReplicatedWithoutPROCESS(_ change: Change) async throws {
        let scenario = try await scenario(as: TestAccount(password: "p"))
        try await scenario.replicating {
            try await scenario.caughtUp()
            try await scenario.database.run("INSERT INTO lists VALUES ('c', 'o', 'before', 4)")
            for sql in change.sql { try await scenario.database.run(sql) }
            try await scenario.caughtUp()
        }
        if change.testDescription.hasPrefix("emptied") { #expect(Self.copies(scenario) == 1) }
        try await scenario.expectSameRowsAsAFreshCopy()
    }

    @Test(arguments: Change.all)
    func whileTheyAreNotReplicatedWithoutPROCESS(_ change: Change) async throws {
        var scenario = try await scenario(as: TestAccount(password: "p"))
        try await scenario.replicate()
        scenario = try scenario.reopened()
        try await scenario.database.run("INSERT INTO lists VALUES ('c', 'o', 'before', 4)")
        for sql in change.sql { try await scenario.database.run(sql) }
        try await scenario.replicate()
        if change.testDescription.hasPrefix("emptied") { #expect(Self.copies(scenario) == 1) }
        try await scenario.expectSameRowsAsAFreshCopy()
    }

    // MARK: What the configuration leaves alone

    /// With `copy_after_alter: false`, nothing is copied while tables are replicated, and a warning names table and columns.
    @Test func rowsKeepWhatTheyHadWhenNoALTERIsFollowed() async throws {
        let scenario = try await MySQLScenario(
            [
                "CREATE TABLE lists (id VARCHAR(36) PRIMARY KEY, owner VARCHAR(100), name VARCHAR(100), number INT)",
                "INSERT INTO lists VALUES ('a', 'o', 'one', 1), ('b', 'p', 'two', 2)",
            ],
            settings: { $0.copiesAfterAlter = false }
        )
        @Sendable func warning(_ column: String) async throws {
            _ = try await scenario.log.line(containing: "copy_after_alter)", "column=\(column)", "lists")
        }
        try await scenario.replicating {
            try await scenario.caughtUp()
            // At each start, too.
            #expect(scenario.log.lines.contains { $0.contains("copy_after_alter is false") })
            try await scenario.database.run("ALTER TABLE lists ADD color VARCHAR(10) DEFAULT 'red'")
            try await warning("color")
            try await scenario.database.run("UPDATE lists SET number = 3 WHERE id = 'b'")
            try await scenario.caughtUp()
            #expect(try await scenario.rows()["lists/a"]?.contains("red") == false)
            #expect(try await scenario.rows()["lists/b"]?.contains(#""color":"red""#) == true)
            try await scenario.database.run("ALTER TABLE lists MODIFY number VARCHAR(20)")
            try await warning("number")
            try await scenario.database.run("UPDATE lists SET owner = 'q' WHERE id = 'b'")
            try await scenario.caughtUp()
            #expect(try await scenario.rows()["lists/a"]?.contains(#""number":1"#) == true)
            #expect(try await scenario.rows()["lists/b"]?.contains(#""number":"3""#) == true)
            try await scenario.database.run("ALTER TABLE lists DROP name")
            try await warning("name")
            try await scenario.database.run("UPDATE lists SET owner = 'r' WHERE id = 'b'")
            try await scenario.caughtUp()
            #expect(try await scenario.rows()["lists/a"]?.contains(#""name":"one""#) == true)
            #expect(try await scenario.rows()["lists/b"]?.contains(#""name""#) == false)
            // Of indexes and comments there is nothing to say.
            try await scenario.database.run("ALTER TABLE lists ADD INDEX (number), COMMENT 'x'")
            try await scenario.caughtUp()
        }
        #expect(scenario.log.lines.count { $0.contains("has been copied") } == 1)
        #expect(scenario.log.lines.count { $0.contains("copy_after_alter)") } == 3)
    }

    // MARK: What costs nothing

    static let narrow = """
        config:
          edition: 3
        streams:
          all:
            query: SELECT id, name FROM lists
        """

    @Test(arguments: [
        ["ALTER TABLE lists ADD unread INT DEFAULT 7"], ["ALTER TABLE lists ADD unread INT FIRST"],
        ["ALTER TABLE lists DROP owner"],
        ["ALTER TABLE lists ADD INDEX (name)", "ALTER TABLE lists COMMENT 'x'", "ANALYZE TABLE lists"],
        ["ALTER TABLE lists DROP owner", "ALTER TABLE lists ADD owner TEXT"],
        ["ALTER TABLE lists RENAME COLUMN owner TO holder", "ALTER TABLE lists ADD unread TEXT AFTER id"],
    ])
    func columnsThatNoStreamReadsCostNothing(_ sql: [String]) async throws {
        let scenario = try await MySQLScenario(
            [
                "CREATE TABLE lists (id VARCHAR(36) PRIMARY KEY, owner VARCHAR(100), name VARCHAR(100), number INT)",
                "INSERT INTO lists VALUES ('a', 'o', 'one', 1), ('b', 'p', 'two', 2)",
            ],
            config: Self.narrow
        )
        try await scenario.replicating {
            try await scenario.caughtUp()
            for statement in sql {
                try await scenario.database.run(statement)
                try await scenario.caughtUp()
                try await scenario.database.run("UPDATE lists SET name = CONCAT(name, '!') WHERE id = 'a'")
                try await scenario.database.run("INSERT INTO lists (id, name) VALUES (UUID(), 'new')")
                try await scenario.caughtUp()
            }
        }
        #expect(scenario.log.lines.count { $0.contains("has been copied") } == 1)
        #expect(!scenario.log.lines.contains { $0.contains("A table of the source is copied again") })
        try await scenario.expectSameRowsAsAFreshCopy(of: "lists")
    }
}

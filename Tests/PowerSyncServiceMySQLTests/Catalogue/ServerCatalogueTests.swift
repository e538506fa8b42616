import MySQLTestSupport
import PowerSyncMySQLConnection
import PowerSyncProtocol
import PowerSyncServiceCore
import PowerSyncSyncConfig
import Testing

@testable import PowerSyncServiceMySQL

/// What the catalogue of a real server says (docs/mysql.md "Changed tables").
@Suite(.timeLimit(.minutes(2))) struct ServerCatalogueTests {
    /// Reads what a database has for a plan, as the tests' account or another one.
    private static func catalogue(
        _ database: TestMySQLDatabase,
        reading tables: [String] = ["%"],
        as account: TestAccount? = nil
    ) async throws -> MySQLCatalogue {
        var plan = try plan(reading: tables)
        plan.defaultSchema = database.name
        let settings = MySQLSettings(host: "", database: database.name, username: "", password: "")
        let connection = try await open(database, as: account)
        defer { connection.close() }
        return try await MySQLCatalogue.read(for: plan, settings, connection)
    }

    private static func open(
        _ database: TestMySQLDatabase,
        as account: TestAccount?
    ) async throws -> MySQLConnection {
        guard let account else { return try await database.open() }
        var settings = account.settings()
        settings.database = database.name
        return try await MySQLConnection.open(settings, logger: TestMySQL.logger)
    }

    /// What decides about the rows of the table: its form, and its columns.
    private static func form(
        _ database: TestMySQLDatabase,
        as account: TestAccount? = nil
    ) async throws -> [String: String] {
        let catalogue = try await catalogue(database, as: account)
        let table = try #require(catalogue.tables.first { $0.name.name == "t" })
        let columns = table.descriptor(SourceValueOptions()).columns.map { ("column \($0)", $1) }
        return table.form.merging(columns) { _, column in column }
    }

    private static let declaration =
        "CREATE TABLE t (id INT PRIMARY KEY, a INT, b VARCHAR(10) COMMENT 'x', KEY (a)) ENGINE = InnoDB"

    // MARK: Rewritten rows

    @Test(arguments: [
        "ALTER TABLE t ADD INDEX other (b)", "ALTER TABLE t COMMENT = 'y'", "ALTER TABLE t AUTO_INCREMENT = 100",
        "ANALYZE TABLE t", "INSERT INTO t (id) VALUES (1)", "ALTER TABLE t DROP INDEX a",
    ])
    func whatLeavesRowsAsTheyAreLeavesTheTableAsItIs(_ statement: String) async throws {
        let database = try await TestMySQLDatabase(Self.declaration)
        let before = try await Self.form(database)
        try await database.run(statement)
        #expect(try await Self.form(database) == before)
    }

    @Test(arguments: [
        "TRUNCATE TABLE t", "OPTIMIZE TABLE t", "ALTER TABLE t ENGINE = InnoDB", "ALTER TABLE t MODIFY a BIGINT",
        "ALTER TABLE t ADD COLUMN c INT DEFAULT 7", "ALTER TABLE t DROP COLUMN b", "ALTER TABLE t RENAME COLUMN a TO z",
        "ALTER TABLE t MODIFY a INT AFTER b", "ALTER TABLE t DROP PRIMARY KEY, ADD PRIMARY KEY (id, a)",
    ])
    func whatChangesRowsMakesAnotherTable(_ statement: String) async throws {
        let database = try await TestMySQLDatabase(Self.declaration)
        let before = try await Self.form(database)
        try await database.run(statement)
        #expect(try await Self.form(database) != before)
    }

    @Test func aTableThatWasMadeAgainIsAnotherOne() async throws {
        let database = try await TestMySQLDatabase(Self.declaration)
        let before = try await Self.form(database)
        try await database.run("DROP TABLE t")
        try await database.run(Self.declaration)
        #expect(try await Self.form(database) != before)
    }

    @Test func tablesThatExchangeTheirNamesExchangeTheirForms() async throws {
        let database = try await TestMySQLDatabase(
            "CREATE TABLE `Ünï-x.y` (id INT PRIMARY KEY)",
            "CREATE TABLE other (id INT PRIMARY KEY)"
        )
        func forms() async throws -> [String: [String: String]] {
            let tables = try await Self.catalogue(database).tables
            #expect(tables.allSatisfy { $0.hasIncarnation })
            return Dictionary(tables.map { ($0.name.name, $0.form) }) { $1 }
        }
        let before = try await forms()
        try await database.run("RENAME TABLE `Ünï-x.y` TO swap, other TO `Ünï-x.y`, swap TO other")
        let after = try await forms()
        #expect(before["Ünï-x.y"] == after["other"] && before["other"] == after["Ünï-x.y"])
        #expect(before["other"] != after["other"])
    }

    @Test func anEmptiedPartitionMakesAnotherTable() async throws {
        let database = try await TestMySQLDatabase(
            "CREATE TABLE t (id INT PRIMARY KEY) PARTITION BY RANGE (id) (PARTITION p0 VALUES LESS THAN (10), "
                + "PARTITION `p#1` VALUES LESS THAN (20))"
        )
        let before = try await Self.form(database)
        #expect(before["rewritten rows"]?.split(separator: ",").count == 2)
        try await database.run("ALTER TABLE t TRUNCATE PARTITION `p#1`")
        #expect(try await Self.form(database) != before)
    }

    // MARK: Identity

    @Test func keysOfAServerAreTheIdentity() async throws {
        let database = try await TestMySQLDatabase(
            "CREATE TABLE a (x INT, y INT, PRIMARY KEY (y, x))",
            "CREATE TABLE b (x INT NOT NULL, y INT, UNIQUE KEY u (y), UNIQUE KEY v (x))",
            "CREATE TABLE c (x INT, y INT)",
            "CREATE TABLE d (x VARCHAR(100), PRIMARY KEY (x(20)))",
            "CREATE TABLE e (x INT, s INT GENERATED ALWAYS AS (x + 1) STORED, v INT AS (x + 2) VIRTUAL, UNIQUE KEY (s))"
        )
        let tables = try await Self.catalogue(database).tables
        #expect(tables.map(\.name.name) == ["a", "b", "c", "d", "e"])
        #expect(tables.map(\.key) == [.primary, .unique("v"), .none, .primary, .none])
        #expect(tables.map { $0.identity.map(\.name) } == [["y", "x"], ["x"], ["x", "y"], ["x"], ["x"]])
        #expect(tables.map { $0.copyKey != nil } == [true, true, false, false, false])
        #expect(tables[4].columns.map(\.generation) == [nil, .stored, .virtual])
    }

    /// MySQL makes one of its own, which it may hide; MariaDB does not.
    @Test func theInvisibleKeyOfMySQLIsTheIdentity() async throws {
        guard TestMySQL.isMySQL else { return }
        let database = try await TestMySQLDatabase()
        try await database.run(["SET SESSION sql_generate_invisible_primary_key = ON", "CREATE TABLE t (a INT)"])
        var plan = try plan(reading: ["t"])
        plan.defaultSchema = database.name
        let settings = MySQLSettings(host: "", database: database.name, username: "", password: "")
        let connection = try await database.open()
        defer { connection.close() }
        try await connection.execute("SET SESSION show_gipk_in_create_table_and_information_schema = OFF")
        let table = try #require(try await MySQLCatalogue.read(for: plan, settings, connection).tables.first)
        #expect(table.identity.map(\.name) == ["my_row_id"])
        #expect(table.columns.map(\.name) == ["my_row_id", "a"])
    }

    @Test func whatIsNoOrdinaryTableIsLeftOut() async throws {
        let database = try await TestMySQLDatabase(
            "CREATE TABLE memory (id INT PRIMARY KEY) ENGINE = MEMORY",
            "CREATE TABLE t (id INT PRIMARY KEY)",
            "CREATE VIEW view AS SELECT * FROM t"
        )
        if !TestMySQL.isMySQL {
            try await database.run("CREATE TABLE versioned (id INT PRIMARY KEY) WITH SYSTEM VERSIONING")
            try await database.run("CREATE SEQUENCE numbers")
        }
        let catalogue = try await Self.catalogue(database)
        #expect(catalogue.tables.map(\.name.name) == ["memory", "t"])
        let left = catalogue.findings.filter(\.leavesTableOut).compactMap(\.place.table?.name).sorted()
        #expect(left == (TestMySQL.isMySQL ? ["view"] : ["numbers", "versioned", "view"]))
        #expect(catalogue.findings.contains { $0.place.table?.name == "memory" && !$0.leavesTableOut })
    }

    @Test func namesWithSignsAreFound() async throws {
        let names = ["with`tick", "a-b", "a.b", "select", "100%", "a_b", "back\\slash", "it's"]
        let database = try await TestMySQLDatabase()
        for name in names { try await database.run("CREATE TABLE \(MySQLText.identifier(name)) (id INT PRIMARY KEY)") }
        try await database.run("CREATE TABLE axb (id INT PRIMARY KEY)")
        let all = try await Self.catalogue(database).tables
        #expect(Set(all.map(\.name.name)) == Set(names + ["axb"]))
        #expect(all.allSatisfy { $0.hasIncarnation })
        // `_` in a pattern is no sign of LIKE.
        #expect(try await Self.catalogue(database, reading: ["a_%"]).tables.map(\.name.name) == ["a_b"])
    }

    // MARK: Foreign keys

    private static let family = [
        "CREATE TABLE lists (id INT PRIMARY KEY, code INT UNIQUE)",
        "CREATE TABLE todos (id INT PRIMARY KEY, list INT, FOREIGN KEY (list) REFERENCES lists (id) ON DELETE CASCADE)",
        "CREATE TABLE notes (id INT PRIMARY KEY, list INT, FOREIGN KEY (list) REFERENCES lists (code) ON UPDATE SET NULL)",
        "CREATE TABLE tags (id INT PRIMARY KEY, list INT, FOREIGN KEY (list) REFERENCES lists (id))",
    ]

    @Test func keysThatChangeRowsAreFollowedToTheirParents() async throws {
        let database = try await TestMySQLDatabase()
        for statement in Self.family { try await database.run(statement) }
        let catalogue = try await Self.catalogue(database, reading: ["todos", "notes", "tags"])
        #expect(catalogue.cascades.map(\.child.name) == ["notes", "todos"])
        #expect(catalogue.cascades.map(\.parentColumns) == [["code"], ["id"]])
        #expect(catalogue.cascades.map(\.followsDeletes) == [false, true])
        #expect(catalogue.cascades.map(\.followsUpdates) == [true, false])
        #expect(catalogue.ancestors.map(\.name.name) == ["lists"])
        #expect(catalogue.logsCascades == TestMySQL.isMySQL)
    }

    /// MariaDB shows the rules of keys to accounts that may write only; the service's may read.
    @Test func anAccountThatMayReadSeesTheRules() async throws {
        let database = try await TestMySQLDatabase()
        for statement in Self.family { try await database.run(statement) }
        let account = try await TestAccount(password: "p")
        try await database.run("GRANT SELECT ON \(database.name).* TO '\(account.name)'@'%'")
        let catalogue = try await Self.catalogue(database, reading: ["todos", "notes", "tags"], as: account)
        #expect(catalogue.cascades.map(\.child.name) == ["notes", "todos"])
        #expect(catalogue.cascades.map(\.followsDeletes) == [false, true])
        #expect(!catalogue.tables.contains { $0.hasIncarnation })
    }

    @Test func aParentThatTheAccountMayNotReadIsAnErrorWithItsGrant() async throws {
        let database = try await TestMySQLDatabase()
        for statement in Self.family { try await database.run(statement) }
        let account = try await TestAccount(password: "p")
        try await database.run("GRANT SELECT ON \(database.name).todos TO '\(account.name)'@'%'")
        let catalogue = try await Self.catalogue(database, reading: ["todos"], as: account)
        #expect(catalogue.tables.map(\.name.name) == ["todos"])
        let error = catalogue.findings.first { $0.severity == .error }
        if catalogue.logsCascades {
            #expect(error == nil)
        } else {
            #expect(error?.code?.rawValue == "PSYNC_S1207")
            #expect(error?.remedy == "GRANT SELECT ON `\(database.name)`.`lists` TO '\(account.name)'@'%';")
        }
    }

    // MARK: Checks

    private static func findings(
        _ database: TestMySQLDatabase,
        _ tables: [String],
        as account: TestAccount?
    ) async throws -> [Finding] {
        var plan = try plan(reading: tables)
        plan.defaultSchema = database.name
        let settings = MySQLSettings(host: "", database: database.name, username: "", password: "")
        let connection = try await open(database, as: account)
        defer { connection.close() }
        return try await MySQLCheck.findings(settings, on: connection, plan: plan)
    }

    @Test func theServerOfTheTestsCanBeReplicated() async throws {
        let database = try await TestMySQLDatabase(Self.declaration)
        #expect(try await Self.findings(database, ["t"], as: nil).filter { $0.severity == .error } == [])
        let missing = try await Self.findings(database, ["t", "nowhere"], as: nil)
        #expect(missing.contains { $0.message.contains("nowhere, and the server has no such table") })
    }

    @Test func eachPrivilegeThatIsMissingHasItsGrant() async throws {
        let database = try await TestMySQLDatabase(Self.declaration)
        let account = try await TestAccount(password: "p")
        let user = "'\(account.name)'@'%'"
        func grants() async throws -> Set<String> {
            Set(
                try await Self.findings(database, ["t"], as: account).compactMap(\.remedy).filter {
                    $0.hasSuffix("\(user);")
                }
            )
        }
        let log = TestMySQL.isMySQL ? "REPLICATION CLIENT" : "BINLOG MONITOR"
        try await database.run("GRANT SELECT ON \(database.name).* TO \(user)")
        var missing: Set = [
            "GRANT \(log) ON *.* TO \(user);", "GRANT REPLICATION SLAVE ON *.* TO \(user);",
            "GRANT PROCESS ON *.* TO \(user);",
        ]
        #expect(try await grants() == missing)
        try await database.run("GRANT REPLICATION SLAVE, PROCESS ON *.* TO \(user)")
        missing = ["GRANT \(log) ON *.* TO \(user);"]
        #expect(try await grants() == missing)
        try await database.run("GRANT \(log) ON *.* TO \(user)")
        missing = TestMySQL.isMySQL ? [] : ["GRANT SLAVE MONITOR ON *.* TO \(user);"]
        #expect(try await grants() == missing)
        guard !TestMySQL.isMySQL else { return }
        try await database.run("GRANT SLAVE MONITOR ON *.* TO \(user)")
        #expect(try await grants() == [])
    }
}

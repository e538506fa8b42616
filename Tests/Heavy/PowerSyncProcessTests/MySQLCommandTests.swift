import Foundation
import MySQLTestSupport
import TestSupport
import Testing

/// Commands that read a MySQL or MariaDB database once: `test-connection`, `validate`, `generate swift` (docs/mysql.md).
@Suite(.timeLimit(.minutes(3))) struct MySQLCommandTests {
    private static let tables = [
        "CREATE TABLE lists (id CHAR(36) PRIMARY KEY, owner VARCHAR(40) NOT NULL)",
        """
        CREATE TABLE items (
            id BIGINT AUTO_INCREMENT PRIMARY KEY, list_id CHAR(36) NOT NULL, title VARCHAR(200) NOT NULL, position INT NOT NULL,
            done BOOLEAN NOT NULL, made_at DATETIME(3) NOT NULL, due TIMESTAMP NULL, day DATE, price DECIMAL(10, 2), weight DOUBLE,
            state ENUM('new', 'done') NOT NULL, tags SET('a', 'b'), year YEAR, span TIME, photo MEDIUMBLOB,
            label VARCHAR(210) GENERATED ALWAYS AS (CONCAT(title, '!')) STORED
        )
        """,
        "INSERT INTO lists VALUES ('l1', 'u1'), ('l2', 'u2'), ('l3', 'u1')",
        """
        INSERT INTO items (list_id, title, position, done, made_at, state)
        VALUES ('l1', 'one', 1, 0, NOW(3), 'new'), ('l1', 'two', 2, 1, NOW(3), 'done'), ('l2', 'three', 1, 0, NOW(3), 'new')
        """,
    ]
    private static let syncConfig = """
        config: {edition: 3}
        streams:
          lists: {auto_subscribe: true, query: SELECT * FROM lists WHERE owner = auth.user_id()}
          items:
            auto_subscribe: true
            query: SELECT * FROM items WHERE list_id IN (SELECT id FROM lists WHERE owner = auth.user_id())
        """

    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
        try write("sync.yaml", Self.syncConfig)
        try write(
            "powersync.yaml",
            """
            replication: {connections: [{type: mysql, uri: !env PS_URI, sslmode: disable}]}
            storage: {type: sqlite, path: buckets.db}
            sync_config: {path: sync.yaml}
            client_auth: {audience: [a], jwks: {keys: [{kty: oct, alg: HS256, kid: k, k: c2VjcmV0LXNlY3JldC1zZWNyZXQtc2VjcmV0LTMy}]}}
            """
        )
    }

    private func write(_ name: String, _ text: String) throws {
        try text.write(toFile: folder.path(name), atomically: true, encoding: .utf8)
    }

    private func run(_ arguments: String..., uri: String = "") async throws -> CommandRun {
        try await CommandRun(arguments, in: folder, environment: ["PS_URI": uri])
    }

    private func uri(_ database: TestMySQLDatabase) -> String { "\(database.uri)?sslmode=disable" }

    // MARK: test-connection

    @Test func aServerIsCheckedWithAnExitCodeForEachOutcome() async throws {
        let database = try await TestMySQLDatabase(Self.tables)
        let good = try await run("test-connection", uri: database.uri)
        #expect(good.status == 0, "\(good)")
        #expect(good.text.contains("MySQL \(database.name) at 127.0.0.1:"))
        #expect(good.text.contains("The source can be replicated"))
        // Nothing of the storage was made.
        #expect(!FileManager.default.fileExists(atPath: folder.path("buckets.db")))

        let account = try await TestAccount(password: "p")
        try await database.run("GRANT SELECT ON \(database.name).* TO '\(account.name)'@'%'")
        let poorURI = "mysql://\(account.name):p@127.0.0.1:\(database.server.port)/\(database.name)"
        let poor = try await run("test-connection", "--format", "json", uri: poorURI)
        #expect(poor.status == 1, "\(poor)")
        let object = try JSONSerialization.jsonObject(with: Data(poor.text.utf8)) as? [String: Any]
        #expect(object?["isReachable"] as? Bool == true)
        #expect(object?["canReplicate"] as? Bool == false)
        let remedies = (object?["findings"] as? [[String: Any]])?.compactMap { $0["remedy"] as? String } ?? []
        #expect(remedies.contains("GRANT REPLICATION SLAVE ON *.* TO '\(account.name)'@'%';"), "\(remedies)")

        let wrong = try await run("test-connection", uri: poorURI.replacing(":p@", with: ":hunter2@"))
        #expect(wrong.status == 2, "\(wrong)")
        #expect(wrong.text.contains("Check username and password"))
        #expect(wrong.text.hasSuffix("There is no connection."))
        #expect(!(wrong.text + wrong.errors).contains("hunter2"))
    }

    // MARK: validate

    @Test func aUserGetsWhatTheServiceWouldSend() async throws {
        let database = try await TestMySQLDatabase(Self.tables)
        let output = try await run("validate", "sync.yaml", "--source", uri(database), "--as", "u1")
        #expect(output.status == 0, "\(output)")
        #expect(output.text.contains("u1: 3 buckets, 4 rows"), "\(output)")
        #expect(output.text.contains("  lists: 2") && output.text.contains("  items: 2"), "\(output)")
        // The tables are the schema, too.
        try write("other.yaml", "config: {edition: 3}\nstreams: {a: {query: SELECT * FROM nowhere}}")
        let other = try await run("validate", "other.yaml", "--source", uri(database))
        #expect(other.text.contains("[schema.table_missing]"), "\(other)")
    }

    /// `--schema` takes the statements that make the tables, as a dump has them.
    @Test func theStatementsOfADumpAreTheSameSchema() async throws {
        let database = try await TestMySQLDatabase(Self.tables)
        var dump = "/*!40101 SET NAMES utf8mb4 */;\n"
        for table in ["items", "lists"] {
            let made = try #require(try await database.run("SHOW CREATE TABLE \(table)").first?.last ?? nil)
            dump += "DROP TABLE IF EXISTS `\(table)`;\n\(made);\n"
        }
        try write("schema.sql", dump)
        let valid = try await run("validate", "sync.yaml", "--schema", "schema.sql")
        #expect(valid.status == 0, "\(valid)")
        try write("other.yaml", "config: {edition: 3}\nstreams: {a: {query: 'SELECT id, nothing FROM items'}}")
        let other = try await run("validate", "other.yaml", "--schema", "schema.sql")
        #expect(other.text.contains("nothing"), "\(other)")

        func code(_ run: CommandRun) -> [Substring] {
            run.text.split(separator: "\n").filter { !$0.hasPrefix("//") }
        }
        let fromDump = try await run("generate", "swift", "sync.yaml", "--schema", "schema.sql", "--dates")
        let fromServer = try await run("generate", "swift", "sync.yaml", "--source", uri(database), "--dates")
        #expect(fromDump.status == 0 && fromServer.status == 0, "\(fromDump) \(fromServer)")
        #expect(code(fromDump) == code(fromServer))
    }

    // MARK: generate swift

    @Test func typesAreThoseThatClientsGet() async throws {
        let database = try await TestMySQLDatabase(Self.tables)
        let output = ["--output", "SyncedFromMySQL.swift", "--namespace", "SyncedFromMySQL", "--dates"]
        let run = try await CommandRun(
            ["generate", "swift", "sync.yaml", "--source", uri(database)] + output,
            in: folder
        )
        #expect(run.status == 0, "\(run)")
        // Compiled with these tests; from another database, with another address, it is the same.
        let expected = URL(filePath: #filePath).deletingLastPathComponent().appending(
            path: "Generate/SyncedFromMySQL.swift"
        )
        let expectedText = try String(contentsOf: expected, encoding: .utf8)
        #expect(try String(contentsOfFile: folder.path("SyncedFromMySQL.swift"), encoding: .utf8) == expectedText)
    }

    @Test func aServerThatIsNotThereIsNamedWithoutThePassword() async throws {
        let address = "mysql://me:hunter2@127.0.0.1:1/app"
        for arguments in [
            ["generate", "swift", "sync.yaml", "--source", address], ["validate", "sync.yaml", "--source", address],
        ] {
            let run = try await CommandRun(arguments, in: folder)
            #expect(run.status != 0, "\(run)")
            #expect(run.errors.contains("the tables of MySQL app at 127.0.0.1:1 as me cannot be read."), "\(run)")
            #expect(run.errors.contains("Check hostname and port"))
            #expect(!run.errors.contains("127.0.0.1:1/app") && !(run.text + run.errors).contains("hunter2"), "\(run)")
        }
    }
}

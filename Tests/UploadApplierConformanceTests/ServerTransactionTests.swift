import MySQLTestSupport
import NIOConcurrencyHelpers
import PostgresNIO
import PowerSyncBackend
import PowerSyncBackendMySQL
import PowerSyncBackendPostgres
import Testing

/// Statements of the app's own in the transaction that applies a request.
@Suite(.timeLimit(.minutes(1))) struct ServerTransactionTests {
    private static let text = "it's ? \\ \" ` -- /* ü 😀"

    private static let request = UploadRequest(
        clientID: "c1",
        entries: (1...3).map { ApplierScenario.put($0, "\($0)", table: "notes") }
    )

    @Test func postgres() async throws {
        let counts = NIOLockedValueBox<[String?]>([])
        let database = try await PostgresAppDatabase(
            ApplierScenario.schema(.postgres),
            UploadApplierOptions(),
            .everything
        )
        let applier = database.applier { write, transaction in
            // What earlier writes of the request have made.
            let rows = try await transaction.query("SELECT count(*)::text FROM notes WHERE id <> \(write.entry.id)")
            counts.withLockedValue { $0.append(try? rows.first?.decode(String.self)) }
            try await transaction.execute("INSERT INTO log(what) VALUES (\(Self.text))")
            return .apply
        }
        #expect(try await applier.apply(Self.request, for: BackendUser(id: "u")) == UploadResponse(appliedThrough: 3))
        #expect(counts.withLockedValue { $0 } == ["0", "1", "2"])
        #expect(try await database.run("SELECT what FROM log") == Array(repeating: [Self.text], count: 3))
    }

    @Test func mysql() async throws {
        let counts = NIOLockedValueBox<[String?]>([])
        let database = try await MySQLAppDatabase(ApplierScenario.schema(.mysql), UploadApplierOptions(), .everything)
        let applier = database.applier { write, transaction in
            let rows = try await transaction.query(
                "SELECT COUNT(*) AS `n?`, '?' /* ? */ FROM notes WHERE id <> ? -- ?",
                [.string(write.entry.id)]
            )
            counts.withLockedValue { $0.append(rows.first?["n?"]) }
            try await transaction.execute("INSERT INTO log(what) VALUES (?)", [.string(Self.text)])
            await #expect(throws: (any Error).self) { try await transaction.query("SELECT ?", []) }
            return .apply
        }
        #expect(try await applier.apply(Self.request, for: BackendUser(id: "u")) == UploadResponse(appliedThrough: 3))
        #expect(counts.withLockedValue { $0 } == ["0", "1", "2"])
        #expect(try await database.run("SELECT what FROM log") == Array(repeating: [Self.text], count: 3))
    }

    /// The rows before the write are in one statement with a unique value that is taken, which fails when the rule reads.
    @Test(arguments: [Kind.postgres, .mysql]) func aRuleCannotHideTheErrorOfAStatement(_ kind: Kind) async throws {
        let statements =
            ApplierScenario.schema(kind) + [
                "CREATE UNIQUE INDEX names ON notes (name)", "INSERT INTO notes (id, name) VALUES ('theirs', 'n2')",
            ]
        let database: any AppDatabase
        let applier: any UploadApplier
        switch kind {
        case .postgres:
            let postgres = try await PostgresAppDatabase(statements, UploadApplierOptions(), .everything)
            database = postgres
            applier = postgres.applier { write, transaction in
                if write.entry.id == "3" { _ = try? await transaction.query("SELECT 1") }
                if write.entry.id == "4" { _ = try? await transaction.query("SELECT nothing") }
                return .apply
            }
        case .mysql, .sqlite:
            let mysql = try await MySQLAppDatabase(statements, UploadApplierOptions(), .everything)
            database = mysql
            applier = mysql.applier { write, transaction in
                if write.entry.id == "3" { _ = try? await transaction.query("SELECT 1") }
                if write.entry.id == "4" { _ = try? await transaction.query("SELECT nothing") }
                return .apply
            }
        }
        func apply(_ numbers: ClosedRange<Int64>) async throws -> UploadResponse {
            let entries = numbers.map { ApplierScenario.put($0, "\($0)", name: "n\($0)", table: "notes") }
            return try await applier.apply(UploadRequest(clientID: "c1", entries: entries), for: BackendUser(id: "u"))
        }
        let response = try await apply(1...3)
        #expect(response.appliedThrough == 1 && response.rejections.map(\.operationID) == [2])
        #expect(try await apply(3...5) == UploadResponse(appliedThrough: 3))
        #expect(try await database.run("SELECT id FROM notes ORDER BY id") == [["1"], ["3"], ["theirs"]])
    }

    /// A trigger gives a list away, whose row was read before; the account of MySQL does not see that there is one.
    @Test func triggersThatAnAccountDoesNotSeeChangeRows() async throws {
        let statements =
            ApplierScenario.schema(.mysql) + [
                "CREATE TRIGGER t AFTER INSERT ON notes FOR EACH ROW UPDATE lists SET owner_id = 'u2'",
                "INSERT INTO lists(id, owner_id, name) VALUES ('a', 'u1', 'A')",
            ]
        let database = try await MySQLAppDatabase(statements, UploadApplierOptions(), .everything)
        var settings = MySQLAppDatabase.settings(database.database.name, in: database.database.server)
        (settings.username, settings.password) = ("u\(UInt64.random(in: .min ... .max))", "secret")
        let account = "'\(settings.username)'@'%'"
        _ = try await database.run("CREATE USER \(account) IDENTIFIED BY 'secret'")
        let grants = "SELECT, INSERT, UPDATE, DELETE, CREATE"
        _ = try await database.run("GRANT \(grants) ON `\(database.database.name)`.* TO \(account)")
        let applier = MySQLUploadApplier(settings) { write, _ in
            guard write.entry.table == "lists" else { return .apply }
            return try await write.belongsToUser(by: "owner_id") ? .apply : .reject("Not yours.")
        }
        let patch = UploadEntry(operationID: 2, op: .patch, table: "lists", id: "a", data: ["name": .string("B")])
        let request = UploadRequest(clientID: "c1", entries: [ApplierScenario.put(1, "n", table: "notes"), patch])
        let response = try await applier.apply(request, for: BackendUser(id: "u1"))
        _ = try await database.run("DROP USER \(account)")
        #expect(response.appliedThrough == 1 && response.rejections.map(\.code) == [.forbidden])
    }

    /// A note that is deleted takes a row of another schema with it, which takes one of the app's.
    @Test func referencesByWayOfAnotherSchemaChangeRows() async throws {
        let rule = Rule(readsName: true) { entry, _, name in
            entry.table == "notes" || entry.metadata == name ?? "none" ? .apply : .reject("saw \(name ?? "none")")
        }
        let database = try await MySQLAppDatabase(ApplierScenario.schema(.mysql), UploadApplierOptions(), rule)
        let (app, other) = (database.database.name, "\(database.database.name)_o")
        func cascading(_ table: String, _ parent: String) -> String {
            """
            CREATE TABLE \(table) (id VARCHAR(255) PRIMARY KEY, name TEXT, parent VARCHAR(255),
              FOREIGN KEY (parent) REFERENCES \(parent)(id) ON DELETE CASCADE)
            """
        }
        for statement in [
            "CREATE DATABASE \(other) CHARACTER SET utf8mb4", cascading("\(other).b", "\(app).notes"),
            cascading("c", "\(other).b"),
            "INSERT INTO notes(id) VALUES ('note')", "INSERT INTO \(other).b VALUES ('b', '', 'note')",
            "INSERT INTO c VALUES ('c', 'old', 'b')",
        ] {
            _ = try await database.run(statement)
        }
        func patch(_ number: Int64, _ name: String, sees: String) -> UploadEntry {
            UploadEntry(
                operationID: number,
                op: .patch,
                table: "c",
                id: "c",
                data: ["name": .string(name)],
                metadata: sees
            )
        }
        let request = UploadRequest(
            clientID: "c1",
            entries: [
                patch(1, "new", sees: "old"), UploadEntry(operationID: 2, op: .delete, table: "notes", id: "note"),
                patch(3, "newer", sees: "none"),
            ]
        )
        let response = try await database.applier.apply(request, for: BackendUser(id: "u1"))
        let left = try await database.run("SELECT id FROM c")
        for statement in ["DROP TABLE c", "DROP DATABASE \(other)"] { _ = try await database.run(statement) }
        #expect(response == UploadResponse(appliedThrough: 3) && left.isEmpty, "\(response)")
    }

    @Test func triggersOfPartitionsChangeRows() async throws {
        let statements =
            ApplierScenario.schema(.postgres) + [
                "CREATE TABLE p (id TEXT PRIMARY KEY, name TEXT) PARTITION BY LIST (id)",
                "CREATE TABLE p1 PARTITION OF p DEFAULT",
                """
                CREATE FUNCTION give() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
                  UPDATE lists SET owner_id = 'u2'; RETURN NEW;
                END $$
                """,
                "CREATE TRIGGER give AFTER INSERT ON p1 FOR EACH ROW EXECUTE FUNCTION give()",
                "INSERT INTO lists(id, owner_id, name) VALUES ('a', 'u1', 'A')",
            ]
        let database = try await PostgresAppDatabase(statements, UploadApplierOptions(), .everything)
        let applier = database.applier { write, _ in
            guard write.entry.table == "lists" else { return .apply }
            return try await write.belongsToUser(by: "owner_id") ? .apply : .reject("Not yours.")
        }
        let patch = UploadEntry(operationID: 2, op: .patch, table: "lists", id: "a", data: ["name": .string("B")])
        let request = UploadRequest(clientID: "c1", entries: [ApplierScenario.put(1, "n", table: "p"), patch])
        let response = try await applier.apply(request, for: BackendUser(id: "u1"))
        #expect(response.appliedThrough == 1 && response.rejections.map(\.code) == [.forbidden])
    }

    /// A row has two names, and a rule sees what was written by the other one.
    @Test(arguments: [["p1", "p"], ["p", "p1"]])
    func partitionsHaveTheRowsOfTheirTable(_ names: [String]) async throws {
        let statements =
            ApplierScenario.schema(.postgres) + [
                "CREATE TABLE p (id TEXT PRIMARY KEY, owner_id TEXT, name TEXT) PARTITION BY LIST (id)",
                "CREATE TABLE p1 PARTITION OF p DEFAULT",
                "INSERT INTO p VALUES ('a', 'u1', 'A')",
            ]
        let database = try await PostgresAppDatabase(statements, UploadApplierOptions(), .everything)
        let applier = database.applier { write, _ in
            if write.entry.data?["owner_id"] != nil { return .apply }
            return try await write.belongsToUser(by: "owner_id") ? .apply : .reject("Not yours.")
        }
        func patch(_ number: Int64, _ table: String, _ data: [String: JsonValue]) -> UploadEntry {
            UploadEntry(operationID: number, op: .patch, table: table, id: "a", data: data)
        }
        let entries = [
            patch(1, names[1], ["name": .string("B")]), patch(2, names[0], ["owner_id": .string("u2")]),
            patch(3, names[1], ["name": .string("C")]),
        ]
        let request = UploadRequest(clientID: "c1", entries: entries)
        let response = try await applier.apply(request, for: BackendUser(id: "u1"))
        #expect(response.appliedThrough == 2 && response.rejections.map(\.code) == [.forbidden], "\(response)")
    }

    @Test func theSettingsDoNotShowThePassword() {
        let settings = MySQLServerSettings(host: "h", username: "u", password: "secret", database: "d", tls: .disabled)
        var dumped = ""
        dump(settings, to: &dumped)
        #expect("\(settings)" == "u@h:3306/d")
        #expect(!dumped.contains("secret") && !String(reflecting: settings).contains("secret"))
    }
}

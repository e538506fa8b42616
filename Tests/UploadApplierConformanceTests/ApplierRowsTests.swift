import PowerSyncBackend
import Testing

/// What becomes of writes, and which are refused.
@Suite(.timeLimit(.minutes(2))) struct ApplierRowsTests {
    private typealias Scenario = ApplierScenario

    private static func entry(
        _ op: UpdateType,
        _ table: String,
        _ id: String,
        _ data: JsonParam? = nil,
        number: Int64 = 1
    ) -> UploadEntry {
        UploadEntry(operationID: number, op: op, table: table, id: id, transactionID: 1, data: data)
    }

    @Test(arguments: Kind.allCases, ["lists", "notes"])
    func writesAreAppliedInOrder(_ kind: Kind, table: String) async throws {
        let scenario = try await Scenario(kind)
        let writes: [(UpdateType, String, JsonParam?)] = [
            (.put, "a", ["owner_id": .string("u1"), "name": .string("A"), "id": .string("ignored")]),
            (.put, "b", ["owner_id": .string("u1")]),
            (.put, "a", ["name": .string("AA")]),
            (.patch, "b", ["name": .string("B")]),
            (.patch, "missing", ["name": .string("M")]),
            (.patch, "b", [:]),
            (.put, "c", nil),
            (.put, "c", [:]),
            (.put, "d", nil),
            (.delete, "d", ["name": .string("ignored")]),
            (.delete, "missing", nil),
        ]
        let entries = writes.enumerated().map { index, write in
            Self.entry(write.0, table, write.1, write.2, number: Int64(index + 1))
        }
        #expect(try await scenario.apply(entries) == UploadResponse(appliedThrough: 11))
        #expect(try await scenario.rows(table) == ["a u1 AA", "b u1 B", "c NULL NULL"])
    }

    @Test(arguments: Kind.allCases) func aRowThatIsThereKeepsWhatIsNotGiven(_ kind: Kind) async throws {
        let text = kind == .mysql ? "VARCHAR(255)" : "TEXT"
        let scenario = try await Scenario(
            kind,
            adding: [
                "CREATE TABLE t (id \(text) PRIMARY KEY, n INTEGER NOT NULL, c INTEGER CHECK (c IS NOT NULL), v INTEGER)"
            ]
        )
        let new: JsonParam = ["n": .int(1), "c": .int(2), "v": .int(3)]
        let puts: [JsonParam?] = [new, ["v": .int(4)], ["n": .int(5), "v": .null], ["c": .int(6)], [:], nil]
        for (index, data) in puts.enumerated() {
            let number = Int64(index + 1)
            let response = try await scenario.apply([Self.entry(.put, "t", "a", data, number: number)])
            #expect(response == UploadResponse(appliedThrough: number))
        }
        #expect(try await scenario.database.run("SELECT id, n, c, v FROM t") == [["a", "5", "6", nil]])

        // A row that is not there needs them, and one that is there needs what is put.
        let wrong: [(String, JsonParam?)] = [
            ("b", ["v": .int(1)]), ("b", nil), ("a", ["n": .null]), ("a", ["c": .null]),
        ]
        for (id, data) in wrong {
            let response = try await scenario.apply([Self.entry(.put, "t", id, data, number: 7)])
            #expect(response.rejections.map(\.code) == [.constraint], "\(id) \(data ?? [:])")
        }
    }

    @Test(arguments: Kind.allCases) func uniqueValuesOfOthersAreARejection(_ kind: Kind) async throws {
        let scenario = try await Scenario(
            kind,
            adding: [
                "CREATE UNIQUE INDEX names ON notes (name)", "INSERT INTO notes (id, name) VALUES ('theirs', 'taken')",
            ]
        )
        let response = try await scenario.apply([
            Scenario.put(1, "a", name: "free", table: "notes"), Scenario.put(2, "b", name: "taken", table: "notes"),
        ])
        #expect(response.appliedThrough == 1)
        #expect(response.rejections.map(\.code) == [.constraint])
        #expect(try await scenario.rows("notes") == ["a NULL free", "theirs NULL taken"])
    }

    struct Wrong: CustomTestStringConvertible, Sendable {
        var entry: UploadEntry
        var code: EntryRejection.Code
        var mentions: String
        var testDescription: String { "\(code): \(mentions)" }

        init(_ entry: UploadEntry, _ code: EntryRejection.Code, _ mentions: String) {
            (self.entry, self.code, self.mentions) = (entry, code, mentions)
        }
    }

    @Test(
        arguments: Kind.allCases,
        [
            Wrong(entry(.put, "nope", "a"), .unknownTable, "“nope”"),
            Wrong(entry(.put, "NOTES", "a"), .unknownTable, "“NOTES”"),
            Wrong(entry(.put, "notes\u{0}x", "a"), .unknownTable, "notes"),
            Wrong(entry(.delete, "_ps_upload_writes", "a"), .unknownTable, "_ps_upload_writes"),
            Wrong(entry(.put, "names", "a"), .unknownTable, "“names”"),
            Wrong(entry(.put, "other", "a"), .unknownTable, "“other”"),
            Wrong(entry(.put, "pair", "a"), .unknownTable, "“pair”"),
            Wrong(entry(.patch, "notes", "a", ["colour": .string("red")]), .unknownColumn, "“colour”"),
            Wrong(entry(.patch, "notes", "a", ["NAME": .string("red")]), .unknownColumn, "“NAME”"),
            Wrong(entry(.put, "notes", "a", ["x\" = 1; --": .int(1)]), .unknownColumn, "x\" = 1"),
            Wrong(entry(.put, "notes", "a", ["x` = 1; -- '": .int(1)]), .unknownColumn, "x` = 1"),
            Wrong(entry(.put, "strict", "a", ["n": .null]), .constraint, "“strict”"),
            Wrong(entry(.put, "strict", "a", ["n": .int(1), "g": .int(1)]), .unknownColumn, "“g”"),
            Wrong(entry(.put, "numbers", "007"), .constraint, "“numbers”"),
        ]
    )
    func aWrongWriteIsNamedAndNothingOfItsTransactionIsApplied(_ kind: Kind, _ wrong: Wrong) async throws {
        let text = kind == .mysql ? "VARCHAR(100)" : "TEXT"
        let key = kind == .mysql ? "`key`" : "key"
        let scenario = try await Scenario(
            kind,
            adding: [
                "CREATE VIEW names AS SELECT id, name FROM notes",
                "CREATE TABLE other (\(key) \(text) PRIMARY KEY)",
                "CREATE TABLE pair (id \(text), n INTEGER, PRIMARY KEY (id, n))",
                """
                CREATE TABLE strict (
                  id \(text) PRIMARY KEY, n INTEGER NOT NULL, g INTEGER GENERATED ALWAYS AS (n + 1) STORED
                )
                """,
                "CREATE TABLE numbers (id INTEGER PRIMARY KEY)",
            ]
        )
        var entry = wrong.entry
        entry.operationID = 2
        let response = try await scenario.apply([
            Scenario.put(1, "first", transaction: 1), entry, Scenario.put(3, "third", transaction: 1),
        ])
        #expect(response.appliedThrough == nil)
        #expect(response.rejections.map(\.operationID) == [1, 2, 3])
        #expect(response.rejections.map(\.code) == [.transactionRejected, wrong.code, .transactionRejected])
        let message = response.rejections.dropFirst().first?.message ?? ""
        #expect(message.contains(wrong.mentions), "\(message)")
        #expect(try await scenario.log().isEmpty)
        #expect(try await scenario.rememberedWrites() == 0)
    }

    @Test(arguments: Kind.allCases) func namesAreQuotedAndComparedByTheirBytes(_ kind: Kind) async throws {
        let quote = kind == .mysql ? "`" : "\""
        func name(_ name: String) -> String {
            "\(quote)\(name.replacing(quote, with: quote + quote))\(quote)"
        }
        let table = "we ird'; DROP TABLE lists"
        let text = kind == .mysql ? "VARCHAR(100)" : "TEXT"
        let scenario = try await Scenario(
            kind,
            adding: [
                "CREATE TABLE \(name(table)) (id \(text) PRIMARY KEY, \(name("select")) TEXT, \(name("a \"b' `c")) TEXT)",
                "CREATE TABLE \(name("caf\u{E9}")) (id \(text) PRIMARY KEY, v TEXT)",
                "CREATE TABLE \(name("cafe\u{301}")) (id \(text) PRIMARY KEY, v TEXT)",
            ]
        )
        let response = try await scenario.apply([
            Self.entry(.put, table, "1", ["select": .string("s"), "a \"b' `c": .string("q'\\")], number: 1),
            Self.entry(.patch, table, "1", ["select": .string("t")], number: 2),
            Self.entry(.put, "caf\u{E9}", "1", ["v": .string("1")], number: 3),
            Self.entry(.put, "cafe\u{301}", "1", ["v": .string("2")], number: 4),
        ])
        #expect(response == UploadResponse(appliedThrough: 4))
        #expect(try await scenario.database.run("SELECT * FROM \(name(table))") == [["1", "t", "q'\\"]])
        #expect(try await scenario.database.run("SELECT v FROM \(name("caf\u{E9}"))") == [["1"]])
        #expect(try await scenario.database.run("SELECT v FROM \(name("cafe\u{301}"))") == [["2"]])
    }

    @Test(arguments: Kind.allCases) func onlyNamedTablesCanBeWritten(_ kind: Kind) async throws {
        var options = UploadApplierOptions()
        options.tables = ["notes", "_ps_upload_clients"]
        let scenario = try await Scenario(kind, options: options)
        for table in ["lists", "_ps_upload_clients"] {
            let response = try await scenario.apply([Self.entry(.put, table, "a")])
            #expect(response.rejections.map(\.code) == [.unknownTable])
        }
        #expect(try await scenario.apply([Self.entry(.put, "notes", "a")]).appliedThrough == 1)
    }

    @Test(arguments: Kind.allCases) func theIDMayHaveAnotherName(_ kind: Kind) async throws {
        var options = UploadApplierOptions()
        options.idColumn = "code"
        let text = kind == .mysql ? "VARCHAR(100)" : "TEXT"
        let scenario = try await Scenario(
            kind,
            adding: ["CREATE TABLE t (code \(text) PRIMARY KEY, id TEXT)"],
            options: options
        )
        try await scenario.apply([Self.entry(.put, "t", "a", ["id": .string("5"), "code": .string("ignored")])])
        #expect(try await scenario.database.run("SELECT code, id FROM t") == [["a", "5"]])
    }

    @Test(arguments: Kind.allCases) func serverFaultsAreNoRejections(_ kind: Kind) async throws {
        let trigger =
            switch kind {
            case .sqlite:
                ["CREATE TRIGGER broken AFTER INSERT ON notes BEGIN INSERT INTO missing VALUES (1); END"]
            case .postgres:
                [
                    """
                    CREATE FUNCTION broken() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
                      INSERT INTO missing VALUES (1); RETURN NEW;
                    END $$
                    """,
                    "CREATE TRIGGER broken AFTER INSERT ON notes FOR EACH ROW EXECUTE FUNCTION broken()",
                ]
            case .mysql:
                ["CREATE TRIGGER broken AFTER INSERT ON notes FOR EACH ROW INSERT INTO missing VALUES (1)"]
            }
        let scenario = try await Scenario(kind, adding: trigger)
        await #expect(throws: (any Error).self) { try await scenario.apply([Scenario.put(1, "a", table: "notes")]) }
        // What is before it is applied.
        let response = try await scenario.apply([Scenario.put(1, "a"), Scenario.put(2, "b", table: "notes")])
        #expect(response == UploadResponse(appliedThrough: 1))
    }

    @Test func rowsWithoutAPartitionAreARejection() async throws {
        let scenario = try await Scenario(
            .mysql,
            adding: ["CREATE TABLE t (id INT PRIMARY KEY) PARTITION BY RANGE (id) (PARTITION p VALUES LESS THAN (9))"]
        )
        #expect(try await scenario.apply([Self.entry(.put, "t", "9")]).rejections.map(\.code) == [.constraint])
    }

    @Test func tablesWithoutTransactionsAreNotWritten() async throws {
        let table = "CREATE TABLE t (id VARCHAR(99) PRIMARY KEY, name TEXT) ENGINE = MyISAM"
        let scenario = try await Scenario(.mysql, adding: [table])
        await #expect(throws: (any Error).self) { try await scenario.apply([Scenario.put(1, "a", table: "t")]) }
        let response = try await scenario.apply([Scenario.put(1, "a"), Scenario.put(2, "b", table: "t")])
        #expect(response == UploadResponse(appliedThrough: 1))
        #expect(try await scenario.database.run("SELECT id FROM t").isEmpty)
    }
}

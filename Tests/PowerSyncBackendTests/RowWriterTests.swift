import GRDB
import PowerSyncUpload
import Testing

@testable import PowerSyncBackend

/// What becomes of the values of writes, and which are refused.
@Suite struct RowWriterTests {
    private static func entry(
        _ op: UpdateType,
        _ table: String,
        _ id: String,
        _ data: JsonParam? = nil,
        number: Int64 = 1
    ) -> UploadEntry {
        UploadEntry(operationID: number, op: op, table: table, id: id, transactionID: 1, data: data)
    }

    @Test func writesAreAppliedInOrder() async throws {
        let scenario = try UploadScenario()
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
            Self.entry(write.0, "lists", write.1, write.2, number: Int64(index + 1))
        }
        let response = try await scenario.apply(entries)
        #expect(response == UploadResponse(appliedThrough: 11))
        let rows = try await scenario.database.read { db in
            try Row.fetchAll(db, sql: "SELECT id, owner_id, name FROM lists ORDER BY id").map { row in
                row.map { "\($0.1)" }.joined(separator: " ")
            }
        }
        #expect(rows == [#""a" "u1" "AA""#, #""b" "u1" "B""#, #""c" NULL NULL"#])
    }

    @Test func aRowThatIsThereKeepsWhatIsNotGiven() async throws {
        let scenario = try UploadScenario(
            schema: """
                CREATE TABLE t (id TEXT PRIMARY KEY, n NOT NULL, c CHECK (c IS NOT NULL), v);
                CREATE TABLE log (number INTEGER PRIMARY KEY, what TEXT);
                CREATE TRIGGER inserting BEFORE INSERT ON t BEGIN INSERT INTO log(what) VALUES ('+' || NEW.id); END;
                """
        )
        let new: JsonParam = ["n": .int(1), "c": .int(2), "v": .int(3)]
        let puts: [JsonParam?] = [new, ["v": .int(4)], ["n": .int(5), "v": .null], ["c": .int(6)], [:], nil]
        for (index, data) in puts.enumerated() {
            let number = Int64(index + 1)
            let response = try await scenario.apply([Self.entry(.put, "t", "a", data, number: number)])
            #expect(response == UploadResponse(appliedThrough: number))
        }
        let row = try scenario.database.read { db -> Row? in try Row.fetchOne(db, sql: "SELECT * FROM t") }
        #expect(row == ["id": "a", "n": 5, "c": 6, "v": nil])
        #expect(try await scenario.log() == ["+a"])

        // A row that is not there needs them, and one that is there needs what is put.
        let wrong: [(String, JsonParam?)] = [
            ("b", ["v": .int(1)]), ("b", nil), ("a", ["n": .null]), ("a", ["c": .null]),
        ]
        for (id, data) in wrong {
            let response = try await scenario.apply([Self.entry(.put, "t", id, data, number: 7)])
            #expect(response.rejections.map(\.code) == [.constraint])
        }
    }

    @Test func aKeyWithACollationOfItsOwnRefusesItsEqual() async throws {
        let scenario = try UploadScenario(schema: "CREATE TABLE t (id TEXT, v, PRIMARY KEY (id COLLATE NOCASE))")
        try await scenario.apply([Self.entry(.put, "t", "a", ["v": .int(1)], number: 1)])
        let response = try await scenario.apply([Self.entry(.put, "t", "A", ["v": .int(2)], number: 2)])
        #expect(response.rejections.map(\.code) == [.constraint])
    }

    @Test func valuesAreStoredAsTheyWereWrittenDownToTheClassAndTheLastCharacter() async throws {
        let scenario = try UploadScenario(schema: "CREATE TABLE t (id TEXT PRIMARY KEY, v)")
        let cases: [(JsonValue, String)] = [
            (.int(9_007_199_254_740_993), "integer 9007199254740993"),
            (.int(.max), "integer 9223372036854775807"),
            (.int(.min), "integer -9223372036854775808"),
            (.double(1), "real 1.0"),
            (.double(0.1), "real 0.10000000000000001"),
            (.double(9_007_199_254_740_992), "real 9007199254740992.0"),
            (.bool(true), "integer 1"),
            (.bool(false), "integer 0"),
            (.null, "null NULL"),
            (.string(""), "text ''"),
            (.string("1"), "text '1'"),
            (.string("é\u{2028}"), "text 'é\u{2028}'"),
            (.array([.int(1), .double(2), .string("ü")]), #"text '[1,2.0,"ü"]'"#),
            (.object(["b": .null, "a": .bool(true)]), #"text '{"a":true,"b":null}'"#),
        ]
        let entries = cases.enumerated().map { index, test in
            Self.entry(.put, "t", "\(index)", ["v": test.0], number: Int64(index + 1))
        }
        #expect(try await scenario.apply(entries).rejections.isEmpty)
        let stored = try await scenario.database.read { db in
            // How quote() writes a real number depends on the version of SQLite.
            try String.fetchAll(
                db,
                sql: """
                    SELECT typeof(v) || ' ' || iif(typeof(v) = 'real', printf('%!.17g', v), quote(v))
                    FROM t ORDER BY CAST(id AS INTEGER)
                    """
            )
        }
        #expect(stored == cases.map(\.1))
    }

    @Test func textsMayHaveNULs() async throws {
        let scenario = try UploadScenario()
        try await scenario.apply([
            Self.entry(.put, "lists", "a\u{0}b", ["name": .string("x\u{0}y")], number: 1),
            Self.entry(.put, "lists", "a", ["name": .string("other")], number: 2),
            Self.entry(.patch, "lists", "a\u{0}b", ["owner_id": .string("\u{0}")], number: 3),
        ])
        let stored = try await scenario.database.read { db in
            try String.fetchAll(
                db,
                sql:
                    "SELECT hex(id) || ' ' || hex(name) || ' ' || ifnull(hex(owner_id), '') FROM lists ORDER BY length(hex(id))"
            )
        }
        #expect(stored == ["61 6F74686572 ", "610062 780079 00"])
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

    @Test(arguments: [
        Wrong(entry(.put, "nope", "a"), .unknownTable, "“nope”"),
        Wrong(entry(.put, "LISTS", "a"), .unknownTable, "“LISTS”"),
        Wrong(entry(.put, "lists\u{0}x", "a"), .unknownTable, "lists"),
        Wrong(entry(.put, "sqlite_master", "a"), .unknownTable, "sqlite_master"),
        Wrong(entry(.delete, "_ps_upload_writes", "a"), .unknownTable, "_ps_upload_writes"),
        Wrong(entry(.put, "names", "a"), .unknownTable, "“names”"),
        Wrong(entry(.put, "other", "a"), .unknownTable, "“other”"),
        Wrong(entry(.put, "pair", "a"), .unknownTable, "“pair”"),
        Wrong(entry(.patch, "lists", "a", ["colour": .string("red")]), .unknownColumn, "“colour”"),
        Wrong(entry(.patch, "lists", "a", ["NAME": .string("red")]), .unknownColumn, "“NAME”"),
        Wrong(entry(.put, "lists", "a", ["x\" = 1; --": .int(1)]), .unknownColumn, "x\" = 1"),
        Wrong(entry(.put, "lists", "a", ["rowid": .int(1)]), .unknownColumn, "rowid"),
        Wrong(entry(.put, "strict", "a", ["n": .null]), .constraint, "NOT NULL"),
        Wrong(entry(.put, "strict", "a", ["n": .int(1), "g": .int(1)]), .unknownColumn, "“g”"),
        Wrong(entry(.put, "numbers", "not a number"), .constraint, "“numbers”"),
        Wrong(entry(.put, "typed", "a", ["i": .string("one")]), .constraint, "“typed”"),
        Wrong(entry(.put, "typed", "a", ["i": .double(1.5)]), .constraint, "“typed”"),
        Wrong(entry(.put, "json", "a", ["j": .string("{")]), .constraint, "JSON"),
    ])
    func wrongWriteIsNamedAndNothingOfItsTransactionIsApplied(_ wrong: Wrong) async throws {
        let scenario = try UploadScenario(
            schema: UploadScenario.schema + """
                CREATE VIEW names AS SELECT id, name FROM lists;
                CREATE TABLE other (key TEXT PRIMARY KEY);
                CREATE TABLE pair (id TEXT, n, PRIMARY KEY (id, n));
                CREATE TABLE strict (id TEXT PRIMARY KEY, n NOT NULL, g AS (n + 1));
                CREATE TABLE numbers (id INTEGER PRIMARY KEY);
                CREATE TABLE typed (id TEXT PRIMARY KEY, i INTEGER) STRICT;
                CREATE TABLE json (id TEXT PRIMARY KEY, j TEXT, k AS (json_extract(j, '$.k')) STORED);
                """
        )
        var entry = wrong.entry
        entry.operationID = 2
        let response = try await scenario.apply([
            UploadScenario.put(1, "first", transaction: 1), entry, UploadScenario.put(3, "third", transaction: 1),
        ])
        #expect(response.appliedThrough == nil)
        #expect(response.rejections.map(\.operationID) == [1, 2, 3])
        #expect(response.rejections.map(\.code) == [.transactionRejected, wrong.code, .transactionRejected])
        #expect(response.rejections[1].message.contains(wrong.mentions), "\(response.rejections[1].message)")
        #expect(try await scenario.log().isEmpty)
        #expect(try await scenario.rememberedWrites() == 0)
    }

    @Test func namesAreQuotedAndComparedByTheirBytes() async throws {
        let table = "we ird'; DROP TABLE lists"
        let (composed, decomposed) = ("caf\u{E9}", "cafe\u{301}")
        let scenario = try UploadScenario(
            schema: """
                CREATE TABLE "we ird'; DROP TABLE lists" (id TEXT PRIMARY KEY, "select" TEXT, "a ""b' c" TEXT);
                CREATE TABLE "\(composed)" (id TEXT PRIMARY KEY, v);
                CREATE TABLE "\(decomposed)" (id TEXT PRIMARY KEY, v, "\(composed)", "\(decomposed)");
                """
        )
        let response = try await scenario.apply([
            Self.entry(.put, table, "1", ["select": .string("s"), "a \"b' c": .string("q")], number: 1),
            Self.entry(.patch, table, "1", ["select": .string("t")], number: 2),
            Self.entry(.put, composed, "1", ["v": .int(1)], number: 3),
            Self.entry(.put, decomposed, "1", ["v": .int(2), decomposed: .int(3)], number: 4),
        ])
        #expect(response == UploadResponse(appliedThrough: 4))
        let stored = try await scenario.database.read { db in
            (
                try Row.fetchOne(db, sql: "SELECT * FROM \"we ird'; DROP TABLE lists\"").map { "\($0)" },
                try Int.fetchOne(db, sql: "SELECT v FROM \"\(composed)\""),
                try Row.fetchOne(db, sql: "SELECT * FROM \"\(decomposed)\"").map { row in row.map { "\($0.1)" } }
            )
        }
        #expect(stored.0?.contains("\"t\"") == true && stored.0?.contains("\"q\"") == true)
        #expect(stored.1 == 1)
        #expect(stored.2 == ["\"1\"", "2", "NULL", "3"])
    }

    @Test func onlyNamedTablesCanBeWritten() async throws {
        var options = UploadApplierOptions()
        options.tables = ["log", "_ps_upload_clients"]
        let scenario = try UploadScenario(options: options)
        for table in ["lists", "_ps_upload_clients"] {
            let response = try await scenario.apply([Self.entry(.put, table, "a")])
            #expect(response.rejections.map(\.code) == [.unknownTable])
        }
    }

    @Test func theIDMayHaveAnotherName() async throws {
        var options = UploadApplierOptions()
        options.idColumn = "key"
        let scenario = try UploadScenario(schema: "CREATE TABLE t (key TEXT PRIMARY KEY, id)", options: options)
        try await scenario.apply([Self.entry(.put, "t", "a", ["id": .int(5), "key": .string("ignored")])])
        let row = try scenario.database.read { db -> Row? in try Row.fetchOne(db, sql: "SELECT * FROM t") }
        #expect(row == ["key": "a", "id": 5])
    }

    @Test func observersOfTheDatabaseSeeWhatWasWritten() async throws {
        let scenario = try UploadScenario()
        let counts = ValueObservation.tracking { db in try Int.fetchOne(db, sql: "SELECT count(*) FROM lists") ?? 0 }
            .values(in: scenario.database)
        for try await count in counts {
            if count == 1 { break }
            try await scenario.apply([UploadScenario.put(1, "a")])
        }
    }

    @Test func serverFaultsAreNoRejections() async throws {
        let scenario = try UploadScenario(
            schema: """
                CREATE TABLE lists (id TEXT PRIMARY KEY, name);
                CREATE TRIGGER broken AFTER INSERT ON lists BEGIN INSERT INTO missing VALUES (1); END;
                """
        )
        await #expect(throws: DatabaseError.self) { try await scenario.apply([UploadScenario.put(1, "a")]) }
    }
}

import Foundation
import PowerSync
import Testing

/// Rows as dictionaries, whose values are of the kinds of the table's columns.
@Suite struct TableRowTests {
    private static let columns: [Column] = [
        .boolean("done"), .json("tags"), .date("due"), .decimal("price"), .uuid("owner"), .text("title"),
        .integer("size"),
        .real("weight"),
    ]

    /// The table as a view and as a direct table.
    private static func table(_ isDirect: Bool) -> Table {
        Table(name: "todos", columns: columns, ignoreEmptyUpdates: true, direct: isDirect)
    }

    private static let stored = """
        INSERT INTO todos (id, done, tags, due, price, owner, title, size, weight) VALUES (
            '1', 1, '["a", {"b": 1.5}]', '2026-11-22 18:44:46+00', '12.50', '6BA7B810-9DAD-11D1-80B4-00C04FD430C8', 'Milk', 2, 0.5
        )
        """

    private static let row: [String: JsonValue] = [
        "id": .string("1"), "done": .bool(true), "tags": .array([.string("a"), .object(["b": .double(1.5)])]),
        "due": .string("2026-11-22T18:44:46.000000Z"), "price": .string("12.50"),
        "owner": .string("6ba7b810-9dad-11d1-80b4-00c04fd430c8"), "title": .string("Milk"), "size": .int(2),
        "weight": .double(0.5),
    ]

    @Test(arguments: [false, true]) func valuesAreOfTheKindsOfTheirColumns(isDirect: Bool) async throws {
        let table = Self.table(isDirect)
        try await withMemoryDatabase(Schema(table)) { database in
            try await database.execute(Self.stored)
            let format = RowFormat(of: table)
            let row = try await database.get("SELECT * FROM todos", as: [String: JsonValue].self, format: format)
            #expect(row == Self.row)
            // Those of the upload queue are the same values.
            var uploaded = try await database.getCrudBatch()?.crud.first?.opDataTyped
            uploaded?["id"] = .string("1")
            #expect(uploaded == row)
            try await database.execute("INSERT INTO todos (id) VALUES ('2')")
            let empty = try await database.get(
                sql: "SELECT * FROM todos WHERE id = ?",
                parameters: ["2"],
                as: [String: JsonValue].self,
                format: format
            )
            #expect(empty["id"] == .string("2"))
            #expect(empty.filter { $0.key != "id" }.allSatisfy { $0.value == .null })
            #expect(empty.count == row.count)
        }
    }

    struct Misfit: Sendable, CustomTestStringConvertible {
        let sql: String
        let value: JsonValue
        var testDescription: String { sql }
    }

    /// What does not fit, and what the table does not have.
    @Test(arguments: [
        Misfit(sql: "SELECT 2 AS done", value: .int(2)), Misfit(sql: "SELECT 'yes' AS done", value: .string("yes")),
        Misfit(sql: "SELECT '{' AS tags", value: .string("{")), Misfit(sql: "SELECT 'null' AS tags", value: .null),
        Misfit(sql: "SELECT 'soon' AS due", value: .string("soon")), Misfit(sql: "SELECT 7 AS due", value: .int(7)),
        Misfit(sql: "SELECT 7 AS price", value: .string("7")),
        Misfit(sql: "SELECT 'Ada' AS owner", value: .string("Ada")),
        Misfit(sql: "SELECT '[1]' AS other", value: .string("[1]")),
        Misfit(sql: "SELECT count(*) AS n FROM todos", value: .int(0)),
        Misfit(sql: "SELECT x'00ff' AS bytes", value: .string("AP8=")),
    ])
    func whatDoesNotFitStaysAsItIs(_ example: Misfit) async throws {
        let table = Self.table(false)
        try await withMemoryDatabase(Schema(table)) { database in
            let row = try await database.get(example.sql, as: [String: JsonValue].self, format: RowFormat(of: table))
            #expect(Array(row.values) == [example.value])
        }
    }

    @Test(arguments: [false, true]) func whatIsWrittenIsReadAgain(isDirect: Bool) async throws {
        let table = Self.table(isDirect)
        try await withMemoryDatabase(Schema(table)) { database in
            let format = RowFormat(of: table)
            try await database.insert(Self.row, into: "todos", format: format)
            #expect(
                try await database.get("SELECT * FROM todos", as: [String: JsonValue].self, format: format) == Self.row
            )
            let types =
                "SELECT typeof(done) || typeof(tags) || typeof(title) || typeof(size) || typeof(weight) FROM todos"
            #expect(try await database.get(types, as: String.self) == "integertexttextintegerreal")
            #expect(try await database.get("SELECT tags FROM todos", as: String.self) == #"["a",{"b":1.5}]"#)
            var row = Self.row
            row["tags"] = .string("a text")
            row["title"] = .null
            row["done"] = .bool(false)
            try await database.upsert(row, into: "todos", format: format)
            #expect(try await database.get("SELECT * FROM todos", as: [String: JsonValue].self, format: format) == row)
            #expect(
                try await database.getCrudBatch()?.crud.last?.opDataTyped
                    == ["tags": .string("a text"), "title": .null, "done": .bool(false)]
            )
        }
    }

    /// What PostgreSQL writes in its own way, and what fits no kind, is the same value and no change.
    @Test func aRowThatIsWrittenAsItWasReadIsNoChange() async throws {
        let table = Self.table(false)
        try await withMemoryDatabase(Schema(table)) { database in
            try await database.execute(Self.stored)
            try await database.execute("INSERT INTO todos (id, done, tags, due) VALUES ('2', 7, '{', 'soon')")
            let format = RowFormat(of: table)
            for row in try await database.getAll("SELECT * FROM todos", as: [String: JsonValue].self, format: format) {
                try await database.update(row, in: "todos", format: format)
            }
            #expect(try await database.getCrudBatch()?.crud.map(\.op) == [.put, .put])
            struct Named: Codable {
                var id: String
                var listTitle: JsonValue
            }
            // A type with such a property, and names in another form.
            let named = try await database.get(
                "SELECT id, title AS list_title FROM todos WHERE id = '1'",
                as: Named.self,
                format: RowFormat(of: table, keys: .snakeCase)
            )
            #expect(named.listTitle == .string("Milk"))
        }
    }

    @Test func aWatchHasThemToo() async throws {
        let table = Self.table(false)
        try await withMemoryDatabase(Schema(table)) { database in
            try await database.execute(Self.stored)
            let results = try database.watch(
                "SELECT * FROM todos",
                as: [String: JsonValue].self,
                format: RowFormat(of: table)
            )
            for try await rows in results {
                #expect(rows == [Self.row])
                break
            }
        }
    }

    @Test func aPropertyOfAnyValueFitsAnyColumnOfTheTable() throws {
        struct Row: Codable {
            var id: String
            var due: JsonValue
            var title: JsonValue
            var owner: JsonValue?
        }
        let table = Self.table(false)
        try Schema(table).checkingRows(of: "todos", as: Row.self, format: RowFormat(of: table)).validate()
        // Without its format a date is no JSON.
        #expect(throws: TypedRowError.self) {
            try Schema(table).checkingRows(of: "todos", as: Row.self).validate()
        }
    }
}

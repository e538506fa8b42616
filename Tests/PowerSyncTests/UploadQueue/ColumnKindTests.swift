import Foundation
import PowerSync
import Testing

/// Entries of the upload queue have values of the kinds that the schema declares.
@Suite struct ColumnKindTests {
    private static let columns: [Column] = [
        .boolean("done"), .json("tags"), .date("due"), .decimal("price"), .uuid("owner"), .text("title"),
    ]

    struct Case: Sendable, CustomTestStringConvertible {
        let column: String
        let stored: String
        let entry: JsonValue
        var testDescription: String { "\(column) \(stored)" }
        /// Whether a column of its type holds it as it is, or converted without loss.
        var isOfItsType: Bool { column != "done" || !stored.hasPrefix("'") }
    }

    static let cases = [
        Case(column: "done", stored: "1", entry: .bool(true)), Case(column: "done", stored: "0", entry: .bool(false)),
        Case(column: "done", stored: "2", entry: .int(2)), Case(column: "done", stored: "'yes'", entry: .string("yes")),
        Case(
            column: "tags",
            stored: #"'["a",{"b":1.5}]'"#,
            entry: .array([.string("a"), .object(["b": .double(1.5)])])
        ),
        Case(column: "tags", stored: "'null'", entry: .null), Case(column: "tags", stored: "'{'", entry: .string("{")),
        Case(column: "due", stored: "'2026-11-22 18:44:46'", entry: .string("2026-11-22T18:44:46.000000Z")),
        Case(column: "due", stored: "'2026-11-22T18:44:46.12+02:00'", entry: .string("2026-11-22T16:44:46.120000Z")),
        Case(column: "due", stored: "'2026-11-22T18:44:46Z'", entry: .string("2026-11-22T18:44:46Z")),
        Case(column: "due", stored: "'2026-11-22'", entry: .string("2026-11-22")),
        Case(column: "due", stored: "'some day, or never'", entry: .string("some day, or never")),
        Case(column: "price", stored: "'12.50'", entry: .string("12.50")),
        Case(column: "price", stored: "12", entry: .string("12")),
        Case(column: "price", stored: "1.5", entry: .string("1.5")),
        Case(
            column: "owner",
            stored: "'6BA7B810-9DAD-11D1-80B4-00C04FD430C8'",
            entry: .string("6ba7b810-9dad-11d1-80b4-00c04fd430c8")
        ),
        Case(column: "owner", stored: "'Ada'", entry: .string("Ada")),
        Case(column: "title", stored: "1", entry: .int(1)),
    ]

    @Test(arguments: cases) func entriesAreTyped(_ example: Case) async throws {
        let schema = Schema(Table(name: "todos", columns: Self.columns, trackPreviousValues: .init()))
        try await withMemoryDatabase(schema) { database in
            try await database.execute("INSERT INTO todos (id, \(example.column)) VALUES ('1', \(example.stored))")
            let batch = try #require(try await database.getCrudBatch())
            let data = try #require(batch.crud.first?.opDataTyped)
            #expect(data == [example.column: example.entry])
            #expect(try await database.getNextCrudTransaction()?.crud.first?.opDataTyped == data)
            try await database.execute("DELETE FROM todos")
            let deletion = try #require(try await database.getCrudBatch()?.crud.last)
            #expect(deletion.previousValuesTyped?["title"] != nil)
        }
    }

    @Test func previousValuesAreTypedAndTheSchemaOfTheMomentCounts() async throws {
        let table = Table(name: "todos", columns: Self.columns, trackPreviousValues: .init(columnFilter: ["done"]))
        try await withMemoryDatabase(Schema(table)) { database in
            try await database.execute("INSERT INTO todos (id, done) VALUES ('1', 1)")
            try await database.execute("UPDATE todos SET done = 0")
            func last() async throws -> CrudEntry? { try await database.getCrudBatch()?.crud.last }
            #expect(try await last()?.opDataTyped == ["done": .bool(false)])
            #expect(try await last()?.previousValuesTyped == ["done": .bool(true)])
            #expect(try await last()?.opData == ["done": "false"])
            try await database.updateSchema(schema: Schema(Table(name: "todos", columns: [.integer("done")])))
            #expect(try await last()?.opDataTyped == ["done": .int(0)])
        }
    }

    struct Priced: Codable {
        var id = "1"
        var price: Double
        var title: Double
    }

    /// A number in a decimal column is a text, whichever of the names of the table is used.
    @Test(arguments: [false, true]) func typedRowsAreWrittenAsTheKindSays(_ isDirect: Bool) async throws {
        let columns: [Column] = [.decimal("price"), .real("title")]
        let viewName = isDirect ? nil : "Tasks"
        let schema = Schema(Table(name: "todos", columns: columns, viewNameOverride: viewName, direct: isDirect))
        let view = isDirect ? "Todos" : "tasks"
        try await withMemoryDatabase(schema) { database in
            let row = Priced(price: 1.5, title: 1.5)
            func entry() async throws -> CrudEntry? { try await database.getCrudBatch()?.crud.last }
            try await database.insert(row, into: view)
            #expect(try await entry()?.opData == ["price": "1.5", "title": "1.5"])
            let stored = isDirect ? "SELECT typeof(price) FROM todos" : "SELECT data -> 'price' FROM ps_data__todos"
            let text = isDirect ? "text" : #""1.5""#
            #expect(try await database.get(stored) { try $0.getString(index: 0) } == text)
            try await database.writeTransaction { transaction in
                try transaction.delete(row, from: view)
                try transaction.upsert(row, into: view)
            }
            #expect(try await database.get(stored) { try $0.getString(index: 0) } == text)
        }
    }

    /// What PostgreSQL has sent is the same date, and no change.
    @Test func aDateThatIsTheSameIsNoChange() async throws {
        struct Due: Codable {
            var id: String
            var due: Date
        }
        try await withMemoryDatabase(Schema(Table(name: "todos", columns: Self.columns))) { database in
            try await database.execute("INSERT INTO todos (id, due) VALUES ('1', '2026-11-22 18:44:46+00')")
            let format = RowFormat(dates: .unixSeconds)
            let due = try await database.get("SELECT id, due FROM todos", as: Due.self, format: format)
            try await database.update(due, in: "todos", format: format)
            #expect(try await database.getCrudBatch()?.crud.last?.opDataTyped == [:])
            #expect(
                try await database.get("SELECT due FROM todos") { try $0.getString(index: 0) }
                    == "2026-11-22 18:44:46+00"
            )
        }
    }

    @Test func kindsAreNoPartOfTheJSON() throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        for (column, plain) in zip(Self.columns, Self.withoutKinds) {
            #expect(try encoder.encode(column) == encoder.encode(plain), "\(column.name)")
            #expect(column.type == plain.type)
            #expect((column == plain) == (column.name == "title"))
        }
        let tables = [Self.columns, Self.withoutKinds].map { Table(name: "todos", columns: $0, direct: true) }
        #expect(try encoder.encode(Schema(tables[0])) == encoder.encode(Schema(tables[1])))
    }

    /// What these columns are without their kinds.
    private static let withoutKinds: [Column] = [
        .integer("done"), .text("tags"), .text("due"), .text("price"), .text("owner"), .text("title"),
    ]

    /// The kinds are only for who reads the entries.
    @Test(arguments: [false, true]) func queueOnDiskIsThatWithoutKinds(_ isDirect: Bool) async throws {
        var queues: [[String]] = []
        for columns in [Self.columns, Self.withoutKinds] {
            let table = Table(name: "todos", columns: columns, trackPreviousValues: .init(), direct: isDirect)
            queues.append(
                try await withMemoryDatabase(Schema(table)) { database in
                    for example in Self.cases where !isDirect || example.isOfItsType {
                        try await database.execute(
                            "INSERT INTO todos (id, \(example.column)) VALUES ('1', \(example.stored))"
                        )
                        try await database.execute("UPDATE todos SET title = 'x', due = '2026-11-22 18:44:46'")
                        try await database.execute("DELETE FROM todos")
                    }
                    return try await database.getAll("SELECT data FROM ps_crud ORDER BY id") {
                        try $0.getString(index: 0)
                    }
                }
            )
        }
        #expect(queues[0] == queues[1])
        #expect(queues[0].count >= 45)
    }
}

import Foundation
import PowerSync
import Testing

/// Which columns a typed update writes and uploads.
@Suite(.timeLimit(.minutes(1))) struct TypedUpdateTests {
    struct Place: Codable, Equatable, Sendable {
        var street: String
        var floor: Int?
        var since: Date?
        var rent: Decimal?
    }

    struct Todo: Codable, Equatable, Sendable {
        var id = "1"
        var title: String?
        var done = false
        var due: Date?
        var tags: [String]?
        var price: Decimal?
        var owner: UUID?
        var place: Place?
        var more: JsonValue?
        var weight: Float?
        var score: Double?
        var count: Int?
    }

    private struct Upload: Decodable, Equatable {
        let op: String
        let data: [String: JsonValue]?
    }

    private static let columns: [Column] =
        ["title", "due", "tags", "price", "owner", "place", "more"].map { .text($0) } + [
            .integer("done"), .real("weight"), .integer("score"), .real("count"),
        ]

    /// Runs a test on a row, of which some columns have these SQL literals, after it was uploaded.
    private func withTodo(
        _ stored: [String: String] = [:],
        _ body: (any PowerSyncDatabaseProtocol, Todo) async throws -> Void
    ) async throws {
        try await withStored(stored) { database in
            try await body(database, try await database.get("SELECT * FROM todos", as: Todo.self))
        }
    }

    private func withStored(
        _ stored: [String: String],
        _ body: (any PowerSyncDatabaseProtocol) async throws -> Void
    ) async throws {
        try await withMemoryDatabase(Schema(Table(name: "todos", columns: Self.columns))) { database in
            try await database.execute("INSERT INTO todos (id, done) VALUES ('1', 0)")
            for (column, literal) in stored {
                try await database.execute("UPDATE todos SET \(column) = \(literal)")
            }
            try await database.execute("DELETE FROM ps_crud")
            try await body(database)
        }
    }

    private func uploads(_ database: any PowerSyncDatabaseProtocol) async throws -> [Upload] {
        try await database.getAll(
            "SELECT json_extract(data, '$.op') AS op, json_extract(data, '$.data') AS data FROM ps_crud ORDER BY id",
            as: Upload.self
        )
    }

    /// What is stored in a column: SQL literals.
    private func literals(_ column: String, _ database: any PowerSyncDatabaseProtocol) async throws -> [String] {
        try await database.getAll("SELECT quote(\(column)) FROM todos", as: String.self)
    }

    static let forms = [
        ("tags", #"'["a", "b"]'"#), ("tags", #"' [ "a" ] '"#), ("tags", #"'["\u0061"]'"#),
        ("due", "'2026-11-22'"), ("due", "'2026-11-22 18:44:46.5Z'"), ("due", "'2026-11-22T18:44:46.500000'"),
        ("due", "'2026-11-22 18:44:46.123456789+01'"),
        ("price", "'12.50'"), ("price", "'+1E1'"),
        ("owner", "'0F8FAD5B-D9CB-469f-a165-70867728950e'"),
        ("place", #"'{"street": "Main", "since": "2026-11-22 18:44:46+00", "rent": 12.50}'"#),
        ("place", #"'{"street": "Main", "rent": 123456789.123456789012, "unknown": [1]}'"#),
        ("more", #"'{"b": 1.0, "a": 123456789.123456789012}'"#), ("more", "'12345678901234567890'"),
        ("weight", "0.1"), ("score", "4"), ("count", "4.0"),
    ]

    @Test(arguments: forms)
    func aColumnThatNobodyChangedIsNotUploaded(_ column: String, _ literal: String) async throws {
        try await withTodo([column: literal]) { database, todo in
            let before = try await literals(column, database)
            var todo = todo
            todo.done = true
            try await database.update(todo, in: "todos")
            #expect(try await uploads(database) == [Upload(op: "PATCH", data: ["done": .int(1)])])
            #expect(try await literals(column, database) == before)
            todo.title = "Read"
            try await database.upsert(todo, into: "todos")
            #expect(try await uploads(database).last == Upload(op: "PATCH", data: ["title": .string("Read")]))
            #expect(try await literals(column, database) == before)
            #expect(try await database.get("SELECT * FROM todos", as: Todo.self) == todo)
        }
    }

    @Test func anUpdateOfARowThatIsTheSameIsEmpty() async throws {
        try await withTodo(["tags": #"'["a", "b"]'"#, "price": "'12.50'"]) { database, todo in
            try await database.update(todo, in: "todos")
            #expect(try await uploads(database) == [Upload(op: "PATCH", data: [:])])
            #expect(try await literals("tags", database) == [#"'["a", "b"]'"#])
            #expect(try await literals("price", database) == ["'12.50'"])
        }
    }

    @Test func whatHasChangedIsWrittenWhateverFormItHad() async throws {
        let stored = [
            "title": "'e\u{301}'", "due": "'2026-11-22'", "tags": #"'["a", "b"]'"#, "price": "'12.50'",
            "place": #"'{"street": "Main", "floor": 1}'"#, "more": #"'{"a": 1, "b": 2}'"#,
        ]
        try await withTodo(stored) { database, todo in
            var todo = todo
            todo.title = "\u{e9}"
            todo.due = nil
            todo.tags = ["a"]
            todo.price = Decimal(string: "12.51")
            todo.place?.floor = nil
            todo.more = .object(["a": .int(1)])
            todo.count = 0
            try await database.update(todo, in: "todos")
            let changes: [String: JsonValue] = [
                "title": .string("\u{e9}"), "due": .null, "tags": .string(#"["a"]"#), "price": .string("12.51"),
                "place": .string(#"{"floor":null,"rent":null,"since":null,"street":"Main"}"#),
                "more": .string(#"{"a":1}"#), "count": .double(0),
            ]
            let uploads = try await uploads(database)
            #expect(uploads.map(\.op) == ["PATCH"])
            #expect(uploads.first?.data.map { Set($0.keys) } == Set(changes.keys))
            for (column, value) in changes where column != "count" { #expect(uploads.first?.data?[column] == value) }
            // These two texts are the same to `String`.
            #expect(try await database.get("SELECT hex(title) FROM todos", as: String.self) == "C3A9")
            #expect(try await database.get("SELECT * FROM todos", as: Todo.self) == todo)
        }
    }

    @Test func aTypeThatCannotBeReadIsComparedAsJSON() async throws {
        struct Tag: Encodable, Sendable { var name: String }
        struct Tags: Encodable, Sendable {
            var id = "1"
            var tags: [Tag]
        }
        try await withStored(["tags": #"'[ {"name": "a"} ]'"#]) { database in
            try await database.update(Tags(tags: [Tag(name: "a")]), in: "todos")
            #expect(try await literals("tags", database) == [#"'[ {"name": "a"} ]'"#])
            try await database.update(Tags(tags: [Tag(name: "b")]), in: "todos")
            #expect(try await literals("tags", database) == [#"'[{"name":"b"}]'"#])
            let data: [[String: JsonValue]?] = [[:], ["tags": .string(#"[{"name":"b"}]"#)]]
            #expect(try await uploads(database).map(\.data) == data)
        }
    }

    @Test func whatCannotBeReadAsTheTypeIsReplaced() async throws {
        struct Price: Codable, Sendable {
            var id = "1"
            var price: Decimal
        }
        try await withStored(["price": "'free'"]) { database in
            try await database.update(Price(price: 0), in: "todos")
            #expect(try await literals("price", database) == ["'0'"])
            #expect(try await uploads(database) == [Upload(op: "PATCH", data: ["price": .string("0")])])
        }
    }

    @Test func columnsMayHaveSnakeCaseNames() async throws {
        struct Item: Codable, Equatable, Sendable {
            var id: String
            var unitPrice: Decimal
            var isSold: Bool
        }
        let format = RowFormat(keys: .snakeCase)
        let schema = Schema(Table(name: "items", columns: [.text("unit_price"), .integer("is_sold")]))
        try await withMemoryDatabase(schema) { database in
            try await database.execute("INSERT INTO items (id, unit_price, is_sold) VALUES ('1', '12.50', 0)")
            try await database.execute("DELETE FROM ps_crud")
            var item = try await database.get("SELECT * FROM items", as: Item.self, format: format)
            item.isSold = true
            try await database.upsert(item, into: "items", format: format)
            #expect(try await uploads(database) == [Upload(op: "PATCH", data: ["is_sold": .int(1)])])
            #expect(try await database.get("SELECT unit_price FROM items", as: String.self) == "12.50")
        }
    }

    @Test func allRowsWithTheKeyAreChanged() async throws {
        struct Mark: Codable, Equatable, Sendable {
            var list: String
            var done: Bool
        }
        try await withMemoryDatabase { database in
            try await database.execute("CREATE TABLE marks (list TEXT, done INTEGER)")
            try await database.execute("INSERT INTO marks VALUES ('l', 1), ('l', 0), ('m', 0)")
            try await database.update(Mark(list: "l", done: true), in: "marks", key: "list")
            #expect(try await database.getAll("SELECT done FROM marks ORDER BY rowid", as: Int.self) == [1, 1, 0])
        }
    }

    @Test func aColumnThatIsNotThereIsAnErrorWhateverItsValue() async throws {
        try await withTodo { database, _ in
            await #expect(throws: PowerSyncError.self) {
                try await database.update(["id": "1", "nothing": "nothing"], in: "todos")
            }
            let queued = try await uploads(database)
            #expect(queued == [])
        }
    }
}

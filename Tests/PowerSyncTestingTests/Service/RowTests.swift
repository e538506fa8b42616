import Foundation
import PowerSync
import PowerSyncTesting
import Testing

/// The rows of the backend's database, and who gets them.
@Suite(.timeLimit(.minutes(1))) struct RowTests {
    @Test func rowsAreReadAsTheyWerePut() throws {
        let service = try TodoApp.service()
        try service.put(
            "todos",
            ["id": "b", "title": "x\u{0}ü", "done": true, "rank": 0.5, "note": nil, "size": 9_007_199_254_740_993],
            ["id": 7, "title": "seven", "photo": .blob(Data([1, 2]))]
        )
        #expect(service.rows("todos").map { $0["id"] } == [7, "b"])
        let row = try #require(service.row("todos", "b"))
        #expect(row.columns == ["id", "title", "done", "rank", "note", "size"])
        #expect(row["done"] == 1)
        #expect(row["note"] == .null)
        #expect(row["missing"] == nil)
        #expect(row["size"] == .integer(9_007_199_254_740_993))
        #expect("\(row)".hasPrefix(#"id: "b", title: "x"#))
        #expect(service.row("todos", "7")?["photo"] == .blob(Data([1, 2])))
        #expect(service.row("todos", "none") == nil)
        #expect(service.rows("none") == [])
    }

    @Test func valuesReachClientsExactly() async throws {
        let service = try FakeService(
            streams: """
                config: {edition: 3}
                streams:
                  values: {auto_subscribe: true, query: SELECT * FROM items}
                """
        )
        try service.put(
            "items",
            ["id": "i1", "text": "ü 🥛 \"", "int": 9_007_199_254_740_993, "real": 1.0, "none": nil, "bool": false],
            ["id": "i2", "real": .real(.nan)]
        )
        let schema = Schema(
            Table(
                name: "items",
                columns: [.text("text"), .integer("int"), .real("real"), .text("none"), .integer("bool")]
            )
        )
        let database = PowerSyncDatabase(inMemory: schema, logger: TodoApp.logger)
        try await database.connect(connector: service.connector(user: "u"))
        try await service.waitUntilSynced(database)
        let rows = try await database.getAll(
            "SELECT quote(text) || quote(int) || typeof(real) || quote(none) || quote(bool) FROM items ORDER BY id"
        ) { try $0.getString(index: 0) }
        #expect(rows == ["'ü 🥛 \"'9007199254740993realNULL0", "NULLNULLnullNULLNULL"])
    }

    @Test func encodableValuesAreRows() async throws {
        struct Note: Encodable {
            var id: UUID
            var list_id: String
            var title: String?
            var link: URL?
        }
        let service = try TodoApp.service(users: "alice")
        let id = try #require(UUID(uuidString: "0F0E0D0C-0B0A-0908-0706-050403020100"))
        try service.put(
            Note(id: id, list_id: "list of alice", title: nil, link: URL(string: "https://a.test/x")),
            into: "todos"
        )
        let row = try #require(service.rows("todos").first)
        #expect(row["title"] == nil || row["title"] == .null)
        #expect(row["id"] == "0f0e0d0c-0b0a-0908-0706-050403020100")
        #expect(row["link"] == "https://a.test/x")
        try service.put(TodoApp.Todo(id: "t1", listID: "list of alice", title: "Milk"), into: "todos")
        #expect(service.row("todos", "t1") == ["id": "t1", "list_id": "list of alice", "title": "Milk", "done": 0])
        #expect(throws: TypedRowError.self) { try service.put([Double.nan], into: "todos") }
    }

    @Test func changesReachTheUsersThatTheyConcern() async throws {
        let service = try TodoApp.service(users: "alice", "bob")
        let alice = try await TodoApp.database(of: "alice", service)
        let bob = try await TodoApp.database(of: "bob", service)
        try service.put("todos", ["id": "t1", "list_id": "list of alice", "title": "Milk"])
        try await service.waitUntilSynced(alice, bob)
        #expect(try await alice.titles == ["Milk"])
        #expect(try await bob.titles == [])

        try service.update("todos", "t1", ["list_id": "list of bob"])
        try await service.waitUntilSynced(alice, bob)
        #expect(try await alice.titles == [])
        #expect(try await bob.titles == ["Milk"])

        try service.delete("todos", "t1", "no such row")
        try await service.waitUntilSynced(alice, bob)
        #expect(try await bob.titles == [])
        #expect(service.rows("todos") == [])
    }

    @Test func aTransactionIsSeenAsAWholeOrNotAtAll() async throws {
        let service = try TodoApp.service(users: "alice")
        let database = try await TodoApp.database(of: "alice", service)
        try service.transaction { changes in
            changes.put("lists", ["id": "l2", "owner_id": "alice", "name": "Two"])
            changes.put("todos", ["id": "t1", "list_id": "l2", "title": "Milk"])
            try changes.put(TodoApp.Todo(id: "t2", listID: "l2", title: "Tea"), into: "todos")
            changes.update("todos", "t1", ["done": true])
            changes.delete("lists", "list of alice")
        }
        try await service.waitUntilSynced(database)
        #expect(try await database.titles == ["Milk", "Tea"])
        #expect(service.rows("lists").map { $0["id"] } == ["l2"])

        let error = #expect(throws: FakeServiceError.self) {
            try service.transaction { changes in
                changes.put("todos", ["id": "t3", "list_id": "l2"])
                changes.delete("todos", "t1")
                changes.put("todos", ["id": "t2", "title": "changed"])
                changes.update("todos", "t9", ["done": true])
            }
        }
        #expect(error?.code == .missingRow)
        #expect(service.rows("todos").map { $0["title"] } == ["Milk", "Tea"])
        try await service.waitUntilSynced(database)
        #expect(try await database.titles == ["Milk", "Tea"])
    }

    private static let badRows: [(FakeService.Row, FakeServiceError.Code)] = [
        (["title": "x"], .missingID), (["id": nil], .missingID), (["id": ""], .invalidID), (["id": 1.5], .invalidID),
        ([:], .missingID),
    ]

    @Test(arguments: badRows)
    func aRowNeedsAnID(row: FakeService.Row, code: FakeServiceError.Code) throws {
        let service = try TodoApp.service()
        let error = #expect(throws: FakeServiceError.self) { try service.put("todos", row) }
        #expect(error?.code == code)
        #expect(error.map { "\($0)".contains("todos") } == true)
        #expect(service.rows("todos") == [])
    }

    @Test func anUnknownTableIsRefusedWithTheKnownOnes() throws {
        let service = try TodoApp.service()
        let error = #expect(throws: FakeServiceError.self) { try service.put("todo", ["id": "t1"]) }
        #expect(error?.code == .unknownTable)
        #expect(error?.message == #"No stream of the sync config reads a table "todo"; it reads: lists, todos."#)
        #expect(throws: FakeServiceError.self) { try service.delete("todo", "t1") }
        #expect(throws: FakeServiceError.self) { try service.update("todos", "t1", ["title": "x"]) }
    }

    @Test func aConfigThatDoesNotCompileIsRefusedWithItsDiagnostics() {
        let error = #expect(throws: FakeServiceError.self) {
            try FakeService(
                streams: """
                    config: {edition: 3}
                    streams:
                      lists:
                        query: SELECT * FORM lists
                    """
            )
        }
        #expect(error?.code == .invalidConfig)
        #expect(error?.diagnostics.isEmpty == false)
        #expect(error.map { "\($0)".contains("sync.yaml:4:") } == true)
        #expect(error?.localizedDescription == error?.description)
        #expect(throws: FakeServiceError.self) { try FakeService(streams: "") }
    }

    @Test func tablesOfSchemasHaveBothNames() async throws {
        let service = try FakeService(
            streams: """
                config: {edition: 3}
                streams:
                  todos: {auto_subscribe: true, query: SELECT * FROM app.todos}
                """
        )
        try service.put("app.todos", ["id": "t1", "title": "Milk"])
        try service.update("todos", "t1", ["done": 1])
        #expect(service.rows("app.todos") == service.rows("todos"))
        let database = try await TodoApp.database(of: "u", service)
        #expect(try await database.titles == ["Milk"])
        try await database.execute("UPDATE todos SET title = 'Tea'")
        try await service.waitUntilSynced(database)
        #expect(service.row("app.todos", "t1")?["title"] == "Tea")
    }

    @Test func tenThousandRowsArrive() async throws {
        let service = try TodoApp.service(users: "alice")
        try service.put("todos", (0..<10_000).map { ["id": "t\($0)", "list_id": "list of alice", "title": "\($0)"] })
        let database = try await TodoApp.database(of: "alice", service)
        #expect(try await database.get("SELECT count(*) FROM todos") { try $0.getInt(index: 0) } == 10_000)
        for index in 0..<1000 { try service.update("todos", "t\(index)", ["done": 1]) }
        try await service.waitUntilSynced(database)
        #expect(try await database.get("SELECT sum(done) FROM todos") { try $0.getInt(index: 0) } == 1000)
    }
}

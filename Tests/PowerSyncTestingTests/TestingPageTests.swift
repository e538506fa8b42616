import PowerSync
import PowerSyncTesting
import Testing

/// The code of the page "Testing your app" is this file's: it compiles, it runs, and what it expects is so.
@Suite(.timeLimit(.minutes(1))) struct TestingPageTests {
    private struct Todo: Codable {
        var id: String
        var ownerID: String
        var title: String
        var done = false

        enum CodingKeys: String, CodingKey {
            case id
            case ownerID = "owner_id"
            case title, done
        }
    }

    private let schema = Schema(
        Table(name: "todos", columns: [.text("owner_id"), .text("title"), .integer("done")])
    )

    private let config = """
        config: {edition: 3}
        streams:
          todos:
            auto_subscribe: true
            query: SELECT * FROM todos WHERE owner_id = auth.user_id()
        """

    @Test func whatThePageSaysIsSo() async throws {
        let service = try FakeService(streams: config)
        try service.put("todos", ["id": "t1", "owner_id": "alice", "title": "Milk"])

        let phone = PowerSyncDatabase(inMemory: schema)
        try await phone.connect(connector: service.connector(user: "alice"))
        try await service.waitUntilSynced(phone)

        #expect(try await phone.get("SELECT title FROM todos") { try $0.getString(index: 0) } == "Milk")

        try service.put(Todo(id: "t2", ownerID: "alice", title: "Tea"), into: "todos")
        try service.transaction { changes in
            changes.update("todos", "t1", ["done": true])
            changes.delete("todos", "t2")
        }
        #expect(service.row("todos", "t1")?["done"] == 1)
        #expect(service.rows("todos").count == 1)

        try await service.during(.offline) {
            #expect(!phone.currentStatus.connected)
            try await phone.execute("INSERT INTO todos(id, owner_id, title) VALUES ('t3', 'alice', 'Rice')")
        }
        try await service.waitUntilSynced(phone)
        #expect(service.row("todos", "t3")?["title"] == "Rice")

        let outage = service.begin(.offline, for: "alice")
        try await outage.waitUntilNoticed()
        #expect(phone.currentStatus.downloadError != nil)
        outage.end()

        let tablet = PowerSyncDatabase(inMemory: schema)
        try await tablet.connect(connector: service.connector(user: "alice"))
        try await service.waitUntilSynced(tablet)

        try await service.during(.offline, for: "alice") {
            try await phone.execute("UPDATE todos SET title = 'Oat milk' WHERE id = 't1'")
            try service.update("todos", "t1", ["title": "Soy milk"])
            // The backend keeps what was there first.
            service.uploads.answer(.acknowledge)
        }
        try await service.waitUntilSynced(phone, tablet)
        let title = "SELECT title FROM todos WHERE id = 't1'"
        #expect(try await phone.get(title) { try $0.getString(index: 0) } == "Soy milk")

        service.uploads.answer { upload in
            upload.entries.contains { $0.opData?["title"] == "Wine" } ? .reject("not for children") : .apply
        }

        try await phone.disconnectAndClear()
        #expect(try await phone.getAll("SELECT id FROM todos") { try $0.getString(index: 0) } == [])
        try await phone.connect(connector: service.connector(user: "bob"))
        try await service.waitUntilSynced(phone)
        #expect(service.connectedUsers == ["alice", "bob"])

        try await phone.connect(
            connector: service.connector(user: "bob", claims: ["role": .string("admin")]),
            options: ConnectOptions(params: ["room": .string("kitchen")])
        )

        service.clock.advance(by: .seconds(3600))  // tokens have expired
        try await service.waitUntilSynced(phone)
    }

    @Test func aPreviewHasRows() async throws {
        let database = PowerSyncDatabase(inMemory: schema) { rows in
            try rows.insert(Todo(id: "t1", ownerID: "alice", title: "Milk"), into: "todos")
        }
        #expect(try await database.titles == ["Milk"])
    }
}

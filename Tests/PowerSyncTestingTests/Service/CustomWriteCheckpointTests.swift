import PowerSync
import PowerSyncTesting
import Testing

/// A back end that takes uploads into a queue, and tells with a row when they are through.
@Suite(.timeLimit(.minutes(1))) struct CustomWriteCheckpointTests {
    private static let schema = Schema(
        Table(name: "todos", columns: [.text("title")]),
        Table(name: "notices", columns: [.text("text")])
    )
    private static let config = """
        config: {edition: 3}
        streams:
          todos: {auto_subscribe: true, query: SELECT * FROM todos}
          notices: {auto_subscribe: true, priority: 0, query: SELECT * FROM notices}
        event_definitions:
          write_checkpoints:
            payloads:
              - SELECT user_id, client_id, checkpoint FROM checkpoints
        """

    private func database() -> any PowerSyncDatabaseProtocol {
        PowerSyncDatabase(inMemory: Self.schema, logger: DefaultLogger(minSeverity: .fault))
    }

    @Test func aClientThatAsksTheServiceIsToldWhatToDo() async throws {
        let service = try FakeService(streams: Self.config)
        let database = database()
        try await database.connect(connector: service.connector(user: "anna"))
        try await database.execute("INSERT INTO todos (id, title) VALUES ('t1', 'a')")
        for await status in database.currentStatus.asFlow() where status.uploadError != nil { break }
        let error = try #require(database.currentStatus.uploadError)
        #expect("\(error)".contains("complete(writeCheckpoint:)"), "\(error)")
        await #expect { try await service.waitUntilSynced(database) } throws: {
            ($0 as? FakeServiceError)?.code == .customWriteCheckpoints
        }
        try await database.close()
    }

    /// Takes uploads, and gives each the number 1.
    private struct QueueingConnector: PowerSyncBackendConnectorProtocol {
        func fetchCredentials() async throws -> PowerSyncCredentials? { nil }

        func uploadData(database: any PowerSyncDatabaseProtocol) async throws {
            try await database.getNextCrudTransaction()?.complete(writeCheckpoint: "1")
        }
    }

    /// Waits until a query has one row with this value.
    private func wait(
        for value: String,
        of sql: String,
        _ database: any PowerSyncDatabaseProtocol
    ) async throws {
        for try await values in try database.watch(sql, mapper: { try $0.getString(index: 0) }) where values == [value]
        {
            return
        }
    }

    @Test func whatTheUserWroteStaysUntilARowTellsItsNumber() async throws {
        let service = try FakeService(streams: Self.config)
        let database = database()
        try service.put("todos", ["id": "t1", "title": "first"])
        try await database.connect(connector: service.connector(user: "anna", uploadingWith: QueueingConnector()))
        try await wait(for: "first", of: "SELECT title FROM todos", database)
        try await database.execute("UPDATE todos SET title = 'mine'")
        try await wait(for: "0", of: "SELECT count(*) || '' FROM ps_crud", database)
        try service.put("todos", ["id": "t1", "title": "by the back end"])
        // What has priority 0 is shown, and tells that the rest has come.
        for id in ["n1", "n2"] {
            try service.put("notices", ["id": .text(id), "text": "news"])
            try await wait(for: id, of: "SELECT max(id) FROM notices HAVING max(id) IS NOT NULL", database)
        }
        #expect(try await database.get("SELECT title FROM todos") { try $0.getString(index: 0) } == "mine")
        let clientID = try await database.getClientId()
        try service.put(
            "checkpoints",
            ["id": "1", "user_id": "anna", "client_id": .text(clientID), "checkpoint": 1]
        )
        try await wait(for: "by the back end", of: "SELECT title FROM todos", database)
        #expect(database.currentStatus.uploadError == nil)
        try await database.close()
    }
}

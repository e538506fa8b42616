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
}

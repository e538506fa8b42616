import GRDB
import IntegrationTestSupport
import PowerSync
import PowerSyncService
import Testing

/// The SDK in the requests mode against our service: the client chooses the numbers of its write checkpoints.
@Suite(.timeLimit(.minutes(2)))
struct RequestsModeEndToEndTests {
    private let service: TodoService

    init() throws {
        service = try TodoService()
    }

    private static func options(_ transport: SyncTransportMethod) -> ConnectOptions {
        var options = ConnectOptions(checkpointMode: .requests())
        options.retryDelay = 0.2
        options.clientConfiguration = SyncClientConfiguration(transport: transport)
        return options
    }

    private func counter(of client: any PowerSyncDatabaseProtocol) async throws -> Int? {
        try await client.getOptional(
            "SELECT CAST(value AS INTEGER) FROM ps_kv WHERE key = 'last_requested_checkpoint_request_id'"
        ) { try $0.getInt(index: 0) }
    }

    @Test(arguments: [SyncTransportMethod.http, .webSocket])
    func uploadsAreAcknowledgedAndCheckpointsCanBeRequested(transport: SyncTransportMethod) async throws {
        let options = Self.options(transport)
        let (first, second) = (service.client("first"), service.client("second"))
        try await first.execute("INSERT INTO lists(id, owner_id, name) VALUES ('l1', 'anna', 'Groceries')")
        try await service.run { address in
            let connector = try service.connector("anna", address.url)
            try await first.connect(connector: connector, options: options)
            // This one has the same user, a counter of its own, and the numbers of the service.
            var legacy = options
            legacy.checkpointMode = .legacy
            try await second.connect(connector: connector, options: legacy)
            try await second.waitForRows(of: "lists", toEqual: [["l1", "anna", "Groceries"]])

            // The gate has opened: what others do to the row is shown.
            try await second.execute("UPDATE lists SET name = 'Food' WHERE id = 'l1'")
            try await first.waitForRows(of: "lists", toEqual: [["l1", "anna", "Food"]])

            // Everything that the back end has committed is there when the request is answered, and no sooner asked for.
            for name in ["A", "B", "C"] {
                try await service.writeToSource { db in
                    try db.execute(sql: "UPDATE lists SET name = ? WHERE id = 'l1'", arguments: [name])
                }
                let request = try await first.requestCheckpoint()
                try await request.waitForSync(timeout: 30)
                #expect(request.hasSynced)
                let rows = try await first.getAll("SELECT name FROM lists") { try $0.getString(index: 0) }
                #expect(rows == [name])
            }
            // Also when nothing has changed, and several at a time.
            let requests = try await (0..<5).concurrently { _ in try await first.requestCheckpoint() }
            for request in requests { try await request.waitForSync(timeout: 30) }
            try await first.disconnect()
        }
        // The connection agrees on the counter, the upload takes a number, then the requests.
        let last = try #require(try await counter(of: first))
        #expect(last >= 1 + 3 + 5)

        // A service that has restarted goes on counting; so does the client.
        try await service.run { address in
            try await first.connect(connector: service.connector("anna", address.url), options: options)
            let request = try await first.requestCheckpoint()
            try await request.waitForSync(timeout: 30)
            #expect(try await counter(of: first) == last + 1)
            try await first.close()
            try await second.close()
        }
    }

    @Test
    func clientThatHasLostItsCounterGoesOnFromTheServices() async throws {
        let client = service.client("first")
        try await service.run { address in
            let connector = try service.connector("anna", address.url)
            try await client.connect(connector: connector, options: Self.options(.http))
            for _ in 1...3 { _ = try await client.requestCheckpoint() }
            let last = try #require(try await counter(of: client))
            try await client.disconnect()
            try await client.execute("DELETE FROM ps_kv WHERE key = 'last_requested_checkpoint_request_id'")
            try await client.connect(connector: connector, options: Self.options(.http))
            let request = try await client.requestCheckpoint()
            try await request.waitForSync(timeout: 30)
            #expect(try await counter(of: client) == last + 1)
            try await client.close()
        }
    }
}

extension Range<Int> {
    /// The results of a closure that runs for all elements at the same time.
    fileprivate func concurrently<Result: Sendable>(
        _ body: @escaping @Sendable (Int) async throws -> Result
    ) async throws -> [Result] {
        try await withThrowingTaskGroup(of: Result.self) { group in
            for element in self { group.addTask { try await body(element) } }
            return try await group.reduce(into: []) { $0.append($1) }
        }
    }
}

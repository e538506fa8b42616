import IntegrationTestSupport
import PostgresTestSupport
import PowerSync
import PowerSyncService
import Testing

/// Several processes of a service that share a storage in PostgreSQL: any of them serves any client.
@Suite(.timeLimit(.minutes(2))) struct SeveralNodesTests {
    private let service: TodoService
    private let database: TestDatabase
    private let storage: TestDatabase

    init() throws {
        service = try TodoService()
        database = try TestDatabase(
            """
            CREATE TABLE lists (id text PRIMARY KEY, owner_id text, name text);
            CREATE TABLE todos (id text PRIMARY KEY, list_id text, title text, done bool)
            """
        )
        storage = try TestDatabase()
    }

    private func configuration(_ role: ServiceConfiguration.Role) -> ServiceConfiguration {
        func settings(_ database: TestDatabase) -> PostgresSettings {
            var settings = PostgresSettings(uri: database.uri)
            settings.tls = .disable
            return settings
        }
        var configuration = service.configuration
        configuration.source = .postgresql(settings(database))
        configuration.storage = .postgresql(settings(storage))
        configuration.role = role
        return configuration
    }

    @Test func anyNodeServesAnyClient() async throws {
        let (first, second) = (service.client("first"), service.client("second"))
        let (isReady, ready) = AsyncStream.makeStream(of: Void.self)
        let (isOver, end) = AsyncStream.makeStream(of: Void.self)
        try database.run("INSERT INTO lists VALUES ('l1', 'anna', 'Groceries')")
        try await withThrowingTaskGroup(of: Void.self) { group in
            defer {
                ready.finish()
                end.finish()
            }
            group.addTask { [service, configuration = configuration(.sync)] in
                // Also when it does not become ready.
                defer { ready.finish() }
                try await service.run(configuration) { _ in
                    ready.finish()
                    for await _ in isOver {}
                }
            }
            for await _ in isReady {}
            // It waits for the end of the other one that replicates.
            try await service.run(configuration(.sync)) { _ in
                try await service.run(configuration(.api)) { one in
                    try await service.run(configuration(.unified)) { other in
                        try await first.connect(connector: connector(one))
                        try await second.connect(connector: connector(other))
                        for client in [first, second] {
                            try await client.waitForRows(of: "lists", toEqual: [["l1", "anna", "Groceries"]])
                        }
                        // A write checkpoint of one node, made visible by the process that replicates.
                        try await first.execute("INSERT INTO lists (id, owner_id, name) VALUES ('l2', 'anna', '')")
                        try await first.waitForEmptyQueue()
                        let lists: [[String?]] = [["l1", "anna", "Groceries"], ["l2", "anna", "by the backend"]]
                        for client in [first, second] { try await client.waitForRows(of: "lists", toEqual: lists) }

                        end.finish()
                        try await group.next()
                        // Somebody else replicates now, and clients may change the node.
                        try await first.connect(connector: connector(other))
                        try await second.connect(connector: connector(one))
                        try database.run("DELETE FROM lists WHERE id = 'l1'")
                        for client in [first, second] {
                            try await client.waitForRows(of: "lists", toEqual: [["l2", "anna", "by the backend"]])
                        }
                    }
                }
            }
        }
        try await first.close()
        try await second.close()
    }

    private func connector(_ address: BoundAddress) -> DatabaseConnector {
        DatabaseConnector(
            credentials: { [service] in try await service.connector("anna", address.url).fetchCredentials() },
            write: { [database] id in try database.run("INSERT INTO lists VALUES ('\(id)', 'anna', 'by the backend')") }
        )
    }

    @Test func aRoleNeedsAStorageThatCanBeShared() async throws {
        var configuration = service.configuration
        configuration.role = .api
        await #expect {
            try await service.run(configuration) { _ in }
        } throws: { error in
            (error as? ServiceError)?.key == "storage.type"
        }
    }
}

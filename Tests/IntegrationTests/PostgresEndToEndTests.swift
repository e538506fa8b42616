import IntegrationTestSupport
import PostgresTestSupport
import PowerSync
import PowerSyncService
import Testing

/// Clients of a service that replicates a PostgreSQL database.
@Suite(.timeLimit(.minutes(2))) struct PostgresEndToEndTests {
    private let service: TodoService
    private let database: TestDatabase

    init() throws {
        service = try TodoService()
        database = try TestDatabase(
            """
            CREATE TABLE lists (id uuid PRIMARY KEY, owner_id text, name text);
            CREATE TABLE todos (id text PRIMARY KEY, list_id uuid, title text, done bool);
            ALTER TABLE todos ALTER title SET STORAGE EXTERNAL
            """
        )
    }

    private var configuration: ServiceConfiguration {
        var settings = PostgresSettings(uri: database.uri)
        settings.tls = .disable
        settings.slotNamePrefix = "end_to_end_"
        var configuration = service.configuration
        configuration.source = .postgresql(settings)
        return configuration
    }

    private static let list = "11111111-1111-1111-1111-111111111111"
    private static let title = String(repeating: "Milk ", count: 400_000)

    @Test func clientsSeeWhatIsCommitted() async throws {
        let client = service.client("first")
        try database.run(
            """
            INSERT INTO lists VALUES ('\(Self.list)', 'anna', 'Groceries'), (gen_random_uuid(), 'bert', 'Work');
            INSERT INTO todos VALUES ('t1', '\(Self.list)', '\(Self.title)', false)
            """
        )
        var configuration = configuration
        configuration.port = try await service.run(configuration) { address in
            try await client.connect(connector: service.connector("anna", address.url))
            try await client.waitForRows(of: "lists", toEqual: [[Self.list, "anna", "Groceries"]])
            try await client.waitForRows(of: "todos", toEqual: [["t1", Self.list, Self.title, "0"]])
            // A large value stays.
            try database.run("UPDATE todos SET done = true")
            try await client.waitForRows(of: "todos", toEqual: [["t1", Self.list, Self.title, "1"]])
            try database.run("DELETE FROM todos; INSERT INTO todos VALUES ('t2', '\(Self.list)', 'Bread', NULL)")
            try await client.waitForRows(of: "todos", toEqual: [["t2", Self.list, "Bread", nil]])
            return address.port
        }
        #expect(
            try database.run(
                "SELECT slot_name LIKE 'end_to_end_%' FROM pg_replication_slots WHERE database = current_database()"
            ) == [["t"]]
        )
        // While the service is away.
        try database.run("TRUNCATE todos; UPDATE lists SET name = 'Shopping' WHERE owner_id = 'anna'")
        try await service.run(configuration) { _ in
            try await client.waitForRows(of: "lists", toEqual: [[Self.list, "anna", "Shopping"]])
            try await client.waitForRows(of: "todos", toEqual: [])
        }
        try await client.close()
    }

    @Test func writeCheckpointsFollowTheUploads() async throws {
        let client = service.client("first")
        try await service.run(configuration) { address in
            let database = database
            try await client.connect(
                connector: DatabaseConnector(
                    credentials: { try await service.connector("anna", address.url).fetchCredentials() },
                    write: { try database.run("INSERT INTO lists VALUES ('\($0)', 'anna', 'by the backend')") }
                )
            )
            try await client.waitForFirstSync()
            try await client.execute(
                "INSERT INTO lists (id, owner_id, name) VALUES ('\(Self.list)', 'anna', 'by the client')"
            )
            try await client.waitForEmptyQueue()
            try await client.waitForRows(of: "lists", toEqual: [[Self.list, "anna", "by the backend"]])
        }
        try await client.close()
    }
}

import Foundation
import PowerSyncService
import PowerSyncServicePostgres
import PowerSyncTerminal

/// The demo on a PostgreSQL server: three nodes, with their buckets in the same database.
extension PostgresSourceModule: DemoServer {
    static let demoNeeds = """
        On PostgreSQL, the storage is there, too, and three nodes share the work: one replicates, two serve clients \
        behind a balancer. The role needs REPLICATION, and CREATE on the database; the \
        server needs wal_level = logical. The demo makes the schemas \(PostgresDemoPlace.schema) and \
        \(PostgresDemoPlace.storageSchema), the publication \(PostgresDemoPlace.publication) and a replication slot \
        \(PostgresDemoPlace.slotPrefix)….
        """

    func run(
        _ command: DemoCommand,
        _ folder: URL,
        key: DemoKey,
        terminal: Terminal,
        _ makeDemo: (any DemoDeployment) async throws -> Demo
    ) async throws {
        var settings = settings
        settings.publication = PostgresDemoPlace.publication
        settings.slotNamePrefix = PostgresDemoPlace.slotPrefix
        // Three nodes, and servers have few connections.
        settings.maximumPoolSize = 3
        let configuration = command.configuration(
            source: .postgresql(settings),
            storage: .postgresql(settings, schema: PostgresDemoPlace.storageSchema),
            syncConfig: DemoApp.syncConfig(schema: PostgresDemoPlace.schema),
            key: key
        )
        let server = try settings.connectionString()
        let place = try await PostgresDemoPlace(server: server, configuration: configuration, terminal: terminal)
        defer { place.close() }
        let demo = try await makeDemo(
            PostgresDeployment(
                configuration: configuration,
                source: PostgresDemoSource(server: server),
                signer: try key.signer(),
                database: settings.description,
                terminal: terminal
            )
        )
        try await command.run(
            demo,
            terminal,
            making: { try await place.make() },
            removing: { try await place.remove() }
        )
    }
}

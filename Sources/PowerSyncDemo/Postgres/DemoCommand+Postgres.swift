import PowerSyncService
import PowerSyncTerminal

extension DemoCommand {
    /// Runs the demo on a PostgreSQL server, and takes away what it has made there, whatever happens.
    ///
    /// - Parameters:
    ///   - settings: Where the server is.
    ///   - key: What tokens are signed with.
    ///   - terminal: For the output.
    ///   - makeDemo: Makes the demo over a deployment.
    /// - Throws: ``DemoFailure``, ``Interruption``, `UnwritableOutput`, or an error of the server.
    func run(
        on settings: PostgresSettings,
        key: DemoKey,
        terminal: Terminal,
        _ makeDemo: (any DemoDeployment) async throws -> Demo
    ) async throws {
        var settings = settings
        settings.publication = PostgresDemoPlace.publication
        settings.slotNamePrefix = PostgresDemoPlace.slotPrefix
        // Three nodes, and servers have few connections.
        settings.maximumPoolSize = 3
        let configuration = configuration(
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
        try await run(demo, terminal, making: { try await place.make() }, removing: { try await place.remove() })
    }
}

import PowerSyncService
import PowerSyncTerminal

extension DemoCommand {
    /// Runs the demo on a PostgreSQL server, and takes away what it has made there, whatever happens.
    ///
    /// - Parameters:
    ///   - uri: Where the server is.
    ///   - key: What tokens are signed with.
    ///   - terminal: For the output.
    ///   - makeDemo: Makes the demo over a deployment.
    /// - Throws: ``DemoFailure``, ``Interruption``, `UnwritableOutput`, or an error of the server.
    func run(
        onPostgres uri: String,
        key: DemoKey,
        terminal: Terminal,
        _ makeDemo: (any DemoDeployment) async throws -> Demo
    ) async throws {
        var settings = PostgresSettings(uri: uri)
        settings.key = "--postgres"
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
        let interruptions = await Interruptions()
        let outcome: Result<Void, any Error>
        do {
            // Not cancelled: the connection has to be of use afterwards.
            try await place.make()
            try await interruptions.stopping { try await demo.run() }
            outcome = .success(())
        } catch {
            outcome = .failure(error)
        }
        do {
            try await place.remove()
        } catch {
            try? terminal.line("What the demo has made on the server is still there, until the next run: \(error)")
            try outcome.get()
            throw error
        }
        try outcome.get()
        try terminal.line("Everything that the demo has made on the server is gone.")
    }
}

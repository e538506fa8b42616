import Foundation
import PowerSyncService
import PowerSyncServiceMySQL
import PowerSyncTerminal

extension DemoCommand {
    /// Runs the demo on a MySQL or MariaDB server, and takes away what it has made there, whatever happens.
    ///
    /// - Parameters:
    ///   - settings: Where the server is.
    ///   - folder: For the buckets.
    ///   - key: What tokens are signed with.
    ///   - terminal: For the output.
    ///   - makeDemo: Makes the demo over a deployment.
    /// - Throws: ``DemoFailure``, ``Interruption``, `UnwritableOutput`, or an error of the server.
    func run(
        on settings: MySQLSettings,
        _ folder: URL,
        key: DemoKey,
        terminal: Terminal,
        _ makeDemo: (any DemoDeployment) async throws -> Demo
    ) async throws {
        let configuration = configuration(
            source: .mysql(settings),
            storage: .sqlite(path: folder.appending(path: "buckets.db").path),
            syncConfig: DemoApp.syncConfig(schema: MySQLDemoPlace.schema),
            key: key
        )
        let server = try settings.connection()
        let place = try await MySQLDemoPlace(server: server, configuration: configuration, terminal: terminal)
        defer { place.close() }
        let demo = try await makeDemo(
            MySQLDeployment(
                configuration: configuration,
                source: MySQLDemoSource(server: server),
                signer: try key.signer(),
                database: settings.description
            )
        )
        try await run(demo, terminal, making: { try await place.make() }, removing: { try await place.remove() })
    }
}

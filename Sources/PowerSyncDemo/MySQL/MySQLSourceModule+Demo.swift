import Foundation
import PowerSyncService
import PowerSyncServiceMySQL
import PowerSyncTerminal

/// The demo on a MySQL or MariaDB server: one service, with its buckets in a file.
extension MySQLSourceModule: DemoServer {
    static let demoNeeds = """
        On MySQL and MariaDB, one service has its buckets in a file. The account needs REPLICATION SLAVE, REPLICATION \
        CLIENT (MariaDB: BINLOG MONITOR, SLAVE MONITOR) and PROCESS, and everything on the schema \(MySQLDemoPlace.schema), \
        which the demo makes.
        """

    func run(
        _ command: DemoCommand,
        _ folder: URL,
        key: DemoKey,
        terminal: Terminal,
        _ makeDemo: (any DemoDeployment) async throws -> Demo
    ) async throws {
        let configuration = command.configuration(
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
        try await command.run(
            demo,
            terminal,
            making: { try await place.make() },
            removing: { try await place.remove() }
        )
    }
}

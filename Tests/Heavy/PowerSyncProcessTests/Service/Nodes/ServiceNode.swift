import Foundation
import IntegrationTestSupport
import PowerSyncService
import TestSupport

/// A process of `powersync serve` that shares its source and its storage in PostgreSQL with others.
final class ServiceNode {
    /// What a process says when it serves.
    static let isReady = "The service is ready."

    /// Where it listens; the same after every start.
    let url: String
    private(set) var command: RunningCommand
    /// Whether ``ready()`` has returned since its last start.
    private(set) var hasBeenReady = false
    private let arguments: [String]
    private let environment: [String: String]

    /// Starts a process.
    ///
    /// - Parameters:
    ///   - config: The path of its configuration.
    ///   - role: What it does.
    /// - Throws: An error of `Process`.
    init(config: String, role: String = "unified") throws {
        let port = FreePort.take()
        url = "http://127.0.0.1:\(port)"
        arguments = ["serve", "--config", config, "--role", role]
        environment = ["PS_PORT": String(port)]
        command = try RunningCommand(arguments, environment: environment)
    }

    /// Starts the process again.
    func start() throws {
        command = try RunningCommand(arguments, environment: environment)
        hasBeenReady = false
    }

    /// Waits until it is ready.
    ///
    /// A process that ends before it was, as it does without its storage, is started again, as whatever supervises it would.
    func ready() async throws {
        while !hasBeenReady {
            do {
                try await command.wait(for: Self.isReady)
                hasBeenReady = true
            } catch is RunningCommand.Ended {
                try start()
            }
        }
    }

    /// Writes the files that all nodes of a service have.
    ///
    /// - Parameters:
    ///   - service: Whose folder and sync config they are.
    ///   - source: The URI of the source, which is PostgreSQL.
    ///   - storage: The URI of the storage.
    /// - Returns: The path of the configuration.
    /// - Throws: When a file cannot be written.
    static func writeConfig(of service: TodoService, source: String, storage: String) throws -> String {
        let connection = #"{type: postgresql, uri: "\#(source)", sslmode: disable}"#
        return try writeConfig(of: service, connection: connection, storage: storage)
    }

    /// The same with any source, which is an item of `replication.connections` in one line.
    static func writeConfig(of service: TodoService, connection: String, storage: String) throws -> String {
        let config = service.folder.appending(path: "powersync.yaml").path
        try """
        replication: {connections: [\(connection)]}
        storage: {type: postgresql, uri: "\(storage)", sslmode: disable}
        sync_config: {path: sync.yaml}
        host: 127.0.0.1
        port: !env PS_PORT::number
        client_auth: \(TodoService.clientAuth)
        system: {logging: {level: notice, format: text}}
        """.write(toFile: config, atomically: true, encoding: .utf8)
        try service.writeSyncConfig()
        return config
    }
}

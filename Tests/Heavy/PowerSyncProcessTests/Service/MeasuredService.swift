import Foundation
import GRDB
import IntegrationTestSupport
import PowerSyncService
import TestSupport

/// A process of `powersync serve` over lists and todos, whose memory is looked at.
final class MeasuredService {
    let port = FreePort.take()
    let command: RunningCommand
    let memory: ProcessMemory
    private let service: TodoService

    /// Starts it, and waits until it has copied what is there.
    ///
    /// - Parameters:
    ///   - parameters: `api.parameters`.
    ///   - logLevel: What it says.
    ///   - environment: Variables of the process.
    ///   - fill: Writes to the source, which has its tables.
    /// - Throws: An error of the database, of a file or of the process.
    init(
        parameters: [(key: String, value: Int)],
        logLevel: String,
        environment: [String: String] = [:],
        fill: @escaping @Sendable (Database) throws -> Void
    ) async throws {
        service = try TodoService()
        try await service.writeToSource { db in
            for statement in TodoService.statements { try db.execute(sql: statement) }
            try fill(db)
        }
        let config = service.folder.appending(path: "powersync.yaml").path
        let tables = TodoService.statements.map { "\"\($0)\"" }.joined(separator: ", ")
        try """
        replication: {connections: [{type: embedded, path: source.db, tables: [\(tables)]}]}
        storage: {type: sqlite, path: buckets.db}
        sync_config: {path: sync.yaml}
        api: {parameters: {\(parameters.map { "\($0.key): \($0.value)" }.joined(separator: ", "))}}
        host: 127.0.0.1
        port: \(port)
        client_auth: \(TodoService.clientAuth)
        system: {logging: {level: \(logLevel), format: text}}
        """.write(toFile: config, atomically: true, encoding: .utf8)
        try service.writeSyncConfig()
        command = try RunningCommand(["serve", "--config", config], environment: environment)
        try await command.wait(for: ServiceNode.isReady)
        memory = ProcessMemory(of: command.processIdentifier)
    }

    /// Clients of a user.
    func clients(of user: String) throws -> RawClients {
        RawClients(port: port, token: try service.configuration.makeDevelopmentToken(userID: user))
    }
}

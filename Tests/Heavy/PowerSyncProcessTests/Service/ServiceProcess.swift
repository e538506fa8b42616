import Foundation
import IntegrationTestSupport
import PowerSyncService
import TestSupport

/// `powersync serve` as a child process.
final class ServiceProcess {
    /// Where it listens; the same after every start.
    let address: Address
    private let executable: URL
    private let config: String
    private var running: (process: Process, exits: AsyncStream<Void>)?

    struct Address {
        let port: Int
        var url: String { "http://127.0.0.1:\(port)" }
    }

    /// The source of the service's own, in which its backend writes, too.
    static let embedded = """
        - type: embedded
          path: source.db
          tables:
        \(TodoService.statements.map { "    - \($0)" }.joined(separator: "\n"))
        """

    /// Writes the files of a service.
    ///
    /// - Parameters:
    ///   - service: Whose folder and sync config they are.
    ///   - source: An item of `replication.connections`.
    /// - Throws: When a file cannot be written.
    init(_ service: TodoService, source: String) throws {
        // The test bundle and the command are built into the same folder.
        executable = URL(filePath: CommandLine.arguments[0]).deletingLastPathComponent().appending(path: "powersync")
        address = Address(port: FreePort.take())
        config = service.folder.appending(path: "powersync.yaml").path
        let connection = source.split(separator: "\n").map { "    \($0)" }.joined(separator: "\n")
        let yaml = """
            replication:
              connections:
            \(connection)
            storage: {type: sqlite, path: buckets.db}
            development: {write_endpoint: true}
            sync_config: {path: sync.yaml}
            host: 127.0.0.1
            port: \(address.port)
            client_auth: \(TodoService.clientAuth)
            system: {logging: {level: error, format: text}}
            """
        try yaml.write(toFile: config, atomically: true, encoding: .utf8)
        try service.writeSyncConfig()
    }

    deinit {
        running?.process.terminate()
    }

    /// Starts the command.
    ///
    /// - Parameter untilReady: Whether to wait until it says that it is ready.
    /// - Throws: ``Ended``, or an error of `Process`.
    func start(untilReady: Bool = true) async throws {
        let process = Process()
        process.executableURL = executable
        process.arguments = ["serve", "--config", config]
        let output = Pipe()
        process.standardOutput = output
        let (texts, continuation) = AsyncStream.makeStream(of: Data.self)
        output.fileHandleForReading.readabilityHandler = { handle in
            let data = handle.availableData
            if data.isEmpty {
                continuation.finish()
            } else {
                continuation.yield(data)
            }
        }
        defer { output.fileHandleForReading.readabilityHandler = nil }
        let (exits, exit) = AsyncStream.makeStream(of: Void.self)
        process.terminationHandler = { _ in exit.finish() }
        try process.run()
        running = (process, exits)
        guard untilReady else { return }
        var said = ""
        for await text in texts {
            said += String(decoding: text, as: UTF8.self)
            if said.contains("The service is ready.") { return }
        }
        throw Ended(output: said)
    }

    /// `kill -9`; returns when the process is gone.
    func kill() async {
        guard let (process, exits) = running else { return }
        running = nil
        Foundation.kill(process.processIdentifier, SIGKILL)
        for await _ in exits {}
    }

    /// The service ended before it was ready.
    struct Ended: Error {
        let output: String
    }
}

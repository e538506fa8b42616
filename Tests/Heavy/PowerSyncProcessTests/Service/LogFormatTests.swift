import Foundation
import IntegrationTestSupport
import TestSupport
import Testing

/// The log of `powersync serve`, in each format.
@Suite(.timeLimit(.minutes(1))) struct LogFormatTests {
    @Test(arguments: [("text", "port="), ("json", #""port":"#)])
    func whereItListensIsSaidOnceAndByAKey(format: String, key: String) async throws {
        let service = try TodoService()
        let (port, metrics) = (FreePort.take(), FreePort.take())
        let tables = TodoService.statements.map { "\"\($0)\"" }.joined(separator: ", ")
        let yaml = """
            replication: {connections: [{type: embedded, path: source.db, tables: [\(tables)]}]}
            storage: {type: sqlite, path: buckets.db}
            sync_config: {path: sync.yaml}
            host: 127.0.0.1
            port: \(port)
            client_auth: \(TodoService.clientAuth)
            telemetry: {prometheus_port: \(metrics)}
            system: {logging: {format: \(format)}}
            """
        for (text, file) in [(yaml, "powersync.yaml"), (TodoService.syncConfig, "sync.yaml")] {
            try text.write(to: service.folder.appending(path: file), atomically: true, encoding: .utf8)
        }
        let command = try RunningCommand(["serve", "--config", service.folder.appending(path: "powersync.yaml").path])
        try await command.wait(for: "\(key)\(port)", "\(key)\(metrics)", "The service is ready")
        command.signal(SIGTERM)
        #expect(await command.waitForExit() == 0, "\(command.said)")
        let about = command.said.filter { $0.contains("\(port)") || $0.contains("\(metrics)") }
        let messages = ["Running on port", "Metrics are on port"]
        #expect(messages.allSatisfy { message in about.contains { $0.contains(message) } }, "\(about)")
        #expect(!command.said.contains { $0.contains("Server started") }, "\(command.said)")
    }
}

import Foundation
import IntegrationTestSupport
import PowerSyncService
import TestSupport
import Testing

/// `powersync serve` as `scripts/check-protocol` sees it when it is given everything that it can use.
///
/// With `POWERSYNC_SLOW` it also watches an idle stream, and one whose token expires, for a minute each.
@Suite(.timeLimit(.minutes(5))) struct ProtocolScriptTests {
    private let service: TodoService
    private let folder: URL

    init() throws {
        service = try TodoService()
        folder = service.folder
        try write(ProtocolCheck.syncConfig, to: "sync.yaml")
    }

    private func write(_ text: String, to file: String) throws {
        try text.write(to: folder.appending(path: file), atomically: true, encoding: .utf8)
    }

    /// Starts a service.
    ///
    /// - Parameters:
    ///   - name: What its files begin with.
    ///   - log: Where its log goes; beside what it says if `nil`.
    ///   - sections: What its configuration has beside the source, the storage and the keys.
    ///   - announcement: What it says when it answers.
    /// - Returns: The running service, and its URL.
    /// - Throws: When it does not say that.
    private func serve(
        _ name: String,
        log: String? = nil,
        _ sections: String...,
        until announcement: String = "The service is ready."
    ) async throws -> (service: ShellLine, url: String) {
        let port = FreePort.take()
        let tables = ProtocolCheck.tables.map { "\"\($0)\"" }.joined(separator: ", ")
        let yaml = """
            replication: {connections: [{type: embedded, path: \(name)-source.db, tables: [\(tables)]}]}
            storage: {type: sqlite, path: \(name)-buckets.db}
            client_auth: \(TodoService.clientAuth)
            host: 127.0.0.1
            port: \(port)
            \(sections.joined(separator: "\n"))
            """
        try write(yaml, to: "\(name).yaml")
        let redirection = log.map { " 2>\($0)" } ?? ""
        let line = try ShellLine("powersync serve --config \(name).yaml\(redirection)", in: folder)
        let said = await line.lines { $0.contains(announcement) }
        try #require(said.last?.contains(announcement) == true, "\(said)")
        return (line, "http://127.0.0.1:\(port)")
    }

    private static let rows = """
        {"data": [
          {"op": "PUT", "type": "lists", "id": "l1", "data": {"owner_id": "anna", "name": "Groceries"}},
          {"op": "PUT", "type": "lists", "id": "l2", "data": {"owner_id": "anna", "name": "Work"}},
          {"op": "PUT", "type": "todos", "id": "t1", "data": {"list_id": "l1", "title": "Milk", "done": 0}},
          {"op": "PUT", "type": "todos", "id": "t2", "data": {"list_id": "l1", "title": "Bread \\"rye\\"", "done": 0}}
        ]}
        """

    @Test func everyCheckPasses() async throws {
        let syncConfig = "sync_config: {path: sync.yaml}"
        let metrics = FreePort.take()
        let main = try await serve(
            "main",
            log: "main.log",
            syncConfig,
            "api: {tokens: [an-admin-token]}",
            "development: {write_endpoint: true}",
            "telemetry: {prometheus_port: \(metrics)}"
        )
        let single = try await serve("single", syncConfig, "api: {parameters: {max_concurrent_connections: 1}}")
        let empty = try await serve("empty", "api: {tokens: [an-admin-token]}", until: "Running on port")

        let token = try service.configuration.makeDevelopmentToken(userID: "anna")
        try write(Self.rows, to: "rows.json")
        let fields = "-H 'Authorization: Token \(token)' -H 'Content-Type: application/json'"
        let written = try ShellLine("curl -sS \(fields) -d @rows.json -w '\\n' \(main.url)/dev/write", in: folder)
        let answer = await written.lines()
        #expect(answer == [#"{"data":{"applied":4}}"#])
        var environment = [
            "POWERSYNC_TOKEN": token,
            "POWERSYNC_ADMIN_TOKEN": "an-admin-token",
            "POWERSYNC_METRICS": "http://127.0.0.1:\(metrics)",
            "POWERSYNC_LARGE": "1",
            "POWERSYNC_LOG": folder.appending(path: "main.log").path,
            "POWERSYNC_PID": "\(main.service.processIdentifier)",
            "POWERSYNC_EMPTY": empty.url,
            "POWERSYNC_SINGLE": single.url,
        ]
        let isSlow = ProcessInfo.processInfo.environment["POWERSYNC_SLOW"] != nil
        if isSlow {
            let short = try service.configuration.makeDevelopmentToken(userID: "anna", lifetime: .seconds(150))
            environment["POWERSYNC_SHORT_TOKEN"] = short
        }
        let check = try await ProtocolCheck(of: main.url, environment: environment)
        #expect(check.status == 0, "\(check.failures)")
        #expect(check.lines.filter { $0.hasPrefix("skipped ") }.count == (isSlow ? 0 : 2), "\(check.lines)")
        #expect(await main.service.end() == 0)
        #expect(await single.service.end() == 0)
        #expect(await empty.service.end() == 0)
    }
}

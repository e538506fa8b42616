import Foundation
import IntegrationTestSupport
import PostgresTestSupport
import PowerSyncProtocol
import TestSupport
import Testing

/// What `GET /metrics` says of a service that has done something (docs/service.md "Metrics and logs").
@Suite(.timeLimit(.minutes(3))) struct MetricsTests {
    /// A development service in a folder, with metrics.
    private struct Development {
        let folder: TemporaryFolder
        let port = FreePort.take()
        let metricsPort = FreePort.take()

        init() async throws {
            folder = try TemporaryFolder()
            _ = try await CommandRun(["init", "app", "--port", "\(port)"], in: folder)
            let file = folder.path("app/powersync.yaml")
            let yaml = try String(contentsOfFile: file, encoding: .utf8)
            try (yaml + "\ntelemetry: {prometheus_port: \(metricsPort)}\n")
                .write(toFile: file, atomically: true, encoding: .utf8)
        }

        func line(_ text: String) throws -> ShellLine {
            try ShellLine(text, in: URL(filePath: folder.path("app"), directoryHint: .isDirectory))
        }

        /// The metrics by their names.
        func metrics() async throws -> [String: Double] {
            try await Metrics.read(metricsPort, in: URL(filePath: folder.path("app"), directoryHint: .isDirectory))
        }
    }

    /// What a service shows on a port, by names with their labels.
    private enum Metrics {
        static func read(_ port: Int, in folder: URL) async throws -> [String: Double] {
            let lines = try await ShellLine("curl -sS http://127.0.0.1:\(port)/metrics", in: folder).lines()
            var metrics: [String: Double] = [:]
            // A label may have spaces.
            for line in lines {
                guard let end = line.lastIndex(of: " "), let value = Double(line[line.index(after: end)...]) else {
                    continue
                }
                metrics[String(line[..<end])] = value
            }
            return metrics
        }
    }

    /// The names in the table of docs/service.md.
    private static func documentedNames() throws -> [String] {
        var root = URL(filePath: #filePath)
        for _ in 0..<5 { root.deleteLastPathComponent() }
        let page = try String(contentsOf: root.appending(path: "docs/service.md"), encoding: .utf8)
        return page.split(separator: "\n").filter { $0.hasPrefix("| `powersync_") }.map { row in
            String(row.dropFirst(3).prefix { $0.isLetter || $0 == "_" })
        }
    }

    @Test func everythingThatWasDoneIsCounted() async throws {
        let development = try await Development()
        // The first run makes the rows, the second one copies them into a new storage.
        let first = try development.line("powersync dev")
        _ = await first.lines { DevelopmentLines.isLast($0) }
        #expect(await first.end() == 0)
        for name in ["buckets.db", "buckets.db-wal", "buckets.db-shm"] {
            try? FileManager.default.removeItem(atPath: development.folder.path("app/data/" + name))
        }
        let service = try development.line("powersync dev")
        let commands = DevelopmentLines(await service.lines { DevelopmentLines.isLast($0) })

        let stream = try development.line(try #require(commands.stream(of: "user-1")) + " --compressed")
        #expect(await stream.lines { $0.contains("checkpoint_complete") }.contains { $0.contains("\"data\"") })
        let metrics = try await development.metrics()
        func metric(_ name: String) -> Double { metrics["powersync_" + name] ?? -1 }
        #expect(metric("concurrent_connections") == 1)
        #expect(metric("operations_synced_total") > 1)
        // What is compressed is shorter, and something.
        #expect(metric("data_sent_bytes_total") > 0)
        #expect(metric("data_synced_bytes_total") > metric("data_sent_bytes_total"), "\(metrics)")
        #expect(metric("chunks_replicated_total") >= 2)
        #expect(metric("rows_replicated_total") > metric("chunks_replicated_total"))
        #expect(metric("data_replicated_bytes_total") > 0)

        // A transaction of the source.
        let transactions = metric("transactions_replicated_total")
        #expect(transactions >= 0)
        let write = try development.line(try #require(commands.write(as: "user-1")))
        #expect(await write.lines().joined().contains(#""applied":1"#))
        #expect(await stream.lines { $0.contains("A new name") }.last?.contains("A new name") == true)
        var counted = transactions
        // Clients may have it a moment before it is counted.
        for _ in 0..<1000 where counted == transactions {
            counted = try await development.metrics()["powersync_transactions_replicated_total"] ?? -1
        }
        #expect(counted > transactions)
        await stream.end(by: SIGKILL)
        // The service notices that the client is gone as soon as the network says so.
        func ended(_ metrics: [String: Double]) -> [Double] {
            let labels = [
                #"outcome="completed""#, #"reason="client closing stream""#, #"code="none""#, #"transport="http""#,
            ]
            return metrics.filter { name, _ in
                name.hasPrefix("powersync_sync_connections_total{") && labels.allSatisfy(name.contains)
            }.map(\.value)
        }
        var ends: [Double] = []
        for _ in 0..<1000 where ends != [1] { ends = ended(try await development.metrics()) }
        #expect(ends == [1])

        // Sizes are measured now and then; the dashboard says when they are there.
        let address = try #require(commands["dashboard"]).components(separatedBy: "#key=")
        try #require(address.count == 2)
        let events = try development.line("curl -sSN -H 'Authorization: Bearer \(address[1])' \(address[0])/events")
        let names = ["operation", "parameter", "replication"].map { "powersync_\($0)_storage_size_bytes" }
        var (shown, sizes): ([Double], [Double]) = ([], [-1])
        // They may be measured again between the two answers: then the next ones are the same.
        for _ in 0..<20 where shown != sizes {
            let lines = await events.lines { Self.sizes($0).allSatisfy { $0 > 0 } && !Self.sizes($0).isEmpty }
            let metrics = try await development.metrics()
            (shown, sizes) = (Self.sizes(lines.last ?? ""), names.map { metrics[$0] ?? -1 })
        }
        await events.end(by: SIGKILL)
        #expect(shown == sizes)
        #expect(await service.end() == 0)
    }

    /// Starts a process that replicates a database, with metrics.
    private static func startNode(
        of service: TodoService,
        _ source: TestDatabase,
        _ storage: TestDatabase
    ) async throws -> (ServiceNode, metricsPort: Int) {
        let config = try ServiceNode.writeConfig(of: service, source: source.uri, storage: storage.uri)
        let port = FreePort.take()
        let yaml = try String(contentsOfFile: config, encoding: .utf8)
        try (yaml + "\ntelemetry: {prometheus_port: \(port)}\n")
            .write(toFile: config, atomically: true, encoding: .utf8)
        let node = try ServiceNode(config: config)
        try await node.ready()
        return (node, port)
    }

    @Test func everyDocumentedMetricIsThereAfterATransactionOfPostgreSQL() async throws {
        let service = try TodoService()
        let source = try TestDatabase(TodoService.postgresTables)
        let storage = try TestDatabase()
        // The server is asked about slots at the start, and a minute later.
        try source.run("SELECT pg_create_logical_replication_slot('powersync_\(source.name)', 'pgoutput')")
        let (node, port) = try await Self.startNode(of: service, source, storage)
        let names = try Self.documentedNames()
        #expect(names.count > 10 && names.contains("powersync_replication_lag_seconds"), "\(names)")

        let transactions = "powersync_transactions_replicated_total"
        let before = try await Metrics.read(port, in: service.folder)[transactions] ?? -1
        try source.run("INSERT INTO lists VALUES ('l1', 'anna', 'Groceries')")
        var metrics: [String: Double] = [:]
        var missing = names
        // It takes as long as it takes until the transaction is there.
        for _ in 0..<1000 where !missing.isEmpty || metrics[transactions] ?? before <= before {
            metrics = try await Metrics.read(port, in: service.folder)
            missing = names.filter { name in !metrics.keys.contains { $0 == name || $0.hasPrefix("\(name){") } }
        }
        #expect(missing.isEmpty, "\(missing)")
        #expect(before >= 0 && metrics[transactions] ?? 0 > before)
        #expect((0..<3600).contains(metrics["powersync_replication_lag_seconds"] ?? -1), "\(metrics)")
        #expect(metrics["powersync_rows_replicated_total"] ?? 0 >= 1)
        #expect(metrics["powersync_data_replicated_bytes_total"] ?? 0 > 0)
        node.command.signal(SIGTERM)
        #expect(await node.command.waitForExit() == 0, "\(node.command.said)")
    }

    @Test func whatAServerKeepsForSlotsIsShown() async throws {
        let service = try TodoService()
        let source = try TestDatabase(TodoService.postgresTables)
        let storage = try TestDatabase()
        // One that nobody needs any more.
        let slot = "powersync_\(source.name)"
        try source.run("SELECT pg_create_logical_replication_slot('\(slot)', 'pgoutput')")
        let (node, port) = try await Self.startNode(of: service, source, storage)

        let names = ["lag", "retained"].map { "powersync_replication_slot_\($0)_bytes{slot=\"\(slot)\"}" }
        var shown: [Double] = []
        // The server is asked when the service starts, and may answer later than the service is ready.
        for _ in 0..<100 where shown.count < names.count {
            let metrics = try await Metrics.read(port, in: service.folder)
            shown = names.compactMap { metrics[$0] }
        }
        #expect(shown.count == names.count && shown.allSatisfy { $0 > 0 }, "\(shown)")
        node.command.signal(SIGTERM)
        #expect(await node.command.waitForExit() == 0, "\(node.command.said)")
    }

    /// The sizes of operations, parameter indexes and rows in a snapshot; empty before they are known.
    private static func sizes(_ event: String) -> [Double] {
        guard event.hasPrefix("data: "), let snapshot = try? JSONObject(parsing: String(event.dropFirst(6))),
            case .object(let storage) = snapshot["storage"], case .object(let sizes) = storage["sizes"]
        else { return [] }
        return ["operations", "parameters", "rows"].map { name in
            if case .integer(let number) = sizes[name] { Double(number) } else { 0 }
        }
    }
}

import Foundation
import GRDB
import PowerSync
import TestSupport
import Testing

/// The command `inspect` as people and scripts run it.
@Suite(.timeLimit(.minutes(3))) struct InspectCommandTests {
    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
    }

    private func makeClient() async throws {
        let database = PowerSyncDatabase(
            schema: Schema(Table(name: "lists", columns: [.text("name")])),
            dbFilename: folder.path("client.db"),
            logger: DefaultLogger(minSeverity: .fault)
        )
        try await database.execute("INSERT INTO lists(id, name) VALUES ('l1', 'Hidden')")
        try await database.close()
    }

    private func run(_ arguments: String...) async throws -> CommandRun {
        try await CommandRun(["inspect"] + arguments, in: folder)
    }

    @Test func theStatusSaysWhetherSomethingIsDamaged() async throws {
        try await makeClient()
        let intact = try await run("client.db")
        #expect(intact.status == 0)
        #expect(intact.text.contains("PUT lists/l1") && !intact.text.contains("Hidden"))
        #expect(intact.text.contains("notice: 1 local write waits for its upload"))
        let open = try await run("client.db", "--rows")
        #expect(open.text.contains(#""data":{"name":"Hidden"}"#))

        let queue = try DatabaseQueue(path: folder.path("client.db"))
        try await queue.write { try $0.execute(sql: "DELETE FROM ps_tx") }
        try queue.close()
        let damaged = try await run("client.db")
        #expect(damaged.status == 1)
        #expect(damaged.text.contains("damage: "))
    }

    @Test func toolsGetOneDocument() async throws {
        try await makeClient()
        let output = try await run("--json", "client.db")
        #expect(output.status == 0)
        let document = try JSONSerialization.jsonObject(with: Data(output.text.utf8)) as? [String: Any]
        #expect(document?["schemaVersion"] as? Int == 14)
        let missing = try await run("--json", "nowhere.db")
        #expect(missing.status == 2)
        let refusal = try JSONSerialization.jsonObject(with: Data(missing.text.utf8)) as? [String: [String: String]]
        #expect(refusal?["error"]?["code"] == "missing")
    }

    @Test func aFileThatCannotBeReadIsNamed() async throws {
        let missing = try await run("nowhere.db")
        #expect(missing.status == 2 && missing.text.isEmpty)
        #expect(missing.errors == "Error: nowhere.db does not exist; name the database file of a client.")
        #expect(try await run().status == 64)
    }

    @Test func anAppIsAskedWhileItRuns() async throws {
        let database = PowerSyncDatabase(
            schema: Schema(Table(name: "lists", columns: [.text("name")])),
            dbFilename: folder.path("client.db"),
            logger: DefaultLogger(minSeverity: .fault)
        )
        try await database.execute("INSERT INTO lists(id, name) VALUES ('l1', 'Groceries')")
        let nobody = try await run("--app", "app.socket")
        #expect(nobody.status == 2 && nobody.errors.hasPrefix("Error: No app listens at app.socket"))
        let (start, started) = AsyncStream.makeStream(of: Never.self)
        let socket = URL(filePath: folder.path("app.socket"))
        async let listening: Void = database.listenForInspection(at: socket) { started.finish() }
        for await _ in start {}

        let status = try await run("--app", "app.socket")
        #expect(status.status == 0 && status.text.hasPrefix("not connected\nnever synced\n"))
        let refused = try await run("--app", "app.socket", "--json", "--sql", "DELETE FROM lists")
        #expect(refused.status == 1 && refused.text.contains(#""code" : "refused""#))
        let requests = """
            {"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18"}}
            {"jsonrpc":"2.0","method":"notifications/initialized"}
            {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"query","arguments":{"sql":"SELECT name FROM lists"}}}

            """
        let session = try await CommandRun(
            ["inspect", "--app", "app.socket", "--mcp"],
            in: folder,
            input: requests
        )
        let answers = session.text.split(separator: "\n")
        #expect(session.status == 0 && session.errors.isEmpty && answers.count == 2)
        #expect(answers.first?.hasPrefix(#"{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-06-18","#) == true)
        #expect(
            answers.last?.contains(
                #""structuredContent":{"columns":["name"],"rows":[["Groceries"]],"isComplete":true}"#
            ) == true
        )
        try await database.close()
        try await listening
    }
}

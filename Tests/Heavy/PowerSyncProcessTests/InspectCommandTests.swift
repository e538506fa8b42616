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
        #expect(intact.text.contains("notice: 1 local writes wait for their upload"))
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
}

import Foundation
import PowerSync
import Testing

/// The README's example is this file's: it compiles, and the README shows the same text.
struct ReadmeExampleTests {
    @Test func theReadmeShowsTheCodeThatIsCompiledHere() throws {
        let file = URL(filePath: #filePath)
        let readme = try String(
            contentsOf: file.deletingLastPathComponent().appending(path: "../../README.md"),
            encoding: .utf8
        )
        let source = try String(contentsOf: file, encoding: .utf8)
        let compiled = try #require(Self.text(of: source, from: "// README begins\n", to: "    // README ends"))
        let dedented = compiled.split(separator: "\n", omittingEmptySubsequences: false)
            .map { $0.hasPrefix("    ") ? $0.dropFirst(4) : $0 }
            .joined(separator: "\n")
        let shown = try #require(Self.text(of: readme, from: "```swift\nimport PowerSync\n\n", to: "```"))
        #expect(dedented == shown)
    }

    private static func text(of whole: String, from start: String, to end: String) -> String? {
        guard let start = whole.range(of: start) else { return nil }
        let rest = whole[start.upperBound...]
        guard let end = rest.range(of: end) else { return nil }
        return String(rest[..<end.lowerBound])
    }
}

/// What stands for the app's own backend in the example.
private protocol BackendSession: Sendable {
    func syncToken() async throws -> String
    func post(_ entries: [CrudEntry]) async throws
}

private func readmeExample(session: any BackendSession) async throws {
    // README begins
    let schema = Schema(
        Table(name: "lists", columns: [.text("name"), .text("owner_id")]),
        Table(
            name: "todos",
            columns: [.text("list_id"), .text("title"), .integer("done")],
            indexes: [.ascending(name: "by_list", column: "list_id")]
        )
    )

    struct Connector: PowerSyncBackendConnectorProtocol {
        /// Where to sync from, and who the user is. Cached by the SDK and renewed before it expires.
        func fetchCredentials() async throws -> PowerSyncCredentials? {
            PowerSyncCredentials(endpoint: "https://sync.example.org", token: try await session.syncToken())
        }

        /// Sends local writes to your own backend, oldest first. Called while the sync stream is connected.
        func uploadData(database: any PowerSyncDatabaseProtocol) async throws {
            while let transaction = try await database.getNextCrudTransaction() {
                try await session.post(transaction.crud)
                try await transaction.complete()
            }
        }

        let session: any BackendSession
    }

    let database = PowerSyncDatabase(schema: schema, dbFilename: "todos.db")
    try await database.connect(connector: Connector(session: session), options: nil)

    try await database.execute(
        sql: "INSERT INTO lists(id, name, owner_id) VALUES (uuid(), ?, ?)",
        parameters: ["Groceries", "user-1"]
    )

    for try await names in try database.watch(
        "SELECT name FROM lists ORDER BY name",
        mapper: { try $0.getString(index: 0) }
    ) {
        print(names)
    }
    // README ends
}

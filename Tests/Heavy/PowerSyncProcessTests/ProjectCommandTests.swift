import Foundation
import TestSupport
import Testing

/// The commands `init` and `dev` as a stranger runs them: by what is printed, word for word.
@Suite(.timeLimit(.minutes(3))) struct ProjectCommandTests {
    private let folder: TemporaryFolder
    /// Where neither the kernel nor the other servers of the tests take one.
    private let port = FreePort.take()

    init() throws {
        folder = try TemporaryFolder()
    }

    private var url: URL { URL(filePath: folder.path(""), directoryHint: .isDirectory) }

    private func run(_ arguments: String...) async throws -> CommandRun {
        try await CommandRun(arguments, in: folder)
    }

    private func read(_ name: String) throws -> String {
        try String(contentsOfFile: folder.path(name), encoding: .utf8)
    }

    /// The commands among the lines that were printed, with the words before them.
    private func commands(_ lines: [String]) -> [String: String] {
        var commands: [String: String] = [:]
        for line in lines where line.hasPrefix("  ") {
            let parts = line.split(separator: " ", maxSplits: 1)
            if parts.count == 2 { commands[String(parts[0])] = parts[1].trimmingCharacters(in: .whitespaces) }
        }
        return commands
    }

    @Test
    func fromAnEmptyFolderToRowsByTheLinesThatArePrinted() async throws {
        let output = try await run("init", "my app", "--port", "\(port)").text.split(separator: "\n").map(String.init)
        let next = output.drop { $0 != "Next:" }.dropFirst().map { $0.trimmingCharacters(in: .whitespaces) }
        #expect(next == ["cd 'my app'", "powersync dev"])

        let service = try ShellLine(next[0], next[1], in: url)
        let said = await service.lines { $0.hasPrefix("  others ") }
        let commands = commands(said)
        #expect(said.contains { $0.hasPrefix("  rows ") && $0.hasSuffix("seed.sql") }, "\(said)")

        // The rows of a user, and nobody else's.
        let stream = try ShellLine(try #require(commands["user-1"]), in: url)
        let first = await stream.lines { $0.contains("Bread") }
        #expect(first.contains { $0.contains("Groceries") } && first.contains { $0.contains("Bread") }, "\(first)")
        #expect(!first.contains { $0.contains("Write the report") })

        // A write comes to the stream that is open.
        let write = try ShellLine(try #require(commands["write"]), "echo", in: url)
        #expect(await write.lines().joined().contains(#""applied":1"#))
        #expect(await stream.lines { $0.contains("A new name") }.last?.contains("A new name") == true)

        // Anybody gets a token.
        let other = try ShellLine(try #require(commands["others"]), "echo", in: url)
        #expect(await other.lines().joined().contains(#""user_id":"anybody""#))

        // The address of the dashboard is that of a page, with the key for what the page asks.
        let dashboard = try #require(commands["dashboard"])
        let page = try await ShellLine("curl -sS -i '\(dashboard)'", in: url).lines()
        #expect(page.first?.hasPrefix("HTTP/1.1 200") == true, "\(page)")
        #expect(page.contains { $0.lowercased().hasPrefix("content-type: text/html") }, "\(page)")
        #expect(page.contains("<title>PowerSync service</title>"), "\(page)")
        let parts = dashboard.components(separatedBy: "#key=")
        try #require(parts.count == 2)
        for (key, status) in [(parts[1], "200"), (parts[1] + "0", "401"), ("", "401")] {
            let fields = "-H 'Authorization: Bearer \(key)'"
            let clients = try await ShellLine("curl -sS -i \(fields) '\(parts[0])/clients'", in: url).lines()
            #expect(clients.first?.hasPrefix("HTTP/1.1 \(status)") == true, "\(clients)")
        }

        // A change of the sync config is deployed as it is saved: the stream ends, and another one shows what is new.
        let config = try read("my app/sync.yaml")
            .replacing(
                "SELECT * FROM lists WHERE owner_id",
                with: "SELECT id, name || '!' AS name FROM lists WHERE owner_id"
            )
        try config.write(toFile: folder.path("my app/sync.yaml"), atomically: true, encoding: .utf8)
        _ = await stream.lines()
        let again = try ShellLine(try #require(commands["user-1"]), in: url)
        #expect(await again.lines { $0.contains("Groceries!") }.last?.contains("Groceries!") == true)
        await again.end(by: SIGKILL)
        #expect(await service.end() == 0)

        // Rows are inserted once.
        let second = try ShellLine(next[0], next[1], in: url)
        let saidAgain = await second.lines { $0.hasPrefix("  others ") }
        #expect(!saidAgain.contains { $0.hasPrefix("  rows ") } && saidAgain.contains { $0.hasPrefix("  others ") })
        #expect(await second.end() == 0)
    }

    @Test func nothingIsOverwritten() async throws {
        try "mine".write(toFile: folder.path("seed.sql"), atomically: true, encoding: .utf8)
        let run = try await run("init")
        #expect(run.status == 1)
        #expect(run.errors.contains("Nothing was written, because there is already") && run.errors.contains("seed.sql"))
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path("")) == ["seed.sql"])
        #expect(try read("seed.sql") == "mine")
    }

    @Test func everyProjectHasItsOwnKeyAndAConfigThatIsValid() async throws {
        #expect(try await run("init").text.hasSuffix("Next:\n  powersync dev"))
        _ = try await run("init", "other")
        #expect(try read("powersync.yaml") != read("other/powersync.yaml"))
        #expect(try read("sync.yaml") == read("other/sync.yaml"))
        #expect(try await run("validate", "sync.yaml").status == 0)
        #expect(try await run("token", "--user", "u").status == 0)
        #expect(try await run("init", "third", "--port", "80").errors.contains("--port must be between 1024 and 65535"))
    }

    @Test func aSeedThatCannotBeRunIsNamedAndLeavesNothing() async throws {
        _ = try await run("init", "--port", "\(port)")
        try "INSERT INTO lists VALUES ('a', 'b', 'c'); INSERT INTO other_table VALUES (1)"
            .write(toFile: folder.path("seed.sql"), atomically: true, encoding: .utf8)
        let broken = try await run("dev")
        #expect(broken.status != 0)
        #expect(broken.errors.contains("seed.sql: no such table: other_table. No row of it was inserted."), "\(broken)")
        // It is tried again when it is right.
        try "INSERT INTO lists VALUES ('a', 'user-1', 'c')"
            .write(toFile: folder.path("seed.sql"), atomically: true, encoding: .utf8)
        let service = try ShellLine("powersync dev --user me", in: url)
        let said = await service.lines { $0.hasPrefix("  others ") }
        #expect(said.contains { $0.hasPrefix("  rows ") } && commands(said)["me"] != nil)
        #expect(await service.end() == 0)
    }

    @Test func developmentNeedsTheEmbeddedSource() async throws {
        try """
        replication: {connections: [{type: postgresql, uri: 'postgresql://me@localhost/app', sslmode: disable}]}
        storage: {type: sqlite, path: buckets.db}
        sync_config: {content: "{config: {edition: 3}, streams: {s: {query: SELECT * FROM lists}}}"}
        client_auth: {audience: [a], jwks: {keys: [{kty: oct, alg: HS256, kid: k, k: c2VjcmV0LXNlY3JldC1zZWNyZXQtc2VjcmV0LTMy}]}}
        """.write(toFile: folder.path("powersync.yaml"), atomically: true, encoding: .utf8)
        let run = try await run("dev")
        #expect(run.status != 0)
        #expect(
            run.errors.contains("powersync.yaml: replication.connections[0]: powersync dev needs the type embedded")
        )
    }
}

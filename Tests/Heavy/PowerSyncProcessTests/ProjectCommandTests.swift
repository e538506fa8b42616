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

    @Test func overAServerThatIsThere() async throws {
        let output = try await run("init", "--source", "mysql").text
        #expect(output.contains("Wrote setup.sql") && !output.contains("seed.sql"))
        #expect(
            output.contains("Next:\n  mysql -u root -p < setup.sql\n  export PS_DATA_SOURCE_URI='mysql://powersync:")
        )
        #expect(output.hasSuffix("\n  powersync test-connection\n  powersync serve"))
        #expect(try read("powersync.yaml").contains("    - type: mysql\n"))
        #expect(try read("powersync.yaml").contains("      uri: !env PS_DATA_SOURCE_URI\n"))
        #expect(try read("setup.sql").contains("CREATE USER 'powersync'"))
        let refused = try await run("init", "other", "--source", "oracle").errors
        #expect(refused.contains("--source must be mysql, got oracle"))
    }

    @Test func aBackEndIsWrittenBesideTheServiceAndTakesItsPlaceInTheConfiguration() async throws {
        let output = try await run("init", "my app", "--backend", "--package", "sdk", "--port", "\(port)").text
        #expect(output.contains("Wrote my app/backend/Sources/Backend/AppBackend.swift"))
        #expect(output.contains("\n  cd 'my app/backend'\n  swift test\n  swift run    # http://127.0.0.1:\(port + 1)"))
        #expect(try read("my app/backend/Package.swift").contains(#"path: "\#(folder.path("sdk"))/""#))
        #expect(try read("my app/powersync.yaml").contains(#""kid":"backend""#))
        let dev = try ShellLine("cd 'my app'", "powersync dev", in: url)
        _ = await dev.lines { DevelopmentLines.isLast($0) }
        let again = try await run("init", "my app", "--backend")
        #expect(again.status == 1 && again.errors.contains("Nothing was written"))
    }

    @Test
    func fromAnEmptyFolderToRowsByTheLinesThatArePrinted() async throws {
        let output = try await run("init", "my app", "--port", "\(port)").text.split(separator: "\n").map(String.init)
        let next = output.drop { $0 != "Next:" }.dropFirst().map { $0.trimmingCharacters(in: .whitespaces) }
        #expect(next == ["cd 'my app'", "powersync dev"])

        let service = try ShellLine(next[0], next[1], in: url)
        let said = await service.lines { DevelopmentLines.isLast($0) }
        let commands = DevelopmentLines(said)
        #expect(said.contains { $0.hasPrefix("  rows ") && $0.hasSuffix("seed.sql") }, "\(said)")
        #expect(said.filter { $0.contains("curl") }.allSatisfy { $0.count <= 80 }, "\(said)")
        // Commands are pasted where the service was started.
        let app = url.appending(path: "my app")

        // The rows of a user, and nobody else's.
        let stream = try ShellLine(try #require(commands.stream(of: "user-1")), in: app)
        let first = await stream.lines { $0.contains("Bread") }
        #expect(first.contains { $0.contains("Groceries") } && first.contains { $0.contains("Bread") }, "\(first)")
        #expect(!first.contains { $0.contains("Write the report") })

        // A write comes to the stream that is open.
        let write = try ShellLine(try #require(commands.write(as: "user-1")), "echo", in: app)
        #expect(await write.lines().joined().contains(#""applied":1"#))
        #expect(await stream.lines { $0.contains("A new name") }.last?.contains("A new name") == true)

        // Anybody gets a token.
        let other = try ShellLine(try #require(commands["a token for another user"]), "echo", in: app)
        #expect(await other.lines().joined().contains(#""user_id":"anybody""#))

        // A write that no stream gives back is said.
        let tokenFile = try read("my app/data/dev/user-1")
        #expect(tokenFile.hasPrefix("Authorization: Token ey"))
        let lost = #"{"data":[{"op":"PUT","type":"todos","id":"lost","data":{"title":"Nobody's"}}]}"#
        try lost.write(toFile: folder.path("my app/lost.json"), atomically: true, encoding: .utf8)
        let line = try #require(commands.write(as: "user-1"))
        _ = try await ShellLine(line.replacing("data/dev/write.json", with: "lost.json"), "echo", in: app).lines()
        let warning = await service.lines { $0.contains("A row was written that no stream gives back") }.last
        #expect(warning?.contains("list_id is NULL") == true, "\(warning ?? "")")

        // init has written a token for status.
        let status = try await run("status", "--config", "my app/powersync.yaml")
        #expect(status.status == 0, "\(status)")

        // The address of the dashboard is that of a page, with the key for what the page asks.
        let dashboard = try #require(commands["dashboard"])
        let page = try await ShellLine("curl -sS -i '\(dashboard)'", in: app).lines()
        #expect(page.first?.hasPrefix("HTTP/1.1 200") == true, "\(page)")
        #expect(page.contains { $0.lowercased().hasPrefix("content-type: text/html") }, "\(page)")
        #expect(page.contains("<title>PowerSync service</title>"), "\(page)")
        let parts = dashboard.components(separatedBy: "#key=")
        try #require(parts.count == 2)
        for (key, status) in [(parts[1], "200"), (parts[1] + "0", "401"), ("", "401")] {
            let fields = "-H 'Authorization: Bearer \(key)'"
            let clients = try await ShellLine("curl -sS -i \(fields) '\(parts[0])/clients'", in: app).lines()
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
        let again = try ShellLine(try #require(commands.stream(of: "user-1")), in: app)
        #expect(await again.lines { $0.contains("Groceries!") }.last?.contains("Groceries!") == true)
        await again.end(by: SIGKILL)
        #expect(await service.end() == 0)

        // Rows are inserted once.
        let second = try ShellLine(next[0], next[1], in: url)
        let saidAgain = await second.lines { DevelopmentLines.isLast($0) }
        #expect(!saidAgain.contains { $0.hasPrefix("  rows ") } && saidAgain.contains { DevelopmentLines.isLast($0) })
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
        // The editor's line, and what it names.
        for (file, kind) in [("powersync.yaml", "service"), ("sync.yaml", "sync")] {
            let schema = ".powersync/\(kind).schema.json"
            #expect(try read(file).hasPrefix("# yaml-language-server: $schema=\(schema)\n"))
            #expect(try await run("schema", kind).text + "\n" == read(schema))
        }
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
        let said = await service.lines { DevelopmentLines.isLast($0) }
        #expect(said.contains { $0.hasPrefix("  rows ") } && DevelopmentLines(said).stream(of: "me") != nil)
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

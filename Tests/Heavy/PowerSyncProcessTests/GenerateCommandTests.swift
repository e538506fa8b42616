import Foundation
import GRDB
import TestSupport
import Testing

/// The command `generate swift` as people and CI run it.
@Suite(.timeLimit(.minutes(3))) struct GenerateCommandTests {
    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
        try write(
            "sync.yaml",
            "config: {edition: 3}\nstreams: {todos: {query: SELECT * FROM todos WHERE owner = auth.user_id()}}"
        )
        try write("schema.sql", "CREATE TABLE todos(id TEXT, owner TEXT NOT NULL)")
    }

    private func write(_ name: String, _ text: String) throws {
        try text.write(toFile: folder.path(name), atomically: true, encoding: .utf8)
    }

    private func run(_ arguments: String...) async throws -> CommandRun {
        try await CommandRun(["generate", "swift", "sync.yaml", "--schema", "schema.sql"] + arguments, in: folder)
    }

    @Test func theFileIsWrittenAndChecked() async throws {
        let printed = try await run()
        #expect(printed.status == 0 && printed.text.contains("var owner: String\n"))
        #expect(try await run("--output", "Synced.swift").status == 0)
        let text = try String(contentsOfFile: folder.path("Synced.swift"), encoding: .utf8)
        #expect(text.contains("//   powersync generate swift sync.yaml --schema schema.sql --output Synced.swift\n"))
        let same = try await run("--output", "Synced.swift", "--check")
        #expect(same.status == 0 && same.text.isEmpty)

        try write("schema.sql", "CREATE TABLE todos(id TEXT, owner TEXT)")
        let changed = try await run("--output", "Synced.swift", "--check")
        #expect(changed.status == 1)
        #expect(changed.text.contains("Synced.swift is not what sync.yaml and schema.sql give; line "))
        #expect(changed.text.contains("-         var owner: String\n+         var owner: String?"))
        #expect(try String(contentsOfFile: folder.path("Synced.swift"), encoding: .utf8) == text)
    }

    @Test func anEmbeddedSourceHasTheTablesOfItsFileAndThoseToCome() async throws {
        let source = try DatabaseQueue(path: folder.path("source.db"))
        try await source.write { db in
            try db.execute(sql: "CREATE TABLE todos(id TEXT, owner TEXT NOT NULL, size INT); CREATE TABLE _ps_log(x)")
        }
        try source.close()
        try write(
            "powersync.yaml",
            """
            replication:
              connections:
                - type: embedded
                  path: source.db
                  tables: ["CREATE TABLE TODOS(id) -- older", "CREATE TABLE notes(id, text VARCHAR(9) NOT NULL)"]
            storage: {type: sqlite, path: buckets.db}
            sync_config: {content: "{config: {edition: 3}, streams: {a: {queries: [SELECT * FROM todos, SELECT * FROM notes]}}}"}
            """
        )
        let printed = try await CommandRun(["generate", "swift"], in: folder)
        #expect(printed.status == 0, "\(printed)")
        #expect(printed.text.contains("var size: Int?\n") && printed.text.contains("var text: String\n"))
        #expect(printed.text.hasPrefix("// Generated from powersync.yaml. Do not edit"))

        let missing = try await CommandRun(
            ["generate", "swift", "other.yaml", "--config", "powersync.yaml"],
            in: folder
        )
        #expect(missing.status == 1 && missing.errors.contains("other.yaml cannot be read; check that it exists"))
        try write("other.yaml", "config: {edition: 3}\nstreams: {a: {query: SELECT * FROM lists}}")
        let other = try await CommandRun(["generate", "swift", "other.yaml", "--config", "powersync.yaml"], in: folder)
        #expect(other.status == 1)
        #expect(
            other.errors.contains("source.db has no table 'lists', which the sync config reads. Add it to tables of")
        )
    }

    @Test func whatCannotBeGeneratedIsSaid() async throws {
        try write("schema.sql", "CREATE TABLE lists(id TEXT)")
        let output = try await run("--output", "Synced.swift")
        #expect(output.status == 1)
        #expect(output.errors.contains("error: The schema has no table 'todos'"))
        #expect(!FileManager.default.fileExists(atPath: folder.path("Synced.swift")))
        try write("sync.yaml", "streams: 5")
        #expect(try await run().errors.contains("sync.yaml:"))
        #expect(try await run("--check").status == 64)
        #expect(try await run("--namespace", "a b").status == 64)
    }
}

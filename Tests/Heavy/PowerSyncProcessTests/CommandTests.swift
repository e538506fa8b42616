import Foundation
import GRDB
import TestSupport
import Testing

/// The commands `test` and `validate` as people and scripts run them.
@Suite(.timeLimit(.minutes(3))) struct CommandTests {
    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
        try write(
            "sync.yaml",
            """
            config: {edition: 3}
            streams:
              todos:
                auto_subscribe: true
                query: SELECT * FROM todos WHERE list_id IN (SELECT id FROM lists WHERE owner_id = auth.user_id())
            """
        )
        try write("schema.sql", "CREATE TABLE lists (id, owner_id); CREATE TABLE todos (id, list_id);")
    }

    private func write(_ name: String, _ text: String) throws {
        try text.write(toFile: folder.path(name), atomically: true, encoding: .utf8)
    }

    private func writeTest(_ name: String, expecting ids: String, config: String = "{path: sync.yaml}") throws {
        try write(
            name,
            """
            config: \(config)
            schema: {path: schema.sql}
            tables:
              lists: [{id: l1, owner_id: u1}]
              todos: [{id: t1, list_id: l1}, {id: t2, list_id: l2}]
            cases: [{name: owner, as: {sub: u1}, receives: {todos: [\(ids)]}}]
            """
        )
    }

    private func run(_ arguments: String...) async throws -> CommandRun {
        try await CommandRun(arguments, in: folder)
    }

    @Test func aTestThatPassesExitsWith0() async throws {
        try writeTest("a.test.yaml", expecting: "t1")
        let output = try await run("test", "a.test.yaml")
        #expect(output.status == 0)
        #expect(output.text == "a.test.yaml: passed: owner")
    }

    @Test func oneTestThatFailsExitsWith1AndTheOthersRun() async throws {
        try writeTest("a.test.yaml", expecting: "t1, t2")
        try writeTest("c.test.yaml", expecting: "t1")
        let output = try await run("test", "a.test.yaml", "missing.yaml", "c.test.yaml")
        #expect(output.status == 1)
        #expect(output.text.contains("a.test.yaml: FAILED: owner\n    todos/t2 is missing: it is in 1#todos|0[\"l2\"]"))
        #expect(output.text.contains("missing.yaml:1:1: error: The test cannot be read; check that it exists"))
        #expect(output.text.hasSuffix("c.test.yaml: passed: owner"))
    }

    @Test func toolsGetALineOfJSONForEachFile() async throws {
        try writeTest("a.test.yaml", expecting: "t1")
        let output = try await run("test", "--format", "json", "a.test.yaml", "missing.yaml")
        let lines = output.text.split(separator: "\n")
        #expect(output.status == 1)
        #expect(lines.count == 2)
        for line in lines {
            let object = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]
            #expect(object.map { Set($0.keys) } == ["accepted", "findings", "rows", "cases"])
        }
        #expect(lines[0].hasPrefix(#"{"accepted":true,"#) && lines[1].hasPrefix(#"{"accepted":false,"#))
    }

    @Test func aRefusedConfigExitsWith1() async throws {
        try write("a.test.yaml", "{config: 'streams: 5', cases: []}")
        let output = try await run("test", "a.test.yaml")
        #expect(output.status == 1)
        #expect(output.text.contains("error: ") && output.text.hasSuffix("the config cannot be deployed"))
    }

    @Test func validateExplainsWhatLeadsToBuckets() async throws {
        let output = try await run("validate", "sync.yaml", "--explain")
        #expect(output.status == 0)
        #expect(
            output.text == """
                stream todos (auto-subscribed, priority 3)
                  bucket   todos|0[list_id]
                    rows     todos by list_id
                    values   list_id = id of lists
                    lookups  lists where owner_id = auth.user_id()
                sync.yaml: 1 stream, ready to deploy
                """
        )
    }

    @Test func validateCountsWhatAUserGets() async throws {
        let database = try DatabaseQueue(path: folder.path("app.db"))
        try await database.write { db in
            try db.execute(
                sql: """
                    CREATE TABLE lists (id TEXT, owner_id TEXT); CREATE TABLE todos (id, list_id);
                    INSERT INTO lists VALUES ('l1', 'u1'), ('l2', 'u1'), ('l3', 'u2');
                    INSERT INTO todos VALUES ('t1', 'l1'), ('t2', 'l1'), (x'00', 'l1'), ('t3', 'l3');
                    """
            )
        }
        try database.close()
        let output = try await run("validate", "sync.yaml", "--source", "app.db", "--as", "u1", "--param", "a=1")
        #expect(output.status == 0)
        #expect(
            output.text == """
                u1: 2 buckets, 2 rows
                  1#todos|0["l1"]  priority 3  rows 2  stream `todos`, lookup lists/l1
                  1#todos|0["l2"]  priority 3  rows 0  stream `todos`, lookup lists/l2
                  todos: 2
                  note: A row of main.todos was not synced to todos|0: it has no id.
                sync.yaml: 1 stream, ready to deploy
                """
        )
        let missing = try await run("validate", "sync.yaml", "--source", "missing.db", "--as", "u1")
        #expect(missing.status == 1)
        #expect(missing.errors.contains("cannot read the source missing.db"))
    }

    @Test func validateKnowsTheStreamsThatOneCanSubscribeTo() async throws {
        let output = try await run("validate", "sync.yaml", "--subscribe", "todo={}")
        #expect(output.status == 64)
        #expect(output.errors.contains("--subscribe todo: the config has no such stream. Did you mean “todos”?"))
        #expect(try await run("validate", "sync.yaml", "--subscribe", "todos").status == 0)
    }

    /// A schema file is of the default schema, which a PostgreSQL server calls `public`; a database says how it is called.
    @Test func aSchemaFileIsOfTheSchemaPublic() async throws {
        try write("schema.sql", "CREATE TABLE things (id text PRIMARY KEY);")
        try write(
            "public.yaml",
            "config: {edition: 3}\nstreams: {a: {auto_subscribe: true, query: \"SELECT * FROM public.things\"}}"
        )
        let output = try await run("validate", "public.yaml", "--schema", "schema.sql")
        #expect(output.status == 0)
        #expect(output.text == "public.yaml: 1 stream, ready to deploy")
        let database = try DatabaseQueue(path: folder.path("things.db"))
        try await database.write { db in try db.execute(sql: "CREATE TABLE things (id text PRIMARY KEY)") }
        try database.close()
        let embedded = try await run("validate", "public.yaml", "--source", "things.db")
        #expect(embedded.text.contains("write things, without a schema. [schema.table_missing]"))
    }

    @Test func aTestNamesItsConfigByItsPath() async throws {
        try writeTest("b.test.yaml", expecting: "t1", config: "sync.yaml")
        #expect(try await run("test", "b.test.yaml").status == 0)
        try writeTest("c.test.yaml", expecting: "t1", config: "nowhere.yaml")
        let missing = try await run("test", "c.test.yaml")
        #expect(missing.status == 1)
        #expect(missing.text.contains("The config cannot be read; check that "), "\(missing.text)")
        #expect(missing.text.contains("nowhere.yaml exists"), "\(missing.text)")
    }

    @Test func validateNeedsASourceForWhatAUserGets() async throws {
        let output = try await run("validate", "sync.yaml", "--as", "u1")
        #expect(output.status == 64)
        #expect(output.errors.contains("--as needs --source"))
    }

    @Test(
        arguments: [["validate"], ["serve", "--config"], ["token", "--user", "u", "--config"]]
    )
    func fileThatIsMissingIsNamedInOneLine(_ command: [String]) async throws {
        let output = try await CommandRun(command + ["nowhere.yaml"], in: folder)
        #expect(output.status == 1)
        #expect(output.errors.contains("nowhere.yaml") && output.errors.contains("exist"), "\(output.errors)")
        #expect(!output.errors.contains("NSCocoaErrorDomain"))
        #expect(output.errors.split(separator: "\n").count == 1, "\(output.errors)")
    }

    @Test func theVersionIsKnown() async throws {
        let output = try await run("--version")
        #expect(output.status == 0)
        #expect(output.text.wholeMatch(of: #/\d+\.\d+\.\d+/#) != nil, "\(output.text)")
    }
}

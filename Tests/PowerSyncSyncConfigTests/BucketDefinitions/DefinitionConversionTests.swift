import PowerSyncProtocol
import Testing

@testable import PowerSyncSyncConfig

/// Bucket definitions as streams (docs/sync-config.md "From definitions to streams").
@Suite struct DefinitionConversionTests {
    /// The definitions of one config.
    struct Case: CustomTestStringConvertible {
        var name: String
        var definitions: String
        var config = ""
        var testDescription: String { name }
        var yaml: String { "\(config)bucket_definitions:\n\(definitions)" }
    }

    static let corpus: [Case] = [
        Case(name: "one bucket for everyone", definitions: "  g: {data: [SELECT * FROM lists]}\n"),
        Case(
            name: "rows of the user",
            definitions: """
                  by_user:
                    parameters: SELECT request.user_id() AS user_id
                    data:
                      - SELECT * FROM lists WHERE owner_id = bucket.user_id
                      - SELECT id, title FROM todos WHERE bucket.user_id = created_by AND done = 0
                """
        ),
        Case(
            name: "through a table",
            definitions: """
                  by_list:
                    priority: 1
                    parameters: SELECT id AS list_id FROM lists WHERE owner_id = request.user_id()
                    data:
                      - SELECT * FROM lists WHERE id = bucket.list_id
                      - SELECT * FROM todos WHERE list_id = bucket.list_id
                """
        ),
        Case(
            name: "several ways to the same rows",
            definitions: """
                  shared:
                    parameters:
                      - SELECT id AS list_id FROM lists WHERE owner_id = request.user_id()
                      - SELECT list_id FROM members WHERE user_id = token_parameters.user_id
                      - SELECT user_parameters.list AS list_id
                    data: [SELECT * FROM todos WHERE list_id = bucket.list_id]
                """
        ),
        Case(
            name: "two values of the request",
            definitions: """
                  both:
                    parameters: SELECT request.user_id() AS u, request.jwt() ->> 'org' AS o
                    data: [SELECT * FROM lists WHERE owner_id = bucket.u AND org = bucket.o]
                """
        ),
        Case(
            name: "a condition on the request",
            definitions: """
                  admin:
                    parameters: SELECT request.user_id() AS u WHERE request.jwt() ->> 'role' = 'admin'
                    data: [SELECT * FROM lists WHERE owner_id = bucket.u]
                """
        ),
        Case(
            name: "a condition on the request alone",
            definitions: """
                  admins:
                    parameters: SELECT WHERE request.jwt() ->> 'role' = 'admin'
                    data: [SELECT * FROM lists, SELECT * FROM todos WHERE done = 1]
                """
        ),
        Case(
            name: "a table with a condition of its own",
            definitions: """
                  active:
                    parameters: SELECT list_id FROM members WHERE user_id = request.user_id() AND role = 'reader'
                    data: [SELECT * FROM todos WHERE list_id = bucket.list_id]
                """
        ),
        Case(
            name: "either of two columns",
            definitions: """
                  either:
                    parameters: SELECT request.user_id() AS u
                    data: [SELECT * FROM todos WHERE created_by = bucket.u OR assignee = bucket.u]
                """
        ),
        Case(
            name: "comparisons that leave NULL out",
            definitions: """
                  open:
                    parameters: SELECT request.user_id() AS u
                    data:
                      - SELECT * FROM todos WHERE created_by = bucket.u AND done != 1
                      - SELECT id, name FROM lists WHERE owner_id = bucket.u AND (org != 'o2' OR name = 'A')
                      - SELECT * FROM members WHERE user_id = bucket.u AND role NOT IN ('reader', 'guest')
                """
        ),
        Case(
            name: "other names on the client, and expressions",
            definitions: """
                  named:
                    parameters: SELECT request.user_id() AS u
                    data:
                      - SELECT id, upper(name) AS title FROM lists AS projects WHERE owner_id = bucket.u
                      - "SELECT id, name || ': ' || org AS text FROM lists WHERE lower(owner_id) = bucket.u"
                """
        ),
        Case(
            name: "the priority of a parameter query",
            definitions: """
                  urgent:
                    parameters: SELECT request.user_id() AS u, 0 AS _priority
                    data: [SELECT * FROM lists WHERE owner_id = bucket.u]
                """
        ),
        Case(
            name: "values of edition 1",
            definitions: """
                  values:
                    data: ["SELECT id, meta ->> 'a.b' AS m, at FROM lists"]
                """
        ),
        Case(
            name: "values of edition 2",
            definitions: """
                  values:
                    data: ["SELECT id, meta ->> 'a.b' AS m, at FROM lists"]
                """,
            config: "config: {edition: 2, timestamp_max_precision: seconds}\n"
        ),
        Case(
            name: "names that mean something in YAML",
            definitions: """
                  "true": {data: [SELECT * FROM lists]}
                  "a: b-1": {accept_potentially_dangerous_queries: true, parameters: SELECT request.parameters() ->> 'l' AS l, \
                data: [SELECT * FROM todos WHERE list_id = bucket.l]}
                """
        ),
    ]

    /// Rows of which many have NULL somewhere.
    private static let rows: [(table: String, row: SourceRow)] = {
        var rows: [(table: String, row: SourceRow)] = []
        func text(_ value: String?) -> SQLValue { value.map { .text($0) } ?? .null }
        for (index, owner) in ["u1", "u1", "u2", nil, "U1"].enumerated() {
            for (number, org) in ["o1", "o2", nil].enumerated() {
                let row: SourceRow = [
                    "id": .text("l\(index)\(number)"), "owner_id": text(owner), "org": text(org),
                    "name": text(number == 2 ? "A" : nil), "meta": .text(#"{"a.b": 1, "a": {"b": 2}}"#),
                    "at": .text("2024-01-02 03:04:05.678"),
                ]
                rows.append(("lists", row))
            }
        }
        for (index, list) in ["l00", "l10", "l20", "l30", nil].enumerated() {
            for (number, done) in [0, 1, nil].enumerated() {
                let row: SourceRow = [
                    "id": .text("t\(index)\(number)"), "list_id": text(list), "title": .text("T"),
                    "done": done.map { .integer(Int64($0)) } ?? .null, "created_by": text(["u1", "u2", nil][number]),
                    "assignee": text(["u2", nil, "u1"][number]),
                ]
                rows.append(("todos", row))
            }
        }
        for (index, role) in ["reader", "owner", nil].enumerated() {
            for user in ["u1", "u2", nil] {
                let row: SourceRow = [
                    "id": .text("m\(index)\(user ?? "")"), "list_id": .text("l\(index)0"), "user_id": text(user),
                    "role": text(role),
                ]
                rows.append(("members", row))
            }
        }
        return rows
    }()

    private static let requests: [SyncPlanRequest] = [
        SyncPlanRequest(tokenPayload: ["sub": .string("u1"), "org": .string("o1"), "role": .string("admin")]),
        SyncPlanRequest(
            tokenPayload: ["sub": .string("u2")],
            parameters: ["list": .string("l10"), "l": .string("l20")]
        ),
        SyncPlanRequest(tokenPayload: ["sub": .string("nobody"), "org": .null]),
    ]

    /// What clients get: rows with their content and the most urgent priority.
    private static func received(_ yaml: String) async throws -> [[String]] {
        var rehearsal = Rehearsal(try plan(yaml))
        let schema = rehearsal.plan.defaultSchema
        for (table, row) in rows { rehearsal.add(row, of: SourceTableName(schema: schema, name: table)) }
        var result: [[String]] = []
        for request in requests {
            let reply = await rehearsal.reply(to: request)
            #expect(reply.error == nil)
            result.append(reply.rows.map { "\($0.table)/\($0.id) \($0.priority.rawValue) \($0.data)" }.sorted())
        }
        return result
    }

    @Test(arguments: corpus) func clientsGetTheSameRows(_ test: Case) async throws {
        let conversion = DefinitionConversion(of: test.yaml)
        #expect(conversion.obstacles.isEmpty)
        let yaml = try #require(conversion.yaml)
        let (before, after) = (try await Self.received(test.yaml), try await Self.received(yaml))
        #expect(before == after, "\(yaml)")
        #expect(before.contains { !$0.isEmpty })
        let (old, new) = (try plan(test.yaml), try plan(yaml))
        #expect(old.valueOptions == new.valueOptions)
        #expect(old.streams.map(\.name) == new.streams.map(\.name))
        #expect(!new.streams.contains { !$0.isSubscribedByDefault })
    }

    @Test func theTextIsOneToKeep() {
        let conversion = DefinitionConversion(of: Self.corpus[2].yaml)
        #expect(
            conversion.yaml == """
                # Made by powersync convert from bucket definitions. Comments of that file are not here.
                # “*” in a stream also has the columns that begin with “_”, which it leaves out in a bucket definition.
                config:
                  edition: 3
                  timestamps_iso8601: false
                  fixed_json_extract: false
                  custom_postgres_types: false

                streams:
                  by_list:
                    auto_subscribe: true
                    priority: 1
                    queries:
                      - SELECT * FROM lists WHERE id IN (SELECT id FROM lists WHERE owner_id = auth.user_id())
                      - SELECT * FROM todos WHERE list_id IN (SELECT id FROM lists WHERE owner_id = auth.user_id())

                """
        )
        #expect(conversion.notes.count == 1)
    }

    @Test(
        arguments: [
            (
                "parameters: SELECT FROM members WHERE user_id = request.user_id(), data: [SELECT * FROM lists]",
                "no columns"
            ),
            (
                "parameters: 'SELECT list_id, role FROM members WHERE user_id = request.user_id()', "
                    + "data: [SELECT * FROM t WHERE a = bucket.list_id AND b = bucket.role]",
                "several columns"
            ),
            (
                "parameters: SELECT value AS p FROM json_each(request.jwt() -> 'ps'), data: [SELECT * FROM t WHERE p = bucket.p]",
                "function"
            ),
            ("data: [SELECT * FROM t WHERE a + 1 != 2]", "NULL"),
            ("data: [SELECT * FROM t WHERE NOT (a != 2)]", "NULL"),
            ("data: [\"SELECT * FROM t -- all\"]", "comment"),
            ("data: [\"SELECT a AS id, * FROM t\"]", "before “*”"),
            (
                "parameters: [SELECT request.user_id() AS u, '1' AS x], data: [SELECT * FROM t WHERE a = bucket.u]",
                "cannot be deployed"
            ),
        ]
    )
    func whatMeansSomethingElseIsLeftToPeople(definition: String, reason: String) {
        let good = "  good: {data: [SELECT * FROM lists]}\n"
        let conversion = DefinitionConversion(of: "bucket_definitions:\n  bad: {\(definition)}\n\(good)")
        #expect(conversion.yaml == nil)
        #expect(conversion.obstacles.count == 1)
        #expect(conversion.obstacles.first?.reason.contains(reason) == true, "\(conversion.obstacles)")
    }

    @Test(
        arguments: [
            ("config: {edition: 3}\nstreams: {a: {query: SELECT * FROM t}}\n", "no bucket definitions"),
            (
                "config: {edition: 2}\nstreams: {a: {query: SELECT * FROM t}}\nbucket_definitions: {b: {data: []}}\n",
                "edition 2"
            ),
            ("bucket_definitions: [", "cannot be deployed"),
        ]
    )
    func whatIsNoFileOfDefinitionsIsSaid(yaml: String, reason: String) {
        let conversion = DefinitionConversion(of: yaml)
        #expect(conversion.yaml == nil)
        #expect(conversion.obstacles.map(\.definition) == [nil])
        #expect(conversion.obstacles.first?.reason.contains(reason) == true, "\(conversion.obstacles)")
    }
}

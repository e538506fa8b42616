import Foundation
import NIOConcurrencyHelpers
import NIOHTTP1
import PowerSync
import TestSupport
import Testing

@testable import PowerSyncClient
@testable import PowerSyncSupabase

@Suite(.timeLimit(.minutes(1))) struct SupabaseConnectorTests {
    private static let schema = Schema(
        Table(name: "lists", columns: [.text("name"), .integer("rank")]),
        Table(name: "todos", columns: [.text("title"), .integer("done")])
    )

    /// Runs a test with a database that has no writes yet, and a connector.
    private func run(
        _ options: SupabaseUploadOptions = SupabaseUploadOptions(),
        _ body: (ScriptedSupabase, any PowerSyncDatabaseProtocol, SupabaseConnector) async throws -> Void
    ) async throws {
        try await ScriptedSupabase.run { supabase async throws in
            let database = PowerSyncDatabase(
                inMemory: SupabaseConnectorTests.schema,
                logger: DefaultLogger(writers: [])
            )
            let auth = try await supabase.signedIn()
            let connector = SupabaseConnector(auth: auth, syncURL: "https://sync.example.com", options: options)
            try await body(supabase, database, connector)
            try await database.close()
        }
    }

    private func write(_ database: any PowerSyncDatabaseProtocol, _ statements: String...) async throws {
        try await database.writeTransaction { transaction in
            for sql in statements { try transaction.execute(sql: sql, parameters: []) }
        }
    }

    private func json(_ text: String) throws -> JsonValue {
        try JSONDecoder().decode(JsonValue.self, from: Data(text.utf8))
    }

    @Test
    func credentialsAreTheSession() async throws {
        try await run { supabase, _, connector async throws in
            let credentials = try #require(try await connector.fetchCredentials())
            #expect(credentials.endpoint == "https://sync.example.com" && credentials.token == "t1")
            supabase.change { $0.interception = { _ in .json(400, #"{"error":"invalid_grant"}"#) } }
            supabase.date.withLockedValue { $0 += 4000 }
            #expect(try await connector.fetchCredentials() == nil)
        }
    }

    @Test
    func uploadsATransactionInItsOrderWritesOfOneKindTogether() async throws {
        try await run { supabase, database, connector async throws in
            try await write(
                database,
                "INSERT INTO lists (id, name, rank) VALUES ('l1', 'A', 1)",
                "INSERT INTO todos (id, title, done) VALUES ('a b', 'x', 0)",
                "INSERT INTO todos (id, title, done) VALUES ('t2', 'y', 1)",
                "INSERT INTO todos (id, title, done) VALUES ('t3', 'z', 1)",
                "UPDATE todos SET done = 1 WHERE id = 'a b'",
                "DELETE FROM todos WHERE id = 't2'",
                "DELETE FROM todos WHERE id = 't3'",
                "DELETE FROM lists WHERE id = 'l1'"
            )
            try await connector.uploadData(database: database)
            #expect(
                supabase.received.map(\.line) == [
                    "POST /rest/v1/lists?on_conflict=id", "POST /rest/v1/todos?on_conflict=id",
                    "PATCH /rest/v1/todos?id=eq.a%20b", "DELETE /rest/v1/todos?id=in.(%22t2%22%2C%22t3%22)",
                    "DELETE /rest/v1/lists?id=in.(%22l1%22)",
                ]
            )
            let bodies = supabase.received.map(\.body)
            #expect(try json(bodies[0]) == json(#"[{"id":"l1","name":"A","rank":1}]"#))
            #expect(
                try json(bodies[1])
                    == json(
                        #"[{"id":"a b","title":"x","done":0},{"id":"t2","title":"y","done":1},{"id":"t3","title":"z","done":1}]"#
                    )
            )
            #expect(try json(bodies[2]) == json(#"{"done":1}"#))
            #expect(bodies[3...] == ["", ""])
            let first = try #require(supabase.requests.first { $0.uri.hasPrefix("/rest/") })
            #expect(first.header("Prefer") == "resolution=merge-duplicates,return=minimal")
            #expect(first.header("apikey") == "anon" && first.header("Authorization") == "Bearer t1")
            #expect(try await database.getUploadQueueStats().count == 0)
            // Without writes there is nothing to do.
            try await connector.uploadData(database: database)
            #expect(supabase.received.count == 5)
        }
    }

    @Test
    func renewsARefusedTokenOnce() async throws {
        try await run { supabase, database, connector async throws in
            try await write(database, "INSERT INTO lists (id, name) VALUES ('1', 'A')")
            supabase.change { $0.refusedTokens = ["t1"] }
            try await connector.uploadData(database: database)
            #expect(supabase.requests.last?.header("Authorization") == "Bearer t2")
            #expect(try await database.getUploadQueueStats().count == 0)

            try await write(database, "INSERT INTO lists (id, name) VALUES ('2', 'A')")
            supabase.change { $0.refusedTokens = ["t2", "t3", "t4"] }
            let error = await #expect(throws: SupabaseError.self) { try await connector.uploadData(database: database) }
            #expect(error?.httpStatus == 401 && error?.serverCode == "PGRST301")
            #expect(try await database.getUploadQueueStats().count == 1)
        }
    }

    /// A refused row, and not those that were sent with it.
    @Test(arguments: [
        (409, "23505"), (409, "23503"), (400, "22P02"), (403, "42501"), (400, "P0001"),
    ])
    func rejectsTheWriteThatWillNeverBeAccepted(status: Int, code: String) async throws {
        try await run { supabase, database, connector async throws in
            try await write(
                database,
                "INSERT INTO todos (id, title) VALUES ('1', 'good')",
                "INSERT INTO todos (id, title) VALUES ('2', 'bad')",
                "INSERT INTO todos (id, title) VALUES ('3', 'good')"
            )
            supabase.refuse("bad", status, #"{"code":"\#(code)","message":"No","details":"Because","hint":null}"#)
            let error = await #expect(throws: UploadRejectionError.self) {
                try await connector.uploadData(database: database)
            }
            #expect(error?.rejections.map(\.entry.id) == ["2"])
            // The details have values of the row, and reasons are logged.
            #expect(error?.rejections.first?.reason == "No (\(code))")
            // The queue's policy takes it out; what is left is uploaded.
            let transaction = try #require(try await database.getNextCrudTransaction())
            #expect(transaction.crud.map(\.id) == ["1", "2", "3"])
        }
    }

    /// The rest of the request is uploaded, and all that is refused is told at once.
    @Test
    func rejectsAllRefusedRowsOfARequest() async throws {
        try await run { supabase, database, connector async throws in
            try await write(
                database,
                "INSERT INTO todos (id, title) VALUES ('1', 'bad'), ('2', 'good'), ('3', 'bad'), ('4', 'good')"
            )
            supabase.refuse("bad", 409, #"{"code":"23505","message":"No"}"#)
            let error = await #expect(throws: UploadRejectionError.self) {
                try await connector.uploadData(database: database)
            }
            #expect(error?.rejections.map(\.entry.id) == ["1", "3"])
            #expect(supabase.received.count == 5)
        }
    }

    @Test(arguments: [413, 414])
    func dividesARequestThatIsTooLarge(status: Int) async throws {
        try await run { supabase, database, connector async throws in
            try await write(
                database,
                "INSERT INTO todos (id, title) VALUES ('1', 'a'), ('2', 'b'), ('3', 'c'), ('4', 'd'), ('5', 'e')"
            )
            supabase.change {
                $0.interception = { $0.body.count > 60 && $0.uri.hasPrefix("/rest/") ? .json(status, "") : nil }
            }
            try await connector.uploadData(database: database)
            #expect(try await database.getUploadQueueStats().count == 0)
            let ids = try supabase.received.filter { $0.body.utf8.count <= 60 }.flatMap { request in
                try JSONDecoder().decode([JsonParam].self, from: Data(request.body.utf8)).compactMap { $0["id"] }
            }
            #expect(ids == (1...5).map { .string("\($0)") })
        }
    }

    /// Nothing is left to divide: it would hold up the queue for ever.
    @Test(arguments: [413, 414])
    func rejectsARowThatIsTooLarge(status: Int) async throws {
        try await run { supabase, database, connector async throws in
            try await write(
                database,
                "INSERT INTO todos (id, title) VALUES ('1', 'a'), ('2', '\(String(repeating: "x", count: 500))'), ('3', 'c')"
            )
            supabase.change {
                $0.interception = { $0.body.count > 300 && $0.uri.hasPrefix("/rest/") ? .json(status, "") : nil }
            }
            let error = await #expect(throws: UploadRejectionError.self) {
                try await connector.uploadData(database: database)
            }
            #expect(error?.rejections.map(\.entry.id) == ["2"])
        }
    }

    /// A reason is logged.
    @Test func reasonsDoNotQuoteValues() async throws {
        try await run { supabase, database, connector async throws in
            try await write(database, "INSERT INTO todos (id, title) VALUES ('1', 'private')")
            let body =
                #"{"code":"22P02","message":"invalid input syntax for type uuid: \"a \"private\" text\"","details":null}"#
            supabase.change {
                $0.interception = { $0.uri.hasPrefix("/rest/") ? .json(400, body) : nil }
            }
            let error = await #expect(throws: UploadRejectionError.self) {
                try await connector.uploadData(database: database)
            }
            #expect(
                error?.rejections.map(\.reason) == [#"invalid input syntax for type uuid: "…" (22P02)"#],
                "\(String(describing: error))"
            )
        }
    }

    /// PostgREST answers 204 to a change of a row that a policy hides from it; the rows that it has changed tell.
    @Test(
        arguments: ["UPDATE todos SET title = 'x' WHERE id = '1'", "DELETE FROM todos WHERE id = '1'"],
        [true, false]
    )
    func rejectsAWriteThatAPolicyHidesFromItsRow(sql: String, isThere: Bool) async throws {
        try await run { supabase, database, connector async throws in
            try await write(database, "INSERT INTO todos (id, title) VALUES ('1', 'a')")
            try await connector.uploadData(database: database)
            try await write(database, sql)
            supabase.change {
                $0.interception = { request in
                    if request.method == .GET { return .json(200, isThere ? #"[{"id":"1"}]"# : "[]") }
                    guard request.header("Prefer") == "return=minimal,count=exact" else { return nil }
                    return .init(status: .noContent, headers: ["Content-Range": "*/0"])
                }
            }
            if isThere {
                let error = await #expect(throws: UploadRejectionError.self) {
                    try await connector.uploadData(database: database)
                }
                #expect(error?.rejections.map(\.entry.id) == ["1"])
            } else {
                try await connector.uploadData(database: database)
            }
            #expect(try await database.getUploadQueueStats().count == (isThere ? 1 : 0))
            #expect(supabase.received.last?.line == "GET /rest/v1/todos?select=id&id=in.(%221%22)")
        }
    }

    @Test
    func renewsATokenThatTheServiceGetsAgain() async throws {
        try await run { supabase, _, connector async throws in
            var tokens: [String?] = []
            for seconds in [0, 0, 0, 299, 1] as [TimeInterval] {
                supabase.date.withLockedValue { $0 += seconds }
                tokens.append(try await connector.fetchCredentials()?.token)
            }
            #expect(tokens == ["t1", "t2", "t2", "t2", "t3"])
            // A token may be good when no other one can be got.
            supabase.change { $0.interception = { _ in .json(503, "") } }
            supabase.date.withLockedValue { $0 += 300 }
            #expect(try await connector.fetchCredentials()?.token == "t3")
        }
    }

    @Test(arguments: [
        (500, "XX000"), (503, "PGRST002"), (429, ""), (409, "40001"), (409, "40P01"), (404, "42P01"), (400, "PGRST204"),
        (404, "PGRST205"), (400, "42703"), (504, "PGRST003"), (408, "57014"), (403, ""), (400, "<html>"),
    ])
    func triesEverythingElseAgain(status: Int, code: String) async throws {
        try await run { supabase, database, connector async throws in
            try await write(database, "INSERT INTO todos (id, title) VALUES ('2', 'bad')")
            supabase.refuse("bad", status, code.hasPrefix("<") ? code : #"{"code":"\#(code)","message":"No"}"#)
            let error = await #expect(throws: SupabaseError.self) { try await connector.uploadData(database: database) }
            #expect(error?.httpStatus == status)
            #expect(try await database.getUploadQueueStats().count == 1)
            supabase.change { $0.interception = nil }
            try await connector.uploadData(database: database)
            #expect(try await database.getUploadQueueStats().count == 0)
        }
    }

    @Test
    func anAppDecidesOtherwise() async throws {
        var options = SupabaseUploadOptions()
        options.schema = "app"
        options.maximumRows = 1
        options.treatment = { error, entry in
            switch error.serverCode {
            case "42703": entry.table == "todos" ? .reject : nil
            case "23505": .tryAgain
            default: nil
            }
        }
        try await run(options) { supabase, database, connector async throws in
            try await write(
                database,
                "INSERT INTO todos (id, title) VALUES ('1', 'x')",
                "INSERT INTO todos (id, title) VALUES ('2', 'bad')"
            )
            supabase.refuse("bad", 400, #"{"code":"42703","message":"No"}"#)
            await #expect(throws: UploadRejectionError.self) { try await connector.uploadData(database: database) }
            #expect(supabase.received.count == 2)
            #expect(supabase.requests.last?.header("Content-Profile") == "app")
            supabase.refuse("bad", 409, #"{"code":"23505","message":"No"}"#)
            await #expect(throws: SupabaseError.self) { try await connector.uploadData(database: database) }
        }
    }

    @Test
    func divideWrites() {
        func entry(_ number: Int64, _ op: UpdateType, _ id: String, _ data: JsonParam? = nil) -> CrudEntry {
            CrudEntry(
                id: id,
                clientId: number,
                op: op,
                table: "t",
                transactionId: 1,
                metadata: nil,
                opDataTyped: data,
                previousValuesTyped: nil,
                damage: nil
            )
        }
        let entries = [
            entry(1, .put, "1", ["a": .int(1)]), entry(2, .put, "2", ["a": .int(1)]),
            entry(3, .put, "1", ["a": .int(2)]),
            entry(4, .put, "3", ["a": .int(1), "b": .int(1)]), entry(5, .patch, "1", [:]),
            entry(6, .patch, "1", ["a": .int(3)]),
            entry(7, .patch, "2", ["a": .int(3)]), entry(8, .delete, "1"), entry(9, .delete, "2"),
            entry(10, .put, "1", [:]),
        ]
        let requests = SupabaseRequest.requests(for: entries, maximumRows: 500)
        #expect(requests.map { $0.entries.map(\.clientId) } == [[1, 2], [3], [4], [6], [7], [8, 9], [10]])
        #expect(requests.last?.rows == [["id": .string("1")]])
        let quoted = SupabaseRequest.requests(for: [entry(1, .delete, #"a"\,)"#)], maximumRows: 1)
        #expect(quoted.first?.query.removingPercentEncoding == #"id=in.("a\"\\,)")"#)
    }
}

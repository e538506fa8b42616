import PowerSyncCoreTestSupport
import PowerSyncProtocol
import PowerSyncTesting
import Testing

@testable import PowerSyncClient

/// What a running app answers.
@Suite(.timeLimit(.minutes(1))) struct InspectionConnectionTests {
    private let harness = SyncHarness()

    private func app() throws -> InspectedApp { try InspectedApp(harness.database) }

    // MARK: - Lines

    @Test func garbageIsAnsweredAndALineThatIsTooLongEndsTheConnection() async throws {
        var app = try app()
        app.limits.lineBytes = 200
        try await app.connectedWhileListening { client in
            try await client.send("hello\n\n{\"jsonrpc\":\"2.0\",\"method\":\"status\"}\n\u{fffd}\n")
            for _ in 0..<2 {
                guard case .object(let error)? = try await client.next()?["error"] else {
                    Issue.record("no error")
                    return
                }
                #expect(error["code"] == -32700)
            }
            // The notification has got no answer.
            #expect(try await client.rows("SELECT 1") == "[[1]]")
            try await client.send(String(repeating: "x", count: 201))
            guard case .object(let error)? = try await client.next()?["error"] else {
                Issue.record("no error")
                return
            }
            #expect(error["code"] == -32001)
            #expect(try await client.next() == nil)
        }
    }

    @Test func requestsThatArriveTogetherAreAnsweredInTheirOrder() async throws {
        try await app().connectedWhileListening { client in
            let requests = (0..<50).map { id in
                RPCRequest(id: .integer(id), method: "query", parameters: ["sql": .string("SELECT \(id)")]).text + "\n"
            }
            try await client.send(requests.joined())
            for id in 0..<50 {
                let answer = try await client.next()
                #expect(answer?["id"] == .integer(Int64(id)))
                guard case .object(let result)? = answer?["result"] else { continue }
                #expect(result["rows"]?.text == "[[\(id)]]")
            }
        }
    }

    // MARK: - The status

    @Test func theStatusIsFollowedAsItChanges() async throws {
        try await app().connectedWhileListening { client in
            let first = try await client.result("follow")
            #expect(first?["isConnected"] == false)
            #expect(first?["queue"]?.text == #"{"writes":0,"transactions":0,"bytes":0,"rejectedWrites":0}"#)
            try await harness.insert("1")
            try await client.waitForStatus { status in
                guard case .object(let queue)? = status["queue"] else { return false }
                return queue["writes"] == 1
            }
            let stream = try await harness.connectAndAccept()
            try await client.waitForStatus { $0["isConnected"] == true }
            stream.send(.checkpoint(1, [.bucket("a", count: 1)]))
            try await client.waitForStatus { status in
                guard case .array(let buckets)? = status["buckets"], case .object(let bucket)? = buckets.first else {
                    return false
                }
                return bucket["name"] == "a" && bucket["operationsToDownload"] == 1
            }
            // Other requests are answered meanwhile; a second follow does not tell everything twice.
            try await client.send(RPCRequest(id: "other", method: "follow").text + "\n")
            var line = try await client.next()
            while let next = line, next["id"] != "other" { line = try await client.next() }
            #expect(line != nil)
            try await harness.database.disconnect()
            try await client.waitForStatus { $0["isConnected"] == false }
        }
    }

    @Test func theStatusHasWhatTheDatabaseWaitsFor() async throws {
        try await harness.connect()
        let error = SyncTransportError(.connection, message: "no route")
        try await harness.service.nextStream().refuse(error)
        try await harness.clock.waitForTimer(of: .seconds(5))
        try await app().connectedWhileListening { client in
            let status = try await client.result("status")
            #expect(status?["date"] == "2023-11-14T22:13:20.000Z")
            #expect(status?["downloadError"]?.text.contains("no route") == true)
            #expect(status?["uploadError"] == nil)
            #expect(
                status?["waits"]?.text.hasPrefix(#"{"mode":"full","download":{"for":"the sync service to be reachable"#)
                    == true
            )
        }
    }

    // MARK: - Rows

    @Test func rowsHaveTheTypesOfSQLite() async throws {
        try await harness.insert("1", name: "Groceries \u{1F34E}")
        try await app().connectedWhileListening { client in
            #expect(try await client.rows("SELECT id, name FROM lists") == "[[\"1\",\"Groceries \u{1F34E}\"]]")
            let values = "SELECT NULL, 9223372036854775807, 1.5, '1', x'00ff', 9e999, -9e999, '', x''"
            #expect(
                try await client.rows(values)
                    == #"[[null,9223372036854775807,1.5,"1",{"base64":"AP8="},{"real":"inf"},{"real":"-inf"},"",{"base64":""}]]"#
            )
            let parameters: [ExactJSON] = [nil, 9_223_372_036_854_775_807, 1.5, "a\u{0}b", true]
            #expect(
                try await client.rows("SELECT ?, ?, ?, ?, ?", parameters)
                    == #"[[null,9223372036854775807,1.5,"a\u0000b",1]]"#
            )
            let result = try await client.result("query", ["sql": "SELECT 1 AS a, 2 AS a WHERE 0 -- none"])
            #expect(result?.text == #"{"columns":["a","a"],"rows":[],"isComplete":true}"#)
            #expect(try await client.rows("WITH x(i) AS (VALUES (1), (2)) SELECT i FROM x;  ") == "[[1],[2]]")
            #expect(
                try await client.rows("SELECT name FROM pragma_table_info('ps_crud') WHERE cid = 0") == #"[["id"]]"#
            )
            #expect(try await client.rows("SELECT count(*) FROM ps_crud") == "[[1]]")
            #expect(try await client.rows("EXPLAIN QUERY PLAN SELECT 1")?.contains("SCAN CONSTANT ROW") == true)
        }
    }

    @Test func answersHaveTheirLimits() async throws {
        var app = try app()
        app.limits.answerBytes = 10_000
        app.limits.valueBytes = 100_000
        try await app.connectedWhileListening { client in
            let numbers = "WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 5000) SELECT "
            let few = try await client.result("query", ["sql": .string(numbers + "i FROM n"), "limit": 3])
            #expect(few?.text == #"{"columns":["i"],"rows":[[1],[2],[3]],"isComplete":false}"#)
            let all = try await client.result("query", ["sql": .string(numbers + "i FROM n LIMIT 3"), "limit": 3])
            #expect(all?["isComplete"] == true)
            let large = try await client.result("query", ["sql": .string(numbers + "printf('%.*c', 1000, 'x') FROM n")])
            guard case .array(let rows)? = large?["rows"] else {
                Issue.record("\(String(describing: large))")
                return
            }
            #expect(rows.count == 9 && large?["isComplete"] == false)
            #expect(try await client.rows("SELECT length(zeroblob(100001))") == "string or blob too big")
            // The limit was the query's alone.
            let long = String(repeating: "x", count: 200_000)
            try await harness.insert("1", name: long)
            let length = try await harness.integer("SELECT length(name || name) FROM lists")
            #expect(length == 400_000)
        }
    }

    @Test func whatDoesMoreThanReadIsRefused() async throws {
        try await harness.insert("1")
        let refused = [
            "INSERT INTO lists (id) VALUES ('2')", "UPDATE lists SET name = 'x'", "DELETE FROM ps_crud",
            "REPLACE INTO ps_kv VALUES (1, 2)",
            "WITH x AS (SELECT 1) DELETE FROM ps_crud", "WITH x AS (SELECT 1) INSERT INTO ps_kv SELECT 1, 2",
            "CREATE TABLE t (a)", "CREATE TEMP TABLE t (a)", "DROP VIEW lists", "ALTER TABLE ps_kv ADD COLUMN x",
            "ATTACH ':memory:' AS other", "DETACH main", "PRAGMA query_only = 0", "PRAGMA user_version = 5",
            "PRAGMA key = 'x'",
            "PRAGMA journal_mode", "BEGIN", "BEGIN IMMEDIATE", "SAVEPOINT s", "COMMIT", "ROLLBACK", "VACUUM",
            "VACUUM INTO '/tmp/x'",
            "REINDEX", "ANALYZE", "; DELETE FROM ps_crud", "/* SELECT */ DELETE FROM ps_crud",
            "SELECT 1; DELETE FROM ps_crud",
            "SELECT load_extension('/tmp/x')", #"SELECT "load_extension"('/tmp/x')"#,
            "SELECT [load_extension] ('/tmp/x')",
            "SELECT powersync_clear(1)", "SELECT PowerSync_Init()", "SELECT powersync_replace_schema('{}')",
            "SELECT powersync_trigger_resync(1)", "SELECT powersync_test_migration(1)",
            "SELECT `powersync_drop_view`('lists')",
            "", " -- nothing", ";", "SELECT", "hello", "SELECT * FROM nothing", "SELECT ?", "SELECT 1 FROM lists WHERE",
        ]
        try await app().connectedWhileListening { client in
            let state =
                "SELECT (SELECT count(*) FROM ps_crud), (SELECT group_concat(name) FROM lists), (SELECT count(*) FROM sqlite_schema)"
            let before = try await client.rows(state)
            for sql in refused {
                let answer = try await client.ask("query", ["sql": .string(sql)])
                #expect(answer?["error"] != nil, "\(sql): \(String(describing: answer?.text))")
            }
            #expect(try await client.rows(state) == before)
            #expect(try await client.rows("SELECT name FROM pragma_database_list WHERE name = 'other'") == "[]")
            #expect(
                try await client.rows("SELECT 1", [1])?.contains("has 0 parameters, and 1 value was given") == true
            )
            #expect(try await client.rows("SELECT ?", [["a"]])?.contains("a text, a number") == true)
        }
        try await harness.insert("2")
        #expect(try await harness.lists().count == 2)
    }

    private static let endless =
        "WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"

    @Test func aStatementThatTakesTooLongIsEnded() async throws {
        var app = try app()
        app.limits.queryTime = .milliseconds(20)
        try await app.connectedWhileListening { client in
            let ended = try await client.rows(Self.endless)
            #expect(ended?.hasPrefix("The statement was ended after ") == true)
            // Another query is not ended with it.
            #expect(try await client.rows("SELECT 1") == "[[1]]")
        }
        #expect(try await harness.integer("SELECT 1") == 1)
    }

    @Test func aStatementEndsWithItsConnection() async throws {
        var app = try app()
        app.limits.queryTime = .seconds(600)
        try await app.whileListening {
            try await app.connect { client in
                let request = RPCRequest(id: 1, method: "query", parameters: ["sql": .string(Self.endless)])
                try await client.send(request.text + "\n")
            }
            // One runs at a time, so the first has ended.
            #expect(try await app.rows("SELECT 1") == "[[1]]")
            try await app.connect { client in
                let request = RPCRequest(id: 1, method: "query", parameters: ["sql": .string(Self.endless)])
                try await client.send(request.text + "\n")
            }
        }
        #expect(try await harness.integer("SELECT 1") == 1)
    }

    // MARK: - Streams

    @Test func subscriptionsLastUntilTheyAreEndedFromOutside() async throws {
        let database = try harness.database.requireOwn(for: "a test")
        let app = try app()
        let stream: JSONObject = ["stream": "todos", "parameters": ["list": "l1"]]
        func isSubscribed() -> Bool? {
            harness.database.currentStatus.forStream(
                stream: database.syncStream(name: "todos", params: ["list": .string("l1")])
            )?
            .subscription.hasExplicitSubscription
        }
        try await app.whileListening {
            try await app.connect { client in
                for _ in 0..<2 {
                    let result = try await client.result("subscribe", stream)
                    #expect(result?.text == #"{"isSubscribed":true}"#)
                }
            }
            #expect(isSubscribed() == true)
            try await app.connect { client in
                let status = try await client.result("status")
                #expect(status?["streams"]?.text.contains(#""name":"todos","parameters":{"list":"l1"}"#) == true)
                #expect(try await client.result("unsubscribe", stream)?.text == #"{"isSubscribed":false}"#)
                #expect(try await client.ask("unsubscribe", stream)?["error"] != nil)
                var all = stream
                all["all"] = true
                #expect(try await client.result("unsubscribe", all)?.text == #"{"isSubscribed":false}"#)
            }
            #expect(isSubscribed() != true)
            try await app.connect { client in
                let unnamed = try await client.ask("subscribe", ["stream": ""])
                #expect(unnamed?["error"] != nil)
                #expect(try await client.ask("subscribe", ["stream": "x", "ttl": -1])?["error"] != nil)
                #expect(try await client.ask("unsubscribe", ["stream": ""])?["error"] != nil)
            }
        }
    }
}

extension InspectionClient {
    /// Reads what follows until a status is as wanted.
    fileprivate mutating func waitForStatus(_ isWanted: (JSONObject) -> Bool) async throws {
        while let line = try await next() {
            guard line["method"] == "status", case .object(let status)? = line["params"] else { continue }
            if isWanted(status) { return }
        }
        Issue.record("the app listens no more")
    }
}

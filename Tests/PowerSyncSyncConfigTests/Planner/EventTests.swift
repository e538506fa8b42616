import PowerSyncProtocol
import PowerSyncSyncConfig
import Testing

/// Events: what rows of the source tell the service (docs/sync-config.md "Events").
@Suite struct EventTests {
    /// A config of some edition with payloads of `write_checkpoints`.
    private static func config(_ payloads: String..., edition: Int = 3) -> String {
        let streams = "streams:\n  s: {auto_subscribe: true, query: SELECT * FROM t}\n"
        let list = payloads.map { "      - \($0)\n" }.joined()
        return
            "config: {edition: \(edition)}\n\(streams)event_definitions:\n  write_checkpoints:\n    payloads:\n\(list)"
    }

    /// What rows of a table tell, as `lookup number`, or an error.
    private func told(
        _ plan: SyncPlan,
        _ rows: SourceRow...,
        table: String = "checkpoints"
    ) -> [String] {
        var evaluator = plan.evaluator(for: SourceTableName(schema: "main", name: table))
        return rows.flatMap { row in
            var errors: [String] = []
            let releases = evaluator.evaluateWriteCheckpoints(row) {
                errors.append("\($0.target): \($0.underlyingError)")
            }
            return releases.map { "\($0.lookup) \($0.number)" } + errors
        }
    }

    private func row(_ user: SQLValue, _ client: SQLValue, _ checkpoint: SQLValue, open: SQLValue = 0) -> SourceRow {
        ["id": "1", "user_id": user, "client_id": client, "checkpoint": checkpoint, "_open": open]
    }

    @Test func aRowTellsUserClientAndNumber() throws {
        let plan = try plan(Self.config("SELECT user_id, client_id, checkpoint FROM checkpoints"))
        #expect(
            told(plan, row("u1", "c1", 7), row(5, "c/2", .integer(.max))) == [
                #"0["u1","c1"] 7"#, #"0["5","c/2"] 9223372036854775807"#,
            ]
        )
        #expect(plan.writeCheckpointLookups(userID: "5", clientID: "c/2").map(\.rawValue) == [#"0["5","c/2"]"#])
        #expect(plan.writeCheckpointLookups(userID: "5", clientID: nil).isEmpty)
        #expect(plan.hasEvents && plan.eventNames == ["write_checkpoints"])
        #expect(plan.tablePatterns.map(\.table) == ["t", "checkpoints"])
        // Rows of the event's table are in no bucket, and in no lookup of a query.
        let table = SourceTableName(schema: "main", name: "checkpoints")
        #expect(plan.evaluate(row("u1", "c1", 7), of: table, bucketPrefix: "").isEmpty)
        #expect(plan.evaluateParameters(row("u1", "c1", 7), of: table).isEmpty)
    }

    /// Texts that only Swift takes for the same are two users.
    @Test func usersAreComparedByteByByte() throws {
        let plan = try plan(Self.config("SELECT * FROM checkpoints"))
        let lookups = ["\u{e9}", "e\u{301}"].map { plan.writeCheckpointLookups(userID: $0, clientID: "c")[0] }
        #expect(lookups[0] != lookups[1])
    }

    @Test(
        arguments: [
            (.null, "c", 1, "user_id is neither a text nor an integer"), ("u", .null, 1, "client_id is neither"),
            (1.5, "c", 1, "user_id"), ("u", .blob([1]), 1, "client_id"),
            ("u", "c", .null, "checkpoint is not a positive"),
            ("u", "c", "7", "checkpoint"), ("u", "c", 0, "checkpoint"), ("u", "c", -1, "checkpoint"),
            ("u", "c", 7.0, "checkpoint"), (.null, .null, .null, "user_id"),
        ] as [(SQLValue, SQLValue, SQLValue, String)]
    )
    func aColumnWithoutAUsableValueIsOneError(
        _ user: SQLValue,
        _ client: SQLValue,
        _ checkpoint: SQLValue,
        _ message: String
    ) throws {
        let plan = try plan(Self.config("SELECT * FROM checkpoints"))
        let told = told(plan, row(user, client, checkpoint))
        #expect(told.count == 1)
        #expect(told.first?.hasPrefix("event write_checkpoints: the column \(message)") == true, "\(told)")
    }

    @Test func aColumnThatTheTableLacksIsAnError() throws {
        let plan = try plan(Self.config("SELECT * FROM checkpoints"))
        #expect(
            told(plan, ["user_id": "u", "client_id": "c"]) == [
                "event write_checkpoints: the column checkpoint is not a positive integer"
            ]
        )
    }

    @Test func conditionsCountFromEditionThreeOn() throws {
        let query = "SELECT * FROM checkpoints WHERE NOT _open AND (checkpoint > 5 OR user_id = 'root')"
        let rows = [row("u", "c", 6), row("u", "c", 5), row("root", "c", 5), row("root", "c", 6, open: 1)]
        let three = try plan(Self.config(query))
        #expect(rows.flatMap { told(three, $0) } == [#"0["u","c"] 6"#, #"0["root","c"] 5"#])
        let two = Self.config(query.replacing(" WHERE", with: "\n          WHERE"), edition: 2)
        let result = SyncConfig.parse(two)
        #expect(result.diagnostics.map { "\($0.code)" }.contains("event.where_ignored"))
        let plan = try #require(result.plan)
        #expect(rows.map { told(plan, $0).count } == [1, 1, 1, 1])
    }

    /// `*` has columns that begin with `_`; expressions have the names that they are given.
    @Test func columnsAreThoseOfTheQuery() throws {
        let plan = try plan(
            Self.config("SELECT *, _owner AS user_id, lower(client_id) AS client_id, \"n\" + 1 AS checkpoint FROM a")
        )
        #expect(told(plan, ["_owner": "u", "client_id": "C", "n": 1], table: "a") == [#"0["u","c"] 2"#])
    }

    @Test func severalQueriesAndPatternsEachGiveAPayload() throws {
        let text = Self.config(
            "SELECT * FROM checkpoints",
            #"SELECT "user" AS user_id, client_id, 2 * checkpoint AS checkpoint FROM checkpoints"#,
            #"SELECT * FROM "check%""#
        )
        let plan = try plan(text)
        let row: SourceRow = ["user_id": "u", "user": "v", "client_id": "c", "checkpoint": 3]
        #expect(told(plan, row) == [#"0["u","c"] 3"#, #"1["v","c"] 6"#, #"2["u","c"] 3"#])
        #expect(told(plan, row, table: "checked") == [#"2["u","c"] 3"#])
        #expect(plan.writeCheckpointLookups(userID: "u", clientID: "c").count == 3)
        #expect(try SyncPlan(encodedJSON: plan.encodedJSON()) == plan)
    }

    struct Refusal: Sendable, CustomTestStringConvertible {
        var query: String
        var codes: [String]
        var testDescription: String { query }
    }

    static let refusals = [
        Refusal(query: "SELECT a.* FROM a, b", codes: ["sql.unsupported_clause"]),
        Refusal(query: "SELECT a.* FROM a JOIN b ON a.id = b.id", codes: ["sql.unsupported_clause"]),
        Refusal(query: "SELECT x.* FROM (SELECT id FROM a) AS x", codes: ["sql.unsupported_clause"]),
        Refusal(query: "SELECT a.* FROM a, json_each(a.list) AS e", codes: ["sql.unsupported_clause"]),
        Refusal(query: "SELECT * FROM a WHERE id IN (SELECT id FROM b)", codes: ["sql.unsupported_clause"]),
        Refusal(query: "SELECT * FROM a WHERE 'x' IN list", codes: ["sql.unsupported_clause"]),
        Refusal(query: "SELECT * FROM a WHERE user_id = auth.user_id()", codes: ["sql.request_function"]),
        Refusal(query: "SELECT * FROM a WHERE b.x = 1", codes: ["sql.unknown_table"]),
        Refusal(query: "SELECT b.x AS user_id, a.* FROM a", codes: ["sql.unknown_table"]),
        Refusal(
            query: "SELECT auth.user_id() AS user_id, client_id, checkpoint FROM a",
            codes: ["stream.output_request_value"]
        ),
        Refusal(query: "SELECT * FROM a LIMIT 1", codes: ["sql.unsupported_clause"]),
    ]

    @Test(arguments: refusals) func whatIsNotOfTheRowIsRefused(_ refusal: Refusal) {
        let result = SyncConfig.parse(Self.config("|\n          \(refusal.query)"))
        #expect(result.plan == nil)
        #expect(
            result.diagnostics.filter { $0.severity == .error }.map { "\($0.code)" } == refusal.codes,
            "\(result.diagnostics)"
        )
    }

    @Test func anExpressionWithoutANameIsAWarning() throws {
        let text = Self.config("SELECT user_id, client_id, checkpoint, upper(name) FROM a")
        #expect(findings(text).map { $0.split(separator: " ")[1] } == ["column.unnamed"])
        #expect(SyncConfig.parse(text).plan != nil)
    }

    @Test func checkpointRequestsAreAnEventOfTheirOwn() throws {
        let text = Self.config("SELECT * FROM a").replacing("write_checkpoints", with: "checkpoint_requests")
        let plan = try plan(text)
        #expect(plan.eventNames == ["checkpoint_requests"])
        #expect(told(plan, row("u", "c", 1), table: "a") == [#"0["u","c"] 1"#])
    }

    @Test func anotherEventIsCheckedAndNotDelivered() throws {
        let text = Self.config("SELECT * FROM a").replacing("write_checkpoints", with: "audit")
        #expect(findings(text).map { $0.split(separator: " ")[1] } == ["config.no_effect"])
        #expect(try plan(text).hasEvents == false)
    }

    // MARK: Deployments

    @Test func anEventThatStaysKeepsItsPlaceWhateverStreamsDo() throws {
        let earlier = try plan(Self.config("SELECT * FROM checkpoints"))
        let text = Self.config("SELECT * FROM checkpoints").replacing("SELECT * FROM t}", with: "SELECT id FROM u}")
        let continuation = PlanContinuation(of: try plan(text), after: earlier, number: 2)
        #expect(continuation.keepsParts && !continuation.readsNothing)
        #expect(
            continuation.streams.map(\.description) == [
                "s: read from u (the queries of its rows changed)",
                "event_definitions.write_checkpoints: kept (unchanged)",
            ]
        )
        #expect(
            continuation.plan.writeCheckpointLookups(userID: "u", clientID: "c").map(\.rawValue) == [#"0["u","c"]"#]
        )
    }

    @Test func anEventThatIsNewOrChangedIsRead() throws {
        let without = try plan("config: {edition: 3}\nstreams:\n  s: {auto_subscribe: true, query: SELECT * FROM t}\n")
        let first = PlanContinuation(of: try plan(Self.config("SELECT * FROM a")), after: without, number: 2)
        #expect(!first.readsNothing)
        #expect(first.streams.map(\.description).last == "event_definitions.write_checkpoints: read from a (new)")
        let second = PlanContinuation(of: try plan(Self.config("SELECT * FROM b")), after: first.plan, number: 3)
        #expect(
            second.streams.map(\.description).last
                == "event_definitions.write_checkpoints: read from b (its payloads changed)"
        )
        let lookups = [first, second].map { $0.plan.writeCheckpointLookups(userID: "u", clientID: "c")[0] }
        #expect(lookups[0] != lookups[1])
        #expect(first.plan.parts(addedBy: second.plan).tablePatterns.map(\.table) == ["b"])
        let third = PlanContinuation(of: without, after: second.plan, number: 4)
        #expect(third.readsNothing)
        #expect(
            third.streams.map(\.description).last
                == "event_definitions.write_checkpoints: removed (no longer in the config)"
        )
    }
}

import PowerSyncProtocol
import PowerSyncSyncConfig
import Testing

/// Rows that are joined with the elements of an array: what the row alone decides is evaluated once.
@Suite struct RowFunctionTests {
    private static let table = SourceTableName(schema: "main", name: "docs")
    private static let members = "auth.user_id() IN docs.members AND docs.data ->> 'status' = 'open'"

    private let evaluated: SyncPlan
    private let indexed: SyncPlan

    init() throws {
        evaluated = try plan(query: "SELECT id FROM docs WHERE \(Self.members)")
        indexed = try plan(query: "SELECT * FROM lists WHERE id IN (SELECT id FROM docs WHERE \(Self.members))")
    }

    /// The keys of a row, and its errors: of its buckets, then of the parameter index.
    private func keys(_ row: SourceRow) -> (buckets: [String], lookups: [String], errors: [EvaluationError]) {
        var errors: [EvaluationError] = []
        let buckets = evaluated.evaluate(row, of: Self.table, bucketPrefix: "") { errors.append($0.underlyingError) }
        let entries = indexed.evaluateParameters(row, of: Self.table) { errors.append($0.underlyingError) }
        return (buckets.map(\.bucket.rawValue), entries.map(\.lookup.rawValue), errors)
    }

    private func row(members: SQLValue, data: SQLValue) -> SourceRow {
        ["id": 1, "members": members, "data": data]
    }

    @Test func anArrayIsReadOnlyWhenTheRowIsWanted() {
        let wanted = keys(row(members: #"["u1","u2"]"#, data: #"{"status":"open"}"#))
        #expect(wanted.buckets == [#"s|0["u1"]"#, #"s|0["u2"]"#])
        #expect(wanted.lookups == [#"0["u1"]"#, #"0["u2"]"#])
        #expect(wanted.errors.isEmpty)
        #expect(keys(row(members: "oops", data: #"{"status":"open"}"#)).errors == [.notJSON, .notJSON])
        let closed = keys(row(members: "oops", data: #"{"status":"closed"}"#))
        #expect(closed.buckets.isEmpty && closed.lookups.isEmpty && closed.errors.isEmpty)
    }

    @Test func aFilterThatCannotBeEvaluatedIsReportedWhereThereIsAnElement() {
        #expect(keys(row(members: "[]", data: "oops")).errors.isEmpty)
        let one = keys(row(members: #"["u1"]"#, data: "oops"))
        #expect(one.buckets.isEmpty && one.lookups.isEmpty)
        #expect(one.errors == [.notJSON, .notJSON])
    }

    @Test func elementsAreComparedWithTheRow() throws {
        let plan = try plan(
            query: """
                SELECT d.id FROM docs AS d, json_each(d.members) AS m
                    WHERE m.value = auth.user_id() AND m.value != d.data ->> 'owner'
                """
        )
        let members: SQLValue = #"["u1","u2","u3"]"#
        #expect(
            plan.bucketNames("docs", row(members: members, data: #"{"owner":"u2"}"#))
                == [#"1#s|0["u1"]"#, #"1#s|0["u3"]"#]
        )
        #expect(plan.bucketNames("docs", row(members: members, data: "oops")).isEmpty)
    }

    @Test(.timeLimit(.minutes(1))) func theJSONOfARowIsNotReadForEveryElement() {
        let members = "[\((0..<20_000).map { "\"u\($0)\"" }.joined(separator: ","))]"
        let text = String(repeating: "x", count: 200_000)
        let large = keys(row(members: .text(members), data: .text(#"{"text":"\#(text)","status":"open"}"#)))
        #expect(large.buckets.count == 20_000)
        #expect(large.lookups.count == 20_000)
        #expect(large.errors.isEmpty)
    }
}

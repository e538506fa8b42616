import PowerSyncProtocol
import PowerSyncSyncConfig
import TestSupport
import Testing

/// Clients get exactly the rows that the same query selects in SQLite, over random rows: nobody gets a row through values of
/// two different rows.
@Suite struct SQLJoinTests {
    struct Case: Sendable, CustomTestStringConvertible {
        var name: String
        /// The query, whose request values stand for parameters of SQLite.
        var query: String
        var testDescription: String { name }

        init(_ name: String, _ query: String) {
            self.name = name
            self.query = query
        }

        /// The query as SQLite runs it.
        var sql: String {
            query.replacing("auth.user_id()", with: ":user")
                .replacing("IN subscription.parameter('ids')", with: "IN (SELECT value FROM json_each(:ids))")
                .replacing("subscription.parameter('first')", with: ":first")
                .replacing("subscription.parameter('second')", with: ":second")
        }
    }

    static let cases = [
        Case(
            "two inputs of one lookup",
            """
            SELECT p.* FROM p, s, m, n WHERE p.a = s.a AND s.b = m.b AND s.c = n.c
                AND m.u = auth.user_id() AND n.u = auth.user_id()
            """
        ),
        Case(
            "two inputs of one lookup from one other lookup",
            "SELECT p.* FROM p, s, m WHERE p.a = s.a AND s.b = m.b AND s.c = m.c AND m.u = auth.user_id()"
        ),
        Case(
            "two inputs of one lookup in subqueries",
            """
            SELECT p.* FROM p WHERE p.a IN (SELECT s.a FROM s WHERE s.b IN (SELECT m.b FROM m WHERE m.u = auth.user_id()
                AND m.c = s.c) AND s.c = p.c)
            """
        ),
        Case(
            "one lookup used twice",
            "SELECT p.* FROM p, s WHERE p.a = s.a AND p.b = s.b AND s.u = auth.user_id()"
        ),
        Case(
            "one lookup used twice that is reached through several keys",
            "SELECT p.* FROM p, s, m WHERE p.a = s.a AND p.b = s.b AND s.c = m.c AND m.u = auth.user_id()"
        ),
        Case(
            "one lookup used by two others",
            """
            SELECT p.* FROM p, s, m, n WHERE p.a = s.a AND p.b = n.b AND s.c = m.a AND n.c = m.b AND m.u = auth.user_id()
            """
        ),
        Case(
            "one lookup used by another one and by the row",
            "SELECT p.* FROM p, s, m WHERE p.a = s.a AND p.b = m.b AND s.c = m.c AND m.u = auth.user_id()"
        ),
        Case(
            "two columns of one intersection",
            "SELECT p.* FROM p, s WHERE p.a = s.a AND p.a = s.b AND s.u = auth.user_id()"
        ),
        Case(
            "two columns of one intersection that is reached through several keys",
            "SELECT p.* FROM p, s, m WHERE p.a = s.a AND p.a = s.b AND s.c = m.c AND m.u = auth.user_id()"
        ),
        Case(
            "one column of two lookups and another of one",
            "SELECT p.* FROM p, s, m WHERE p.a = s.a AND p.a = m.a AND p.b = m.b AND s.u = auth.user_id() AND m.u = s.c"
        ),
        Case(
            "a subscription with two values",
            """
            SELECT p.* FROM p WHERE p.a = subscription.parameter('first') AND p.b = subscription.parameter('second')
                AND p.c = auth.user_id()
            """
        ),
        Case(
            "a subscription with two values for one lookup",
            """
            SELECT p.* FROM p, s WHERE p.a = s.a AND p.b = s.b AND s.c IN subscription.parameter('ids')
                AND s.u = auth.user_id()
            """
        ),
        Case(
            "a subscription with two values for a lookup and the row",
            """
            SELECT p.* FROM p, s WHERE p.a = s.a AND p.c = s.c AND s.c IN subscription.parameter('ids')
                AND s.b = subscription.parameter('first') AND p.b = subscription.parameter('second')
            """
        ),
        Case(
            "columns that ON makes equal",
            "SELECT p.* FROM p JOIN s ON p.a = s.a JOIN m ON s.a = m.a WHERE m.u = auth.user_id() AND s.b = 1"
        ),
        Case(
            "columns that ON makes equal to the subquery's",
            """
            SELECT p.* FROM p WHERE p.a IN (SELECT m.a FROM m JOIN n ON n.a = m.a WHERE m.u = auth.user_id() AND n.b = 1)
            """
        ),
        Case(
            "a column that is equal to the user's through another one",
            "SELECT p.* FROM p, m WHERE p.u = auth.user_id() AND m.u = p.u AND m.a = 1"
        ),
        Case(
            "a circle of columns that are equal",
            """
            SELECT p.* FROM p, s, m, n WHERE p.a = s.a AND s.a = m.b AND m.b = n.c AND n.c = p.a AND n.u = auth.user_id()
                AND s.b = p.b
            """
        ),
    ]

    private static let columns = ["a", "b", "c", "u"]
    private static let values: [SQLValue] = [0, 1, 1.0, 2, 3, "1", nil]

    private static func rows(using generator: inout SeededGenerator) -> [SourceRow] {
        (0..<(2 + generator.number(below: 5))).map { id in
            var row = SourceRow(columns: [.init(name: "id", value: .integer(Int64(id)))])
            for column in columns {
                row.columns.append(.init(name: column, value: values[generator.number(below: values.count)]))
            }
            return row
        }
    }

    /// What clients subscribe with: two subscriptions with two values each.
    private static func subscriptions(using generator: inout SeededGenerator) -> [JSONObject] {
        (0..<2).map { _ in
            func number() -> ExactJSON { .integer(Int64(generator.number(below: 4))) }
            return ["first": number(), "second": number(), "ids": [number(), number()]]
        }
    }

    @Test(arguments: cases, 1...6 as ClosedRange<UInt64>)
    func nobodyGetsARowThroughValuesOfTwoRows(_ test: Case, seed: UInt64) async throws {
        let options = ["auto_subscribe: false", "accept_potentially_dangerous_queries: true"]
        let plan = try plan(config(TestStream("s", test.query, options: options)))
        var generator = SeededGenerator(seed: seed)
        for round in 0..<12 {
            let data = ["p", "s", "m", "n"].map { ($0, Self.rows(using: &generator)) }
            let subscriptions = Self.subscriptions(using: &generator)
            let streams = StreamingSyncRequest.Streams(
                subscriptions: subscriptions.map { StreamingSyncRequest.Subscription(stream: "s", parameters: $0) }
            )
            var index = ParameterStore()
            let sqlite = try SQLiteOracle()
            for (table, rows) in data {
                index.add(rows, of: table, plan)
                try sqlite.makeTable(table, rows)
            }
            for user in [1, 2, 3] as [Int64] {
                let buckets = Set(
                    try await plan.bucketNames(token: ["sub": .integer(user)], streams: streams, index: index)
                )
                let synced = data[0].1.filter { !buckets.isDisjoint(with: plan.bucketNames("p", $0)) }
                let selected = try subscriptions.flatMap { parameters in
                    try sqlite.values(of: test.sql, parameters.boundValues.merging(["user": .integer(user)]) { $1 })
                }
                #expect(
                    Set(synced.compactMap { $0["id"] }) == Set(selected),
                    "seed \(seed), round \(round), user \(user), \(subscriptions): \(data)"
                )
            }
        }
    }
}

extension JSONObject {
    /// The parameters of a subscription as SQLite gets them: numbers, and the JSON text of arrays.
    fileprivate var boundValues: [String: SQLValue] {
        Dictionary(
            uniqueKeysWithValues: members.map { member in
                switch member.value {
                case .integer(let integer): (member.name, SQLValue.integer(integer))
                case .array(let elements):
                    (member.name, .text("[\(elements.compactMap(\.integer).map(String.init).joined(separator: ","))]"))
                default: (member.name, .null)
                }
            }
        )
    }
}

extension ExactJSON {
    fileprivate var integer: Int64? { if case .integer(let integer) = self { integer } else { nil } }
}

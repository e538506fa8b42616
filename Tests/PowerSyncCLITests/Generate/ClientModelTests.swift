import Testing

@testable import PowerSyncGenerator

/// Which tables, columns and parameters an app has.
@Suite struct ClientModelTests {
    private static let schema = """
        CREATE TABLE items(
          id TEXT, owner TEXT NOT NULL, n INTEGER NOT NULL, small SMALLINT, big BIGSERIAL, r REAL NOT NULL, d DOUBLE PRECISION,
          yes BOOLEAN NOT NULL, price NUMERIC(10, 2), at TIMESTAMPTZ, day DATE, uid UUID NOT NULL, doc JSONB, tags TEXT[],
          bare, photo BYTEA, span INTERVAL, place POINT
        )
        """

    @Test func columnsHaveTheTypesOfTheirDeclarations() throws {
        let code = try GeneratedCode(["all": ["SELECT * FROM items"]], schema: Self.schema)
        #expect(
            code.columns(of: "items") == [
                "owner: text", "n: integer", "small: integer?", "big: integer?", "r: real", "d: real?", "yes: boolean",
                "price: decimal?", "at: date?", "day: text?", "uid: text", "doc: text?", "tags: text?", "bare: text?",
                "span: text?", "place: text?",
            ]
        )
        #expect(code.model.tables.first?.leftOut == ["photo"])
    }

    @Test func expressionsHaveTheTypesOfTheirOperators() throws {
        let code = try GeneratedCode(
            [
                "all": [
                    """
                    SELECT id, upper(owner) AS a, n > 1 AS b, small > 1 AS c, owner || '!' AS d, CAST(small AS REAL) AS e, \
                    ifnull(small, 0) AS f, small IS NULL AS g, CASE WHEN n > 1 THEN 'x' ELSE 'y' END AS h, \
                    CASE WHEN n > 1 THEN 1 END AS i, doc ->> 'a' AS j, base64(photo) AS k, 'fixed' AS l, n + 1 AS m, \
                    CASE WHEN n > 1 THEN NULL ELSE r END AS o, length(owner) AS p, uuid_blob(uid) AS q FROM items
                    """
                ]
            ],
            schema: Self.schema
        )
        #expect(
            code.columns(of: "items") == [
                "a: text", "b: boolean", "c: boolean?", "d: text", "e: real?", "f: integer", "g: boolean", "h: text",
                "i: integer?", "j: text?", "k: text?", "l: text", "m: text?", "o: real?", "p: integer?",
            ]
        )
        #expect(code.model.tables.first?.leftOut == ["q"])
    }

    @Test func aColumnThatOnlySomeQueriesHaveIsOptional() throws {
        let code = try GeneratedCode(
            [
                "some": ["SELECT id, owner, n FROM items"],
                "others": ["SELECT id, owner, r AS n FROM items WHERE yes"],
                "more": ["SELECT id, owner, 'x' AS n, uid FROM items WHERE n = 1"],
            ],
            schema: Self.schema
        )
        #expect(code.columns(of: "items") == ["owner: text", "n: text", "uid: text?"])
    }

    @Test func tablesHaveTheNamesOfClients() throws {
        let code = try GeneratedCode(
            [
                "alias": ["SELECT id, owner FROM items AS things"],
                "wild": [#"SELECT * FROM "log_%" AS logs"#],
                "real": [#"SELECT * FROM "log_%""#],
            ],
            schema: Self.schema + "; CREATE TABLE log_a(id, x); CREATE TABLE log_b(id, y INT)"
        )
        #expect(code.model.tables.map(\.name) == ["log_a", "log_b", "logs", "things"])
        #expect(code.columns(of: "logs") == ["x: text?", "y: integer?"])
    }

    @Test func parametersHaveTheTypesOfWhatTheyAreComparedWith() throws {
        let code = try GeneratedCode(
            [
                "a": [
                    "SELECT * FROM items WHERE owner = subscription.parameter('who') AND n = subscription.parameter('n')"
                ],
                "b": [
                    "SELECT * FROM items WHERE yes = subscription.parameter('on') AND r = subscription.parameter('r')"
                ],
                "c": ["SELECT * FROM items WHERE n IN subscription.parameter('numbers')"],
                "d": ["SELECT * FROM items WHERE owner = auth.user_id() AND subscription.parameter('mode') = 'all'"],
                "e": ["SELECT * FROM items WHERE n = CAST(subscription.parameter('text') AS INTEGER)"],
                "f": ["SELECT * FROM items WHERE owner = ifnull(subscription.parameter('who'), auth.user_id())"],
                "g": ["SELECT * FROM items WHERE owner = subscription.parameters() ->> '$.deep.who'"],
                "h": [
                    "SELECT * FROM items WHERE n = subscription.parameter('x')",
                    "SELECT * FROM items WHERE owner = subscription.parameter('x')",
                ],
                "i": [
                    "SELECT * FROM items WHERE owner IN (SELECT owner FROM items AS o WHERE o.n = subscription.parameter('n'))"
                ],
                "j": ["SELECT * FROM items WHERE owner = auth.user_id()"],
            ],
            schema: Self.schema
        )
        #expect(
            code.functions == [
                "static func a(_, n: Int, who: String)",
                "static func b(_, on: Bool, r: Double)",
                "static func c(_, numbers: [Int])",
                "static func d(_, mode: String)",
                "static func e(_, text: Int)",
                "static func f(_, who: JsonValue? = nil)",
                "static func g(_, others: JsonParam = [:])",
                "static func h(_, x: JsonValue)",
                "static func i(_, n: Int)",
                "static func j(_)",
            ]
        )
    }

    @Test func whatCannotBeGeneratedIsSaidAtOnce() throws {
        let error = #expect(throws: GenerationError.self) {
            try GeneratedCode(
                [
                    "a": ["SELECT * FROM missing"],
                    "b": [#"SELECT id, n AS "a b", n AS x, n AS "X", n AS "ID" FROM items"#],
                    "c": [#"SELECT id FROM items AS "Items""#],
                ],
                schema: Self.schema
            )
        }
        let problems = try #require(error?.problems)
        #expect(problems.count == 5, "\(problems)")
        for words in [
            "no table 'missing'", "Column 'a b' of table 'items'", "Columns 'x' and 'X'", "Columns 'id' and 'ID'",
            "Tables 'Items' and 'items'",
        ] {
            #expect(problems.contains { $0.contains(words) }, "\(words) in \(problems)")
        }
    }

    @Test func aColumnThatTheTableLacksIsLeftOutAndNoted() throws {
        let code = try GeneratedCode(["a": ["SELECT id, n, nope FROM items"]], schema: Self.schema)
        #expect(code.columns(of: "items") == ["n: integer"])
        #expect(code.notes == ["Table 'items' has no column 'nope', so 'nope' is left out of the generated code."])
        let masked = try GeneratedCode(["a": ["SELECT id, n, nope AS n FROM items"]], schema: Self.schema)
        #expect(masked.columns(of: "items") == [])
    }
}

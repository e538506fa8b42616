import PowerSyncProtocol
import PowerSyncSyncConfig
import Testing

/// Values of a request by their JSON type, in every operator that takes one, in streams and in bucket definitions.
@Suite struct RequestValueTests {
    /// A dialect in which a condition says who gets the bucket of `t`.
    enum Dialect: String, CaseIterable, Sendable {
        case stream, stream2, claimsOfEdition2, claimsOfEdition1, parametersOfEdition2

        /// The config whose condition is about `VALUE`.
        func config(_ condition: String) -> String {
            func definition(_ edition: Int, _ value: String) -> String {
                """
                config: {edition: \(edition)}
                bucket_definitions:
                  s:
                    accept_potentially_dangerous_queries: true
                    parameters: \(yamlQuoted("SELECT request.user_id() AS u WHERE \(condition.replacing("VALUE", with: value))"))
                    data: [SELECT * FROM t WHERE u = bucket.u]
                """
            }
            switch self {
            case .stream, .stream2:
                let condition = condition.replacing("VALUE", with: "auth.parameter('v')")
                return """
                    config: {edition: \(self == .stream ? 3 : 2)}
                    streams:
                      s: {auto_subscribe: true, query: \(yamlQuoted("SELECT * FROM t WHERE u = auth.user_id() AND \(condition)"))}
                    """
            case .claimsOfEdition2: return definition(2, "request.jwt() ->> 'v'")
            case .claimsOfEdition1: return definition(1, "request.jwt() ->> 'v'")
            case .parametersOfEdition2: return definition(2, "request.parameters() ->> 'v'")
            }
        }

        /// Whether `!=` of NULL is true.
        var nullDiffers: Bool { self == .stream }
    }

    /// JSON values as the language has them.
    static let values: [(json: ExactJSON?, value: SQLValue)] = [
        (nil, nil), (.null, nil), (true, 1), (false, 0), (0, 0), (1, 1), (-7, -7), (1.0, 1.0), (1.5, 1.5), ("", ""),
        ("x", "x"),
        ("1", "1"), ("true", "true"), ("1.0", "1.0"), (["x", 1], #"["x",1]"#), ([], "[]"), (["k": "x"], #"{"k":"x"}"#),
        (.integer(.max), .integer(.max)), (.integer(9_007_199_254_740_993), .integer(9_007_199_254_740_993)),
        ("ä😀", "ä😀"),
    ]

    /// Operators, with what they give for a value; `nil` is NULL.
    static let operators: [(condition: String, holds: @Sendable (SQLValue, Bool) -> Bool?)] = [
        ("VALUE = 1", { value, _ in value == nil ? nil : value.normalizedKey == 1 }),
        ("1 = VALUE", { value, _ in value == nil ? nil : value.normalizedKey == 1 }),
        ("VALUE != 1", { value, nullDiffers in value == nil ? nullDiffers : value.normalizedKey != 1 }),
        ("NOT (VALUE = 1)", { value, _ in value.normalizedKey != 1 }),
        ("VALUE = 'x'", { value, _ in value == nil ? nil : value == "x" }),
        ("VALUE = '1'", { value, _ in value == nil ? nil : value == "1" }),
        ("VALUE IN ('x', 1)", { value, _ in value == nil ? nil : value == "x" || value.normalizedKey == 1 }),
        (
            "VALUE NOT IN ('x', 1)",
            { value, nullDiffers in
                value == nil ? nullDiffers : value != "x" && value.normalizedKey != 1
            }
        ),
        ("VALUE IS NULL", { value, _ in value == nil }), ("VALUE IS NOT NULL", { value, _ in value != nil }),
        (
            "VALUE > 0",
            { value, _ in
                switch value {
                case .null: nil
                case .integer(let integer): integer > 0
                case .real(let number): number > 0
                default: true
                }
            }
        ),
        (
            "VALUE BETWEEN 1 AND 2",
            { value, _ in
                switch value {
                case .null: nil
                case .integer(let integer): (1...2).contains(integer)
                case .real(let number): (1...2).contains(number)
                default: false
                }
            }
        ),
        (
            "VALUE",
            { value, _ in
                switch value {
                case .null, .blob: false
                case .integer(let integer): integer != 0
                case .real(let number): number != 0
                case .text(let text): text.hasPrefix("1")
                }
            }
        ),
        (
            "NOT VALUE",
            { value, _ in
                switch value {
                case .null, .blob: true
                case .integer(let integer): integer == 0
                case .real(let number): number == 0
                case .text(let text): !text.hasPrefix("1")
                }
            }
        ),
        ("VALUE || '' = '1'", { value, _ in value == nil ? nil : value.normalizedKey == 1 || value == "1" }),
        ("typeof(VALUE) = 'integer'", { value, _ in if case .integer = value { true } else { false } }),
        ("ifnull(VALUE, 1) = 1", { value, _ in value == nil || value.normalizedKey == 1 }),
        ("VALUE = true", { value, _ in value == nil ? nil : value.normalizedKey == 1 }),
        (
            "length(VALUE) = 1",
            { value, _ in
                switch value {
                case .null: nil
                case .integer(let integer): "\(integer)".count == 1
                case .real(let number): number == 1
                default: value == "x" || value == "1"
                }
            }
        ),
        (
            "json_valid(VALUE)",
            { value, _ in
                switch value {
                case .null, .blob: false
                case .integer, .real: true
                case .text(let text): ["1", "true", "1.0", #"["x",1]"#, "[]", #"{"k":"x"}"#].contains(text)
                }
            }
        ),
    ]

    @Test(arguments: Dialect.allCases, operators.indices)
    func aValueIsWhatItsJSONIs(_ dialect: Dialect, number: Int) async throws {
        let (condition, holds) = Self.operators[number]
        let plan = try plan(dialect.config(condition))
        for (json, value) in Self.values {
            var object: JSONObject = [:]
            object["v"] = json
            var token: JSONObject = dialect == .parametersOfEdition2 ? [:] : object
            token["sub"] = "u1"
            let names = try await plan.bucketNames(token: token, parameters: object)
            let expected = holds(value, dialect.nullDiffers) == true
            #expect(!names.isEmpty == expected, "\(dialect) \(condition) for \(String(describing: json))")
        }
    }

    /// Arrays of a request where their elements are read: `IN`, `NOT IN`, `&&` and `json_each()`.
    static let arrays: [(json: ExactJSON?, elements: [SQLValue], isRefused: Bool)] = [
        (nil, [], false), (.null, [], false), ([], [], false), (["a", 1, true, 2.0, nil], ["a", 1, 2], false),
        (["k": "a", "l": 5], ["a", 5], false), ("a", [], true), ("[\"a\"]", ["a"], false), (5, [], true),
        (true, [], true),
        (1.5, [], true),
    ]

    @Test(arguments: [
        "SELECT * FROM t WHERE k IN auth.parameter('v')",
        "SELECT t.* FROM t, json_each(auth.parameter('v')) AS j WHERE j.value = t.k",
        "SELECT * FROM t WHERE tags && auth.parameter('v')",
    ])
    func theElementsOfAnArrayAreKeys(_ query: String) async throws {
        let plan = try plan(query: query)
        for (json, elements, isRefused) in Self.arrays {
            var token: JSONObject = ["sub": "u1"]
            token["v"] = json
            let request = SyncPlanRequest(tokenPayload: token)
            let querier = plan.querier(for: request, bucketPrefix: "1#")
            let names = try await querier.buckets { _ in [:] }.map(\.name.rawValue)
            #expect(Set(names) == Set(elements.map { "1#s|0[\($0)]" }), "\(String(describing: json))")
            #expect(querier.streams.flatMap(\.errors).isEmpty == !isRefused, "\(String(describing: json))")
        }
    }

    @Test(arguments: [2, 3]) func whatIsNoArrayExcludesNobodySilently(edition: Int) async throws {
        let plan = try plan(
            """
            config: {edition: \(edition)}
            streams: {s: {auto_subscribe: true, query: "SELECT * FROM t WHERE u = auth.user_id() AND 'x' NOT IN auth.parameter('v')"}}
            """
        )
        for (json, isServed, isRefused) in [
            (nil, edition == 3, false), ([], true, false), (["x"], false, false), (["y", 1], true, false),
            ("x", false, true),
            (["k": "x"], false, true), (5, false, true),
        ] as [(ExactJSON?, Bool, Bool)] {
            var token: JSONObject = ["sub": "u1"]
            token["v"] = json
            let querier = plan.querier(for: SyncPlanRequest(tokenPayload: token), bucketPrefix: "1#")
            #expect(try await querier.buckets { _ in [:] }.isEmpty == !isServed, "\(String(describing: json))")
            #expect(querier.streams.flatMap(\.errors).isEmpty == !isRefused, "\(String(describing: json))")
        }
    }
}

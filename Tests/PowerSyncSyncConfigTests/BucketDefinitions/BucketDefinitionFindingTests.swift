import PowerSyncSyncConfig
import Testing

/// What is wrong with legacy bucket definitions (docs/sync-config.md "Bucket definitions").
@Suite struct BucketDefinitionFindingTests {
    private static let user = "SELECT request.user_id() AS u"
    private static let mine = "SELECT * FROM t WHERE a = bucket.u"

    struct Finding: Sendable, CustomTestStringConvertible {
        var parameters: [String]
        var data: [String]
        var findings: [String]
        var options = ""
        var testDescription: String { "\(parameters) \(data) \(options)" }
    }

    static let findings = [
        Finding(parameters: [user], data: [mine], findings: []),
        Finding(parameters: [], data: ["SELECT id, upper(a) FROM t"], findings: ["legacy.alias_required"]),
        Finding(parameters: [], data: ["SELECT DISTINCT * FROM t"], findings: ["sql.unsupported_clause"]),
        Finding(parameters: ["SELECT z.id AS u FROM x AS z"], data: [mine], findings: ["legacy.alias"]),
        Finding(parameters: [user, "SELECT id AS v FROM x"], data: [mine], findings: ["legacy.parameters_differ"]),
        Finding(parameters: [user], data: ["SELECT * FROM t"], findings: ["legacy.parameters_not_covered"]),
        Finding(
            parameters: [user],
            data: ["SELECT * FROM t WHERE a = bucket.u AND b = bucket.v"],
            findings: ["legacy.parameters_not_covered"]
        ),
        Finding(
            parameters: [user],
            data: ["SELECT * FROM t WHERE a != bucket.u"],
            findings: ["legacy.unsupported_filter"]
        ),
        Finding(
            parameters: [user],
            data: ["SELECT * FROM t WHERE NOT (a = bucket.u)"],
            findings: ["legacy.unsupported_filter"]
        ),
        Finding(
            parameters: [user],
            data: ["SELECT * FROM t WHERE a = upper(bucket.u)"],
            findings: ["legacy.unsupported_filter"]
        ),
        Finding(
            parameters: [user],
            data: ["SELECT id, bucket.u AS x FROM t WHERE a = bucket.u"],
            findings: ["legacy.unsupported_filter"]
        ),
        Finding(
            parameters: [user],
            data: ["SELECT * FROM t WHERE a = bucket.u OR b = 1"],
            findings: ["legacy.unsupported_filter"]
        ),
        Finding(
            parameters: [user],
            data: ["SELECT * FROM t WHERE bucket.u = bucket.u"],
            findings: ["legacy.unsupported_filter"]
        ),
        Finding(
            parameters: ["SELECT request.user_id() AS u, request.jwt() ->> 'x' AS v"],
            data: ["SELECT * FROM t WHERE bucket.u IN a AND bucket.v IN b"],
            findings: ["legacy.two_arrays"]
        ),
        Finding(parameters: [user], data: ["SELECT a FROM t WHERE a = bucket.u"], findings: ["legacy.no_id"]),
        Finding(parameters: ["SELECT request.user_id()"], data: [mine], findings: ["legacy.alias_required"]),
        Finding(parameters: ["SELECT * FROM x"], data: [mine], findings: ["sql.star_not_allowed"]),
        Finding(
            parameters: ["SELECT FROM x"],
            data: [mine],
            findings: ["lookup.unbounded", "legacy.parameters_not_covered"]
        ),
        Finding(parameters: [user, "SELECT FROM x"], data: [mine], findings: ["legacy.parameters_differ"]),
        Finding(parameters: ["SELECT"], data: ["SELECT * FROM t"], findings: ["sql.unsupported_clause"]),
        Finding(
            parameters: ["SELECT FROM x"],
            data: ["SELECT FROM t"],
            findings: ["lookup.unbounded", "sql.unsupported_clause"]
        ),
        Finding(parameters: ["SELECT x.id AS u FROM x, y"], data: [mine], findings: ["sql.unsupported_clause"]),
        Finding(
            parameters: ["SELECT id AS u FROM x WHERE k IN (SELECT k FROM y)"],
            data: [mine],
            findings: ["legacy.unsupported_filter"]
        ),
        Finding(
            parameters: ["SELECT id AS u FROM x WHERE k > request.user_id()"],
            data: [mine],
            findings: ["legacy.unsupported_filter"]
        ),
        Finding(
            parameters: ["SELECT id AS u FROM x WHERE upper(k) = request.user_id()"],
            data: [mine],
            findings: []
        ),
        Finding(
            parameters: ["SELECT id AS u FROM x WHERE k || request.user_id() = 'x'"],
            data: [mine],
            findings: ["legacy.unsupported_filter"]
        ),
        Finding(
            parameters: ["SELECT id AS u FROM x WHERE NOT (lower(k) = request.user_id())"],
            data: [mine],
            findings: ["legacy.unsupported_filter"]
        ),
        Finding(
            parameters: ["SELECT upper(id) AS u FROM x WHERE k = request.user_id()"],
            data: [mine],
            findings: ["legacy.unsupported_filter"]
        ),
        Finding(
            parameters: ["SELECT id AS u FROM x WHERE k IN request.jwt() -> 'a' AND l IN request.jwt() -> 'b'"],
            data: [mine],
            findings: ["legacy.two_arrays"]
        ),
        Finding(
            parameters: ["SELECT id AS u FROM x WHERE k = request.user_id() OR l = request.jwt() ->> 'l'"],
            data: [mine],
            findings: ["legacy.unsupported_filter"]
        ),
        Finding(
            parameters: ["SELECT id AS u FROM x WHERE k = request.user_id() OR l = request.user_id()"],
            data: [mine],
            findings: []
        ),
        Finding(
            parameters: ["SELECT request.user_id() AS u, 9 AS _priority"],
            data: [mine],
            findings: ["stream.priority"]
        ),
        Finding(
            parameters: ["SELECT request.user_id() AS u, 'high' AS _priority"],
            data: [mine],
            findings: ["stream.priority"]
        ),
        Finding(parameters: ["SELECT id AS u, p AS _priority FROM x"], data: [mine], findings: ["stream.priority"]),
        Finding(
            parameters: ["SELECT request.user_id() AS u, 1 AS _priority, 2 AS _priority"],
            data: [mine],
            findings: ["legacy.priority_twice"]
        ),
        Finding(
            parameters: ["SELECT request.user_id() AS u, 1 AS _priority"],
            data: [mine],
            findings: ["legacy.priority_twice"],
            options: "priority: 2"
        ), Finding(parameters: [], data: ["SELECT ID FROM Todos"], findings: ["sql.case_folded", "sql.case_folded"]),
        Finding(
            parameters: ["SELECT request.parameters() ->> 'x' AS u"],
            data: [mine],
            findings: ["stream.dangerous_parameter"]
        ),
        Finding(parameters: ["SELECT user_parameters.x AS u"], data: [mine], findings: ["stream.dangerous_parameter"]),
        // A constant is not the client's choice.
        Finding(
            parameters: ["SELECT 'x' AS u, user_parameters.x AS v"],
            data: ["SELECT * FROM t WHERE a = bucket.u AND b = bucket.v"],
            findings: []
        ),
        Finding(
            parameters: ["SELECT user_parameters.x AS u"],
            data: [mine],
            findings: [],
            options: "accept_potentially_dangerous_queries: true"
        ), Finding(parameters: ["SELECT request.user_id('x') AS u"], data: [mine], findings: ["sql.request_function"]),
        Finding(parameters: ["SELECT auth.user_id() AS u"], data: [mine], findings: ["sql.request_function"]),
        Finding(
            parameters: [user],
            data: ["SELECT * FROM t WHERE a = request.user_id()"],
            findings: ["sql.request_function"]
        ),
        Finding(
            parameters: [user],
            data: ["SELECT t.* FROM t, u WHERE t.a = bucket.u"],
            findings: ["sql.unsupported_clause"]
        ), Finding(parameters: [], data: ["SELECT id, upper() AS x FROM t"], findings: ["sql.arity"]),
        Finding(parameters: [], data: ["SELECT * FROM t ORDER BY id"], findings: ["sql.unsupported_clause"]),
    ]

    @Test(arguments: findings) func saysWhatIsWrong(_ test: Finding) {
        let diagnostics = SyncConfig.parse(
            BucketDefinitionTests.yaml(test.parameters, test.data, options: test.options)
        ).diagnostics
        #expect(diagnostics.map(\.code) == test.findings)
        for finding in diagnostics where finding.code.hasPrefix("legacy.") {
            #expect(finding.hint?.contains("Streams") == true)
        }
    }

    @Test(arguments: [
        ("a|0", true), ("a|12", true), ("a", true), ("b|0", false), ("a|", false), ("a|x", false), ("a|0|", false),
        ("A|0", false),
    ])
    func namesOfBucketsOfStreamsAreTaken(name: String, isTaken: Bool) {
        let yaml = """
            config: {edition: 2}
            streams: {a: {query: SELECT * FROM t}}
            bucket_definitions:
              "\(name)": {data: [SELECT * FROM secrets]}
            """
        let errors = SyncConfig.parse(yaml).diagnostics.filter { $0.severity == .error }
        #expect(errors.map { "\($0.line):\($0.column) \($0.code)" } == (isTaken ? ["4:3 stream.duplicate_name"] : []))
    }
}

import PowerSyncProtocol
import PowerSyncSyncConfig
import TestSupport
import Testing

/// Nothing that a test of a config contains may trap, and each row and case has its place in the output.
@Suite struct ConfigTestFuzzTests {
    private static let values = [
        "0", "-1", "9223372036854775807", "-9223372036854775808", "9223372036854775808", "1.5", "-0.0", "1e300",
        "1e400", "null", "true", "\"\"", "\"x\"", "\"1\"", #""\ud800""#, #""a\u0000b""#, #""[\"x\",1]""#, #""oops""#,
        "[1,2]", #"{"a":[1]}"#, #"{"$blob":"0aff"}"#, #"{"$blob":"0"}"#, #"{"$real":"NaN"}"#, #"{"$real":"Infinity"}"#,
        #"{"$real":"x"}"#,
    ]
    private static let conditions = [
        "a = auth.user_id()", "a IN auth.parameter('k')", "auth.user_id() IN t.a", "a != 'x'", "NOT a",
        "b IN (SELECT id FROM u WHERE x = auth.user_id())", "a ->> 'k' = auth.parameter('k')", "round(a, b) > 1",
        "substring(a, b) = 'x'", "a = subscription.parameter('k')", "json_array_length(a) > 0", "a % b", "a << b",
        "unixepoch(a) > 0", "CAST(a AS integer) = auth.parameter('k')", "uuid_blob(a) = 1", "st_x(a) = 1",
        "a && connection.parameter('k')", "a * b > a", "NOT ('x' IN (SELECT id FROM u))",
    ]

    private static func test(using generator: inout SeededGenerator) -> String {
        func value() -> String { values.randomElement(using: &generator) ?? "0" }
        func row(_ columns: String...) -> String {
            "{\(columns.map { "\"\($0)\": \(value())" }.joined(separator: ", "))}"
        }
        let terms = (0..<2).map { _ in conditions.randomElement(using: &generator) ?? "a" }
        let query =
            "SELECT * FROM t WHERE \(terms.joined(separator: Bool.random(using: &generator) ? " AND " : " OR "))"
        let config = "config: {edition: 3}\\nstreams: {s: {auto_subscribe: true, query: \\\"\(query)\\\"}}"
        let subscriptions = [
            #"[{"stream": "s", "parameters": {"k": \#(value())}, "priority": \#(value())}]"#, "[5]", value(), "null",
        ]
        let cases = (0..<3).map { _ in
            """
            {"as": {"sub": \(value()), "k": \(value())}, "connection": {"k": \(value())},
             "subscriptions": \(subscriptions.randomElement(using: &generator) ?? "[]"),
             "receives": \(value()), "never": \(value()), "buckets": \(value())}
            """
        }
        let rows = (0..<3).map { _ in row("id", "a", "b") }.joined(separator: ", ")
        return """
            {"config": "\(config)", "tables": {"t": [\(rows)], "u": [\(row("id", "x")), \(value())]},
             "cases": [\(cases.joined(separator: ", ")), \(value())]}
            """
    }

    @Test(arguments: [1, 2, 3, 4] as [UInt64]) func garbageInTestsNeverTraps(seed: UInt64) async throws {
        var generator = SeededGenerator(seed: seed)
        for round in 0..<150 {
            let text = Self.test(using: &generator)
            let test = ConfigTest(parsing: text)
            guard case .inline(let config) = test.config else {
                Issue.record("seed \(seed), round \(round): \(text)")
                return
            }
            let result = await test.run(config: config, reasons: true)
            guard result.isAccepted else { continue }
            #expect(result.rows.count == 5 && result.cases.count == 4, "seed \(seed), round \(round): \(text)")
            #expect(try !result.json().isEmpty)
            #expect(!result.text(file: "f", config: "c", showsRows: true).isEmpty)
        }
    }

    @Test(arguments: [1, 2, 3, 4] as [UInt64]) func damagedTestsNeverTrap(seed: UInt64) async throws {
        var generator = SeededGenerator(seed: seed)
        for _ in 0..<150 {
            var bytes = Array(Self.test(using: &generator).utf8)
            for _ in 0..<Int.random(in: 1...3, using: &generator) {
                let place = Int.random(in: 0..<bytes.count, using: &generator)
                bytes[place] = Array("{}[]\",:\\0x -".utf8).randomElement(using: &generator) ?? 0x20
            }
            let test = ConfigTest(parsing: String(decoding: bytes, as: UTF8.self))
            guard case .inline(let config) = test.config else {
                #expect(!test.findings.isEmpty)
                continue
            }
            _ = await test.run(config: config)
        }
    }
}

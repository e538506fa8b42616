import PowerSyncSyncConfig
import TestSupport
import Testing

/// Texts are counted in UTF-16 code units, and no value has half a surrogate pair.
///
/// Random texts are compared with a model on arrays of code units.
@Suite struct TextUnitTests {
    private static let pieces = [
        "a", "B", "é", "e\u{301}", "ß", "😀", "👩‍👩‍👧", "\u{10ffff}", "\u{ffff}", "0", " ", "ä😀b", "\u{fffd}", "\r\n",
    ]

    private static func text(using generator: inout SeededGenerator) -> String {
        (0..<generator.number(below: 6)).map { _ in pieces[generator.number(below: pieces.count)] }.joined()
    }

    /// The value of an expression over `a`, `b` and two numbers.
    private func value(_ plan: SyncPlan, _ a: SQLValue, _ b: SQLValue, _ i: Int64, _ n: Int64) throws -> String {
        let row: SourceRow = ["id": "1", "a": a, "b": b, "i": .integer(i), "n": .integer(n)]
        let data = try #require(
            plan.evaluate(row, of: SourceTableName(schema: "main", name: "t"), bucketPrefix: "").first
        ).data
        let halves = data.utf16.indices.filter {
            UTF16.isLeadSurrogate(data.utf16[$0]) || UTF16.isTrailSurrogate(data.utf16[$0])
        }
        #expect(halves.count.isMultiple(of: 2) && !data.contains("\\ud"), "\(data)")
        return data
    }

    /// What `substring(a, i, n)` is (docs/sync-config.md "Values"): the position 0 is before the first unit, a negative one counts
    /// from the end and begins with the first unit if that is before it; a negative number takes units before the position.
    private static func substring(_ text: String, _ i: Int64, _ n: Int64) -> String {
        let units = Array(text.utf16)
        let start = i > 0 ? Int(i) - 1 : i < 0 ? max(units.count + Int(i), 0) : -1
        let range = n >= 0 ? start..<(start + Int(n)) : (start + Int(n))..<start
        return String(decoding: units[range.clamped(to: 0..<units.count)], as: UTF16.self)
    }

    private static func instr(_ text: String, _ part: String) -> Int {
        let (units, part) = (Array(text.utf16), Array(part.utf16))
        guard part.count <= units.count else { return 0 }
        return (0...(units.count - part.count)).first { units[$0..<($0 + part.count)].elementsEqual(part) }.map {
            $0 + 1
        } ?? 0
    }

    @Test(arguments: 1...5 as ClosedRange<UInt64>) func unitsAreCountedAsDocumented(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        let substring = try plan(query: "SELECT id, substring(a, i, n) AS r FROM t")
        let rest = try plan(query: "SELECT id, substring(a, i) AS r FROM t")
        let lengths = try plan(query: "SELECT id, length(a) || ',' || instr(a, b) AS r FROM t")
        for round in 0..<400 {
            let (a, b) = (Self.text(using: &generator), Self.pieces[generator.number(below: Self.pieces.count)])
            let (i, n) = (Int64(generator.number(below: 24)) - 12, Int64(generator.number(below: 24)) - 12)
            func expected(_ text: String) -> String { #"{"id":"1","r":\#(SQLValue.text(text))}"# }
            let comment = Comment(
                "seed \(seed), round \(round): \(a.debugDescription), \(b.debugDescription), \(i), \(n)"
            )
            #expect(try value(substring, .text(a), .text(b), i, n) == expected(Self.substring(a, i, n)), comment)
            #expect(try value(rest, .text(a), .text(b), i, n) == expected(Self.substring(a, i, 100)), comment)
            #expect(
                try value(lengths, .text(a), .text(b), i, n) == expected("\(a.utf16.count),\(Self.instr(a, b))"),
                comment
            )
        }
    }

    /// Functions that cut, join, replace and decode texts.
    static let functions = [
        "substring(a, i, n) || substring(b, n, i)", "replace(a, substring(a, i, 1), b)", "trim(a, substring(b, 1, 1))",
        "upper(substring(a, i))", "lower(a || substring(b, 2))", "substring(a, 1, 1) = substring(b, 1, 1)",
        "hex(substring(a, i, n))",
        "substring(CAST(a AS blob), i, n)", "CAST(CAST(substring(a, i, n) AS blob) AS text)", "a ->> '$'",
        "json_extract(a, '$.x')",
        "a -> '$.x'", "json_keys(a)", "base64(substring(a, i, n))", "iif(length(substring(a, i, n)) > 1, a, b)",
    ]

    @Test(arguments: functions) func noValueHasHalfASurrogatePair(_ expression: String) throws {
        let plan = try plan(query: "SELECT id, \(expression) AS r FROM t")
        var generator = SeededGenerator(seed: 7)
        for _ in 0..<100 {
            let (i, n) = (Int64(generator.number(below: 12)) - 6, Int64(generator.number(below: 12)) - 6)
            let isJSON = expression.contains("$") || expression.contains("json")
            // JavaScript writes the half of a pair as an escape.
            let json = [
                #"{"x":"Ann \ud83d","\ude00":"\ud83d\ude00"}"#, #"{"x":["\udfff\ud800"]}"#, #"{"x":"\ud83d\u0041"}"#,
            ]
            let a = isJSON ? json[generator.number(below: json.count)] : Self.text(using: &generator)
            _ = try value(plan, .text(a), .text(Self.text(using: &generator)), i, n)
        }
    }

    @Test func bytesAndNumbersAreCountedByTheirOwnForm() throws {
        let plan = try plan(
            query: """
                SELECT id, length(a) AS l, instr(a, b) AS i, substring(a, 2, 2) AS s, CAST(a AS text) AS t,
                    CAST(a AS integer) AS n FROM t
                """
        )
        func data(_ a: SQLValue, _ b: SQLValue) throws -> String {
            String(try value(plan, a, b, 0, 0).dropFirst(#"{"id":"1","#.count))
        }
        #expect(try data(.blob(Array("ä😀".utf8)), .blob([0x9f])) == #""l":6,"i":4,"s":"😀","t":"ä😀","n":0}"#)
        #expect(try data(.blob(Array("ä😀".utf8)), "😀") == #""l":6,"i":2,"s":"😀","t":"ä😀","n":0}"#)
        #expect(try data(1234.0, "3") == #""l":4,"i":3,"s":"23","t":"1234","n":1234}"#)
        #expect(try data(-2.5, ".") == #""l":4,"i":3,"s":"2.","t":"-2.5","n":-3}"#)
        #expect(try data(1e21, "+") == #""l":5,"i":3,"s":"e+","t":"1e+21","n":1e+21}"#)
        #expect(
            try data(.integer(.min), "-")
                == #""l":20,"i":1,"s":"92","t":"-9223372036854775808","n":-9223372036854775808}"#
        )
    }
}

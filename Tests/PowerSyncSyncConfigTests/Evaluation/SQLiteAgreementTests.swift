import PowerSyncSyncConfig
import TestSupport
import Testing

/// Where the language is that of SQLite, SQLite itself is asked: paths in JSON, modifiers of dates, arithmetic of what is no number.
@Suite struct SQLiteAgreementTests {
    private let sqlite: SQLiteOracle

    init() throws {
        sqlite = try SQLiteOracle()
    }

    /// Compares expressions over `a` and `b`, which are not known when they are compiled.
    private func expect(_ expressions: [String], a: SQLValue, b: SQLValue, _ comment: String = "") throws {
        for expression in expressions { try expect(compiled(expression), a: a, b: b, comment) }
    }

    private func compiled(_ expression: String) throws -> (text: String, plan: SyncPlan) {
        (expression, try plan(query: "SELECT id, \(expression) AS r FROM t"))
    }

    private func expect(
        _ expression: (text: String, plan: SyncPlan),
        a: SQLValue,
        b: SQLValue,
        _ comment: String = ""
    ) {
        let sql = expression.text.replacing(/\b[ab]\b/) { ":\($0.output)" }
        // What SQLite refuses, such as abs() of the least integer, is no value to compare with.
        guard let theirs = sqlite.value(of: sql, a: a, b: b) else { return }
        #expect(
            expression.plan.synced("t", ["id": "1", "a": a, "b": b])
                == [#"1#s|0[] t/1 {"id":"1","r":\#(theirs.description)}"#],
            "\(comment) \(expression.text), a = \(a), b = \(b)"
        )
    }

    // MARK: JSON

    private static let names = ["x", "a.b", "a b", "", "0", "ä", "x[0]", "$", "#"]

    private static func document(_ depth: Int, using generator: inout SeededGenerator) -> String {
        switch generator.number(below: depth > 0 ? 7 : 5) {
        case 0: return "\(generator.number(below: 100) - 50)"
        case 1: return ["true", "false", "null"][generator.number(below: 3)]
        case 2: return "\(generator.number(below: 9)).5"
        case 3, 4: return #""\#(["", "v", "ä😀", "1", "true"][generator.number(below: 5)])""#
        case 5:
            let count = generator.number(below: 4)
            return "[\((0..<count).map { _ in document(depth - 1, using: &generator) }.joined(separator: ","))]"
        default:
            let chosen = names.filter { _ in generator.number(below: 3) == 0 }
            return "{\(chosen.map { "\"\($0)\":\(document(depth - 1, using: &generator))" }.joined(separator: ","))}"
        }
    }

    /// A path that SQLite reads as the language does: digits are an element only in brackets.
    private static func path(using generator: inout SeededGenerator) -> String {
        "$"
            + (0..<generator.number(below: 4)).map { _ in
                switch generator.number(below: 6) {
                case 0: return "[\(generator.number(below: 4))]"
                case 1: return "[#-\(1 + generator.number(below: 3))]"
                case 2: return [".x", ".ä", ".a b"][generator.number(below: 3)]
                default:
                    // SQLite reads "" as no name.
                    let quoted = names.filter { !$0.isEmpty }
                    return ".\"\(quoted[generator.number(below: quoted.count)])\""
                }
            }.joined()
    }

    @Test(arguments: 1...8 as ClosedRange<UInt64>) func pathsFindWhatSQLiteFinds(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        let expressions = try ["json_extract(a, b)", "json_type(a, b)", "json_array_length(a, b)"].map(compiled)
        for round in 0..<200 {
            let document = SQLValue.text(Self.document(4, using: &generator))
            let path = SQLValue.text(Self.path(using: &generator))
            for expression in expressions { expect(expression, a: document, b: path, "seed \(seed), round \(round)") }
        }
    }

    @Test(arguments: names.filter { !$0.isEmpty }) func aQuotedMemberIsFoundByItsName(_ name: String) throws {
        let plan = try plan(
            query: #"SELECT id, a ->> '$."\#(name)"' AS r, json_extract(a, '$.y."\#(name)"[0]') AS s FROM t"#
        )
        let row: SourceRow = ["id": "1", "a": .text(#"{"\#(name)":5,"y":{"\#(name)":[6]}}"#)]
        #expect(plan.synced("t", row) == [#"1#s|0[] t/1 {"id":"1","r":5,"s":6}"#])
    }

    // MARK: Dates

    private static let modifiers = [
        "+1 day", "-1 days", "3 hours", "+90 minutes", "-45 seconds", "+1 month", "-13 months", "+2.5 months",
        "+4 years",
        "-1.5 years", "+0.25 day", "+12:30", "-00:00:01.5", "10:20:30", "+24:00", "start of day", "start of month",
        "start of year", "weekday 0", "weekday 1", "weekday 6", "Weekday 3", "START OF MONTH", "+1e2 days", "+.5 hours",
        // What is none gives NULL.
        "+1 fortnight", "one day", "start of week", "weekday 7", "weekday x", "+25:00", "+1", "day", "", "+1day",
        "+1 day ",
        " +1 day", "start of", "+1:30", "+12:60", "- 1 day",
    ]
    private static let moments: [SQLValue] = [
        "2024-01-31", "2024-02-29 12:30:45", "2023-12-31T23:59:59.999", "1969-07-20 20:17:40Z",
        "2000-02-29 00:00:00+02:00",
        "1900-03-01", 2_460_370.5, 2_451_545, "1999-12-31 23:59:59.001", "0004-02-29", "9998-12-31 10:00",
    ]

    @Test(arguments: modifiers) func aModifierDoesWhatItDoesInSQLite(_ modifier: String) throws {
        for moment in Self.moments { try expect(["datetime(a, b)", "unixepoch(a, b)"], a: moment, b: .text(modifier)) }
    }

    @Test(arguments: ["unixepoch", "julianday", "auto"]) func aNumberIsWhatTheFirstModifierSays(
        _ modifier: String
    ) throws {
        // Days before the year 0 are none here.
        let small: [SQLValue] = modifier == "unixepoch" ? [0, 1, 1.5] : [1_721_060, 1_721_060.5]
        for number in small + [-1, -1.5, 2_460_370.5, 1_700_000_000, 1_700_000_000.25, 5_373_484, -1e9, 1e11, 1e12] {
            for function in ["datetime", "unixepoch"] {
                let calls = ["\(function)(a, b)", "\(function)(a, b, '+1 month')", "\(function)(a, '+1 month', b)"]
                try expect(calls, a: number, b: .text(modifier))
            }
        }
    }

    @Test(arguments: 1...6 as ClosedRange<UInt64>) func severalModifiersFollowEachOther(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        for round in 0..<100 {
            let moment = Self.moments[generator.number(below: Self.moments.count)]
            let list = (0..<(1 + generator.number(below: 3))).map { _ in
                Self.modifiers[generator.number(below: 25)]
            }
            let arguments = list.map { "'\($0)'" }.joined(separator: ", ")
            try expect(["datetime(a, \(arguments))"], a: moment, b: nil, "seed \(seed), round \(round)")
        }
    }

    // MARK: Numbers

    private static let operands: [SQLValue] = [
        0, 1, -7, 2.5, -2.5, "1", "1e3", "-1.9", "abc", "", " 12x", "9e30", "99999999999999999999", "0x10", nil,
        .integer(.max),
        .integer(.min), .blob(Array("31".utf8)), .blob([]), 1e300, ".5",
    ]

    @Test(arguments: [
        "a + b", "a - b", "a * b", "a / b", "a % b", "a & b", "a | b", "a << b", "a >> b", "abs(a)", "round(a)",
    ])
    func arithmeticIsThatOfSQLite(_ expression: String) throws {
        let compiledOnce = try compiled(expression)
        for a in Self.operands {
            for b in Self.operands { expect(compiledOnce, a: a, b: b) }
        }
    }
}

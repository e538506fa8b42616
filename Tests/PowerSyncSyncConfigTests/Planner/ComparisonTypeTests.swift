import PowerSyncProtocol
import PowerSyncSyncConfig
import Testing

/// Comparisons that the types of their sides decide: types of columns by types of the other side by operators.
@Suite struct ComparisonTypeTests {
    /// A column of the source, with values of its type as rows have them (docs/postgres.md "Types").
    struct Column: Sendable, CustomTestStringConvertible {
        var type: String
        var values: [SQLValue]
        var name: String { "c_\(type.replacing(" ", with: "_"))" }
        var testDescription: String { type }
    }

    static let columns = [
        Column(type: "boolean", values: [0, 1]), Column(type: "integer", values: [0, 1, 5, -3]),
        Column(type: "bigint", values: [0, 1, .integer(.max)]),
        Column(type: "double precision", values: [0.0, 1.0, 5.5]),
        Column(type: "numeric", values: ["0", "1", "9.50"]), Column(type: "text", values: ["", "x", "5", "true"]),
        Column(type: "uuid", values: ["f47ac10b-58cc-4372-a567-0e02b2c3d479"]),
        Column(type: "date", values: ["2024-02-29"]),
        Column(type: "timestamptz", values: ["2024-02-29T12:30:00.000000Z"]),
        Column(type: "jsonb", values: ["[1]", "{}", "5"]),
        Column(type: "bytea", values: [.blob([1])]),
    ]

    /// Other sides, with the values that they have.
    static let sides: [(text: String, values: [SQLValue])] = [
        ("0", [0]), ("1", [1]), ("5", [5]), ("1.5", [1.5]), ("1000", [1000]), ("'x'", ["x"]), ("'5'", ["5"]),
        ("true", [1]),
        ("false", [0]), ("length(other)", [0, 1, 5]), ("upper(other)", ["X", "5", ""]), ("(other IS NULL)", [0, 1]),
        ("typeof(other)", ["null", "integer", "real", "text", "blob"]), ("other", [0, 1, 5, "x", "5", 1.5]),
        ("c_integer", [0, 1, 5, -3]), ("c_boolean", [0, 1]), ("c_text", ["", "x", "5", "true"]),
        ("auth.user_id()", ["u1"]), ("auth.parameter('n')", [0, 1, 5, "x", "5"]),
    ]

    static let operators = ["=", "!=", "<", ">", "<=", ">="]

    static let schema = SourceSchema(tables: [
        SourceSchema.Table(
            name: SourceTableName(schema: "main", name: "t"),
            columns: ["id", "other"] + columns.map(\.name),
            types: Dictionary(
                uniqueKeysWithValues: columns.compactMap { column in
                    SourceSchema.ColumnType(postgres: column.type).map { (column.name, $0) }
                }
            )
        )
    ])

    private func findings(_ condition: String, _ schema: SourceSchema? = Self.schema) -> [ConfigDiagnostic] {
        SyncConfig.parse(config(TestStream("s", "SELECT * FROM t WHERE \(condition)")), schema: schema).diagnostics
    }

    /// What a comparison is for all pairs of values, which the plan itself evaluates; `nil` when it differs.
    private func result(_ lhs: [SQLValue], _ comparison: String, _ rhs: [SQLValue]) throws -> Bool? {
        let plan = try plan(query: "SELECT * FROM t WHERE a \(comparison) b")
        var results: Set<Bool> = []
        for a in lhs {
            for b in rhs { results.insert(!plan.bucketNames("t", ["id": 1, "a": a, "b": b]).isEmpty) }
        }
        return results.count == 1 ? results.first : nil
    }

    @Test(arguments: columns, operators) func isReportedWhenTheTypesDecideIt(
        _ column: Column,
        comparison: String
    ) throws {
        for side in Self.sides {
            // Only "=" may compare a row with the request.
            if side.text.hasPrefix("auth"), comparison != "=" { continue }
            if side.text == column.name { continue }
            for condition in [
                "\(column.name) \(comparison) \(side.text)", "\(side.text) \(comparison.mirrored) \(column.name)",
            ] {
                let found = findings(condition).map(\.code)
                switch try result(column.values, comparison, side.values) {
                case true?:
                    // Values are a sample: what they all are need not be what all values of the type are.
                    #expect(
                        found == ["filter.always"] || isOpen(column, comparison, side.text),
                        "\(condition): \(found)"
                    )
                case false?:
                    #expect(
                        found == ["filter.never"] || isOpen(column, comparison, side.text),
                        "\(condition): \(found)"
                    )
                case nil:
                    #expect(found == [], "\(condition): \(found)")
                }
            }
        }
    }

    /// Whether other values of the types than those of the samples compare otherwise.
    private func isOpen(_ column: Column, _ comparison: String, _ side: String) -> Bool {
        let isNumber = ["integer", "bigint", "double precision"].contains(column.type)
        let isText = ["text", "uuid", "date", "timestamptz", "jsonb", "numeric"].contains(column.type)
        switch side {
        case "other", "auth.parameter('n')": return true
        case "'x'", "'5'", "upper(other)", "typeof(other)", "c_text", "auth.user_id()": return isText
        case "c_boolean", "(other IS NULL)", "0", "1", "true", "false": return isNumber
        case "c_integer", "length(other)": return isNumber || column.type == "boolean"
        default: return isNumber
        }
    }

    @Test(arguments: columns) func withoutASchemaTheColumnSaysNothing(_ column: Column) {
        for comparison in Self.operators {
            #expect(findings("\(column.name) \(comparison) 5", nil) == [])
            #expect(findings("\(column.name) \(comparison) 'x'", nil) == [])
        }
    }

    static let others: [(condition: String, codes: [String])] = [
        ("c_numeric BETWEEN 1 AND 10", ["filter.never"]), ("c_numeric NOT BETWEEN 1 AND 10", ["filter.always"]),
        ("c_bytea BETWEEN 'a' AND 'b'", ["filter.never"]), ("c_integer BETWEEN 1 AND 10", []),
        ("c_text BETWEEN 'a' AND 'b'", []), ("c_boolean BETWEEN 0 AND 1", ["filter.always"]),
        ("c_boolean IN ('true', 't')", ["filter.never", "filter.never"]),
        ("c_boolean IN (true, 'x')", ["filter.never"]),
        ("c_integer NOT IN ('5')", ["filter.always"]), ("c_integer IN (5, 6)", []), ("c_text IN ('x')", []),
        ("CASE c_integer WHEN 'x' THEN 1 ELSE 0 END", ["filter.never"]), ("CASE c_text WHEN 'x' THEN 1 ELSE 0 END", []),
        ("c_integer IN (SELECT c_text FROM t WHERE other = auth.user_id())", ["filter.never"]),
        ("c_text IN (SELECT c_text FROM t WHERE other = auth.user_id())", []),
        ("NOT (c_numeric = 5)", ["filter.never"]), ("NOT (c_numeric != 5)", ["filter.always"]),
        ("c_bytea = c_bytea || ''", ["filter.never"]), ("c_bytea", ["filter.never"]), ("hex(c_bytea) = 'FF'", []),
        ("c_bytea = uuid_blob(other)", ["filter.never"]), ("iif(c_numeric > 5, 1, 0)", ["filter.always"]),
        ("CAST(c_numeric AS numeric) > 5", []), ("c_boolean", []), ("c_boolean = true", []),
        ("c_boolean = 2", ["filter.never"]),
        ("length(other) = '5'", ["filter.never"]), ("typeof(other) = 'string'", ["filter.never"]),
        ("(other IS NULL) = 'true'", ["filter.never"]), ("upper(other) > 5", ["filter.always"]),
    ]

    @Test(arguments: others) func everyPlaceThatComparesIsChecked(condition: String, codes: [String]) {
        #expect(findings(condition).map(\.code) == codes)
    }

    /// JSON values with the literals that are never equal to what they look like.
    static let json: [(condition: String, codes: [String])] = [
        ("other ->> 'shared' = 'true'", ["filter.never"]), ("'FALSE' = other ->> 'shared'", ["filter.never"]),
        ("other ->> 'shared' != 'true'", ["filter.never"]),
        ("json_extract(other, '$.shared') = 'true'", ["filter.never"]),
        ("auth.parameter('verified') = 'true'", ["filter.never"]),
        ("connection.parameter('v') = 'false' AND other = auth.user_id()", ["filter.never"]),
        ("other ->> 'x' = 'null'", ["filter.never"]), ("other ->> 'x' IN ('true', 'yes')", ["filter.never"]),
        ("other ->> 'x' IN ('true', true)", []), ("other ->> 'x' IN ('true', 1)", []), ("other ->> 'x' = true", []),
        ("other ->> 'x' = 'x'", []), ("other -> 'x' = 'true'", []), ("other -> 'x' = 'abc'", ["filter.never"]),
        ("other -> 'x' = '\"abc\"'", []), ("other -> 'x' = 5", ["filter.never"]),
        ("other -> 'x' = '{ \"a\": 1 }'", ["filter.never"]),
        ("CASE other ->> 'x' WHEN 'true' THEN 1 ELSE 0 END", ["filter.never"]),
        ("'true' IN other", ["filter.never"]), ("other = 'true'", []),
    ]

    @Test(arguments: json) func jsonTrueIsOneAndNoText(condition: String, codes: [String]) {
        #expect(findings(condition, nil).map(\.code) == codes)
    }

    /// Parameter queries with data queries, and whether the two can meet.
    static let definitions: [(parameters: String, condition: String, codes: [String])] = [
        ("SELECT request.user_id() AS p", "c_integer = bucket.p", ["filter.never"]),
        ("SELECT request.user_id() AS p", "c_text = bucket.p", []),
        ("SELECT request.user_id() AS p", "CAST(c_integer AS text) = bucket.p", []),
        ("SELECT request.jwt() ->> 'org' AS p", "c_integer = bucket.p", []),
        ("SELECT c_integer AS p FROM t WHERE c_text = request.user_id()", "c_text = bucket.p", ["filter.never"]),
        ("SELECT c_integer AS p FROM t WHERE c_text = request.user_id()", "c_bigint = bucket.p", []),
        ("SELECT c_text AS p FROM t WHERE c_integer = request.user_id()", "c_text = bucket.p", ["filter.never"]),
        (
            "SELECT request.user_id() AS p WHERE request.jwt() ->> 'admin' = 'true'", "c_text = bucket.p",
            ["filter.never"]
        ),
    ]

    @Test(arguments: definitions) func parametersOfDefinitionsHaveTypes(
        parameters: String,
        condition: String,
        codes: [String]
    ) {
        let yaml = """
            config: {edition: 2}
            bucket_definitions:
              d: {parameters: \(yamlQuoted(parameters)), data: ["SELECT * FROM t WHERE \(condition)"]}
            """
        #expect(SyncConfig.parse(yaml, schema: Self.schema).diagnostics.map(\.code) == codes)
    }

    // MARK: Hints

    static let hints = [
        "c_numeric > 1000", "c_numeric = 5", "1000 < c_numeric", "c_numeric BETWEEN 1 AND 10", "c_boolean = 'true'",
        "c_boolean = 'f'",
        "c_integer = auth.user_id()", "c_integer = '5'", "c_integer = c_text", "c_timestamptz > 1700000000",
        "c_text = 5",
        "c_integer IN (SELECT c_text FROM t WHERE other = auth.user_id())", "other ->> 'shared' = 'true'",
        "auth.parameter('verified') = 'true'", "other -> 'x' = 'abc'", "c_boolean IN ('true')",
        "other ->> 'x' IN ('false')",
    ]

    @Test(arguments: hints) func whatTheHintSaysIsTakenWithoutAFinding(_ condition: String) throws {
        let hint = try #require(findings(condition).first?.hint)
        let match = try #require(hint.firstMatch(of: /^Write “(.+)” for “(.+)”\.$/))
        let mended = condition.replacing(match.output.2, with: match.output.1, maxReplacements: 1)
        #expect(mended != condition)
        #expect(findings(mended) == [], "\(mended)")
    }

    @Test func theSentenceNamesBothSides() throws {
        func sentence(_ condition: String) -> String? { findings(condition).first?.message }
        #expect(
            sentence("c_numeric > 1000")
                == "“c_numeric” is text (numeric in the source), “1000” is a number: this is always true."
        )
        #expect(
            sentence("c_integer = auth.user_id()")
                == "“c_integer” is a number (integer in the source), “auth.user_id()” is text, unless the “sub” of a token is a "
                + "number: they are never equal, so this is never true."
        )
        #expect(
            sentence("other ->> 'shared' = 'true'")
                == "JSON true is 1 here: “other ->> 'shared'” equals only the text “true”."
        )
    }

    @Test func aFindingStandsAtTheComparison() throws {
        let yaml = config(TestStream("s", "SELECT * FROM t\nWHERE other = 1\n  AND c_boolean = 'true'"))
        let finding = try #require(SyncConfig.parse(yaml, schema: Self.schema).diagnostics.first)
        #expect("\(finding.line):\(finding.column)" == "9:15" && finding.severity == .warning)
    }
}

extension String {
    /// The comparison with its sides exchanged.
    fileprivate var mirrored: String { replacing(/[<>]/) { $0.output == "<" ? ">" : "<" } }
}

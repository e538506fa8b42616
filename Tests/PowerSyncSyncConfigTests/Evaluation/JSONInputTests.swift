import PowerSyncProtocol
import PowerSyncSyncConfig
import Testing

/// What functions of JSON make of a value that is no text: its text form, which has members only if it is an object.
@Suite struct JSONInputTests {
    /// Each function, with what it gives for a number, for bytes that are the text of an object, for bytes that are no JSON, and for
    /// a real number that has no JSON text.
    static let functions: [(expression: String, number: String, object: String, noJSON: String, infinite: String)] = [
        ("a -> 'x'", "null", #""7""#, "null", "null"), ("a ->> 'x'", "null", "7", "null", "null"),
        ("a -> '$'", #""5""#, #""{\"x\":7}""#, "null", "null"), ("a ->> '$'", "5", #""{\"x\":7}""#, "null", "null"),
        ("a ->> '$.x'", "null", "7", "null", "null"), ("a ->> 0", "null", "null", "null", "null"),
        ("json_extract(a, '$.x')", "null", "7", "null", "null"),
        ("json_extract(a, '$')", "5", #""{\"x\":7}""#, "null", "null"),
        ("json_array_length(a)", "0", "0", "null", "null"),
        ("json_array_length(a, '$.x')", "null", "0", "null", "null"),
        ("json_keys(a)", "null", #""[\"x\"]""#, "null", "null"),
        ("json_type(a)", #""integer""#, #""object""#, "null", "null"),
        ("json_type(a, '$.x')", "null", #""integer""#, "null", "null"),
    ]

    private func value(_ expression: String, edition: Int, _ a: SQLValue) throws -> [String] {
        let plan = try plan(
            """
            config: {edition: \(edition)}
            streams: {s: {auto_subscribe: true, query: \(yamlQuoted("SELECT id, \(expression) AS r FROM t"))}}
            """
        )
        return plan.synced("t", ["id": "1", "a": a])
    }

    @Test(arguments: functions, [2, 3])
    func numbersAndBytesCountByTheirTextForm(
        _ test: (expression: String, number: String, object: String, noJSON: String, infinite: String),
        edition: Int
    ) throws {
        func expected(_ result: String) -> [String] { [#"1#s|0[] t/1 {"id":"1","r":\#(result)}"#] }
        func value(_ a: SQLValue) throws -> [String] { try self.value(test.expression, edition: edition, a) }
        #expect(try value(5) == expected(test.number))
        #expect(try value(5.0) == expected(test.number))
        #expect(try value(.blob(Array(#"{"x":7}"#.utf8))) == expected(test.object))
        #expect(try value(.blob([0xff])) == expected(test.noJSON))
        #expect(try value(.real(.infinity)) == expected(test.infinite))
        #expect(try value(nil) == expected("null"))
        // Text that is no JSON is still told.
        #expect(try value("oops").isEmpty)
    }

    @Test func aRequestValueThatIsANumberTakesNothingFromAClient() async throws {
        let plan = try plan(
            config(
                TestStream("s", "SELECT * FROM t WHERE a = auth.user_id() AND auth.parameter('n') ->> 'role' IS NULL")
            )
        )
        #expect(try await plan.bucketNames(token: ["sub": "u1", "n": 5]) == [#"1#s|0["u1"]"#])
        #expect(try await plan.bucketNames(token: ["sub": "u1", "n": ["role": "x"]]).isEmpty)
    }

    @Test(arguments: [
        ("a ->> 'x'", "null"), ("a -> 'x'", "null"), ("json_extract(a, '$.x')", #""null""#), ("a ->> 'y'", "null"),
        ("json_extract(a, '$.y')", "null"),
    ])
    func jsonNullOfEdition1IsATextForJSONExtractOnly(expression: String, result: String) throws {
        let plan = try plan(
            """
            config: {edition: 1}
            bucket_definitions: {s: {data: [\(yamlQuoted("SELECT id, \(expression) AS r FROM t"))]}}
            """
        )
        #expect(plan.synced("t", ["id": "1", "a": #"{"x":null}"#]) == [#"1#s[] t/1 {"id":"1","r":\#(result)}"#])
    }
}

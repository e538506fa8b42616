import GRDB
import PowerSyncProtocol
import Testing

@testable import PowerSyncCore

@Suite struct JSONDifferenceTests {
    private let database: LocalTestDatabase

    init() throws {
        database = try LocalTestDatabase()
    }

    @Test(arguments: [
        ("{}", "{}", "{}"),
        (#"{"a":null}"#, "{}", "{}"),
        ("{}", #"{"a":null}"#, "{}"),
        (#"{"a":0,"b":1}"#, #"{"a":null,"b":2}"#, #"{"a":null,"b":2}"#),
        (#"{"a":1}"#, #"{"a":"1"}"#, #"{"a":"1"}"#),
        (#"{"a":1}"#, #"{"a":1.0}"#, #"{"a":1.0}"#),
        (#"{"a":1.00}"#, #"{"a":1.0}"#, "{}"),
        (#"{"a":1e2}"#, #"{"a":100.0}"#, "{}"),
        (#"{"a":true}"#, #"{"a":false}"#, #"{"a":false}"#),
        (#"{"a":true}"#, #"{"a":1}"#, #"{"a":1}"#),
        (#"{"a":18446744073709551615}"#, #"{"a":18446744073709551614}"#, #"{"a":18446744073709551614}"#),
        (#"{"a":{"x":1,"y":2}}"#, #"{"a":{"x":1,"y":3}}"#, #"{"a":{"x":1,"y":3}}"#),
        (#"{"a":{"x":1,"y":2}}"#, #"{"a":{"y":2, "x":1}}"#, "{}"),
        (#"{"a":[1,2]}"#, #"{"a":[2,1]}"#, #"{"a":[2,1]}"#),
        (#"{"a":[1,2]}"#, #"{"a":[1, 2]}"#, "{}"),
        ("{}", #"{"b":1,"a":2,"B":3,"é":4,"":5}"#, #"{"":5,"B":3,"a":2,"b":1,"é":4}"#),
        (#"{"a":1,"c":3}"#, #"{"b":2,"d":4}"#, #"{"a":null,"b":2,"c":null,"d":4}"#),
        ("{}", "{\"é\":1,\"e\u{301}\":2}", "{\"e\u{301}\":2,\"é\":1}"),
        ("{\"é\":1}", "{\"e\u{301}\":1}", "{\"e\u{301}\":1,\"é\":null}"),
        (#"{"a":"é"}"#, "{\"a\":\"e\u{301}\"}", "{\"a\":\"e\u{301}\"}"),
        (#"{"a":"é"}"#, #"{"a":"\u00e9"}"#, "{}"),
        (#"{"\u0061":1}"#, #"{"a":1}"#, "{}"),
        ("{}", #"{"\u0062":1,"a":2}"#, #"{"a":2,"b":1}"#),
        ("{}", #"{"a":1,"a":2}"#, #"{"a":2}"#),
        ("{}", #"{"a":1,"a":null}"#, "{}"),
        ("{}", #"{"a":"\u0001\u001f\u0008\f\n\r\t\"\\\/"}"#, #"{"a":"\u0001\u001f\b\f\n\r\t\"\\/"}"#),
        ("{}", "{\"a\":\"\u{7f}/é\"}", "{\"a\":\"\u{7f}/é\"}"),
        (" { } ", " { \"a\" : 1 } ", #"{"a":1}"#),
    ])
    func differences(old: String, new: String, expected: String) throws {
        let result = try database.texts("SELECT powersync_diff(?, ?)", [old, new]).first ?? nil
        #expect(result?.utf8.elementsEqual(expected.utf8) == true, "\(result ?? "NULL")")
    }

    @Test func resultIsMarkedAsJSON() throws {
        #expect(try database.texts("SELECT json_object('d', powersync_diff('{}', '{\"a\":1}'))") == [#"{"d":{"a":1}}"#])
    }

    @Test func manyMembersAreOrdered() throws {
        let names = (0..<500).map { "k\($0 * 7919 % 500)" }
        let object = "{\(names.map { "\"\($0)\":1" }.joined(separator: ","))}"
        let expected = "{\(names.sorted().map { "\"\($0)\":1" }.joined(separator: ","))}"
        #expect(try database.texts("SELECT powersync_diff('{}', ?)", [object]) == [expected])
    }

    @Test(arguments: ["[]", "1", "", "{", "{\"a\"}", "{\"a\":Inf}", "{\"a\":1}x", "null"])
    func otherArgumentsAreErrors(text: String) {
        for arguments in [[text, "{}"], ["{}", text]] {
            expectDatabaseError(3091, "powersync_diff: invalid argument") {
                _ = try database.texts("SELECT powersync_diff(?, ?)", StatementArguments(arguments))
            }
        }
    }

    /// The upload queue takes what was just made here without another look.
    @Test(arguments: ["1e309", "-1e309", "9.0e+999"])
    func numbersThatNoDoubleHoldsAreErrors(number: String) {
        expectDatabaseError(3091, "expected two JSON objects") {
            _ = try database.texts("SELECT powersync_diff('{}', ?)", [#"{"a":\#(number)}"#])
        }
    }

    @Test func memoryForManyMembersIsGivenUp() throws {
        let object = "{\((0..<5_000).map { "\"k\($0)\":1" }.joined(separator: ","))}"
        #expect(try database.texts("SELECT powersync_diff(?1, ?1)", [object]) == ["{}"])
        let capacities = try database.queue.read { db in
            let difference = try ConnectionState.of(db).difference
            return [difference.old.capacity, difference.new.capacity]
        }
        #expect(capacities.allSatisfy { $0 <= JSONBytes.keptCapacity }, "\(capacities)")
    }

    @Test(arguments: ["NULL, '{}'", "'{}', NULL"])
    func nullIsAnError(arguments: String) {
        expectDatabaseError(3091, "expected two JSON objects") {
            _ = try database.texts("SELECT powersync_diff(\(arguments))")
        }
    }

    @Test(arguments: [
        ("", "{}"), (#"'{"a":1}'"#, #"{"a":1}"#), (#"'{"a":1}', '{"b":2}'"#, #"{"a":1,"b":2}"#),
        (#"'{}', NULL, '{"b":2}', '{}'"#, #"{"b":2}"#), ("NULL", "{}"), (#"'{"a":1}', '{"a":2}'"#, #"{"a":1,"a":2}"#),
    ])
    func merges(arguments: String, expected: String) throws {
        #expect(try database.texts("SELECT powersync_json_merge(\(arguments))") == [expected])
    }

    @Test(arguments: ["'[1]'", "' {}'", "'{}', 1", "''", "'{'"])
    func mergingOtherTextsIsAnError(arguments: String) {
        expectDatabaseError(3091, "Expected json object") {
            _ = try database.texts("SELECT powersync_json_merge(\(arguments))")
        }
    }

    @Test func stripSubtypeReturnsWhatIsNoJSON() throws {
        #expect(
            try database.rows(
                """
                SELECT typeof(powersync_strip_subtype(NULL)), typeof(powersync_strip_subtype(1)),
                  powersync_strip_subtype('a'), json_array(powersync_strip_subtype(json('{}')))
                """
            ) == [#"null|integer|a|["{}"]"#]
        )
    }

    /// Triggers of raw tables, also those of other implementations, hand each value to `json_object` through it.
    @Test func stripSubtypeMakesJSONFunctionsExact() throws {
        #expect(
            try database.texts(
                """
                SELECT json_object('a', powersync_strip_subtype(0.1 + 0.2), 'b', powersync_strip_subtype(1.7976931348623157e308),
                  'c', powersync_strip_subtype(5e-324), 'd', powersync_strip_subtype(1.0))
                """
            ) == [#"{"a":0.30000000000000004,"b":1.7976931348623157e308,"c":5e-324,"d":1.0}"#]
        )
        // Well-formed JSONB, which json_object takes for JSON from SQLite 3.45 on, and other bytes.
        for value in ["x'00'", "x'01'", "x'0c'", "x'1741'", "x'ff'", "x''"] {
            expectDatabaseError(1, "JSON cannot hold BLOB values") {
                _ = try database.texts("SELECT json_object('a', powersync_strip_subtype(\(value)))")
            }
        }
        for value in ["9e999", "-9e999"] {
            expectDatabaseError(1, "JSON cannot hold infinite numbers") {
                _ = try database.texts("SELECT json_object('a', powersync_strip_subtype(\(value)))")
            }
        }
    }
}

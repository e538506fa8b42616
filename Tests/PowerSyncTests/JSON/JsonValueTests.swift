import Foundation
import PowerSyncProtocol
import Testing

@testable import PowerSyncClient

@Suite struct JsonValueTests {
    @Test(
        arguments: [
            ("null", JsonValue.null),
            ("123", .int(123)),
            ("123.45", .double(123.45)),
            ("0", .int(0)),
            ("1", .int(1)),
            ("true", .bool(true)),
            ("false", .bool(false)),
            ("-9007199254740993", .int(-9_007_199_254_740_993)),
            (#""123""#, .string("123")),
            ("[1,2,3]", .array([.int(1), .int(2), .int(3)])),
            (#"{"foo":"bar"}"#, .object(["foo": .string("bar")])),
            (
                #"{"a":true,"b":1,"c":1.5,"d":null}"#,
                .object(["a": .bool(true), "b": .int(1), "c": .double(1.5), "d": .null])
            ),
        ]
    )
    func jsonAndValuesCorrespond(_ text: String, _ value: JsonValue) throws {
        #expect(try JSONDecoder().decode(JsonValue.self, from: Data(text.utf8)) == value)
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        #expect(String(decoding: try encoder.encode(value), as: UTF8.self) == text)
        #expect(JsonValue(ExactJSON(value)) == value)
    }

    @Test func membersAreOrderedByTheirBytes() {
        let object = JSONObject(["b": .int(1), "a": .int(2), "B": .int(3), "é": .null])
        #expect(object.members.map(\.name) == ["B", "a", "b", "é"])
    }

    @Test func lastOfDuplicateMembersCounts() {
        let object = JSONObject(members: [.init(name: "a", value: 1), .init(name: "a", value: 2)])
        #expect(JsonParam(object) == ["a": .int(2)])
    }
}

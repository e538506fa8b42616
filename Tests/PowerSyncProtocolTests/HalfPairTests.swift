import NIOCore
import PowerSyncProtocol
import Testing

/// Halves of surrogate pairs: U+FFFD in what says something, an error in what identifies.
@Suite struct HalfPairTests {
    /// Texts with halves, and what they are.
    static let texts = [
        (#"Ann \ud83d"#, "Ann \u{fffd}"), (#"\udc00"#, "\u{fffd}"), (#"\ude00\ud83d"#, "\u{fffd}\u{fffd}"),
        (#"\ud83d\ud83d\ude00"#, "\u{fffd}\u{1f600}"), (#"\uD83D\u0041"#, "\u{fffd}A"), (#"\ud83d\n"#, "\u{fffd}\n"),
        (#"\ud83dé"#, "\u{fffd}é"), (#"\udfff\\ud800"#, "\u{fffd}\\ud800"),
    ]

    private static func parse(_ json: String, _ halfPairs: JSONScanner.HalfPairs) throws -> ExactJSON {
        try ExactJSON(parsing: ByteBuffer(string: json), halfPairs: halfPairs)
    }

    @Test(arguments: texts)
    func aTextIsReplacedOrRefused(_ text: String, _ expected: String) throws {
        let json = #"{"a":{"b":["\#(text)"]}}"#
        let value: ExactJSON = ["a": ["b": [.string(expected)]]]
        for mode in [JSONScanner.HalfPairs.replaced, .replacedIn(["a"]), .replacedIn(["b"]), .replacedExceptIn(["b"])] {
            #expect(try Self.parse(json, mode) == value)
        }
        for mode in [JSONScanner.HalfPairs.refused, .replacedIn(["c"]), .replacedExceptIn(["a"])] {
            let error = #expect(throws: JSONError.self) { try Self.parse(json, mode) }
            #expect(error?.reason == .halfSurrogatePair)
        }
    }

    @Test(arguments: texts)
    func namesIdentify(_ text: String, _ expected: String) throws {
        let json = #"{"a":{"\#(text)":1}}"#
        #expect(
            try Self.parse(json, .replaced) == ["a": .object(JSONObject(members: [.init(name: expected, value: 1)]))]
        )
        for mode in [JSONScanner.HalfPairs.refused, .replacedIn(["a"]), .replacedExceptIn([])] {
            #expect(throws: JSONError.self) { try Self.parse(json, mode) }
        }
    }

    @Test(
        arguments: [#"["\ud83d",{"x":"\ud83d"},"\ud83d"]"#, #"{"x":{"y":1}}"#]
    )
    func memberAfterOneWithHalvesIsAsStrictAsBefore(_ inner: String) throws {
        #expect(throws: Never.self) { try Self.parse(#"{"in":\#(inner),"out":["a"]}"#, .replacedIn(["in"])) }
        for json in [
            #"{"in":\#(inner),"out":"\ud83d"}"#, #"{"out":[{"in":\#(inner)},"\ud83d"]}"#,
            #"{"out":{"in":\#(inner),"x":"\ud83d"}}"#,
        ] {
            #expect(throws: JSONError.self) { try Self.parse(json, .replacedIn(["in"])) }
        }
    }

    @Test func otherBrokenEscapesAreErrors() {
        for json in [#""\ud83d\uZZZZ""#, #""\ud83d\u12""#, #""\ud83""#, #""\ud83d\x""#, #""\ud83d"#] {
            #expect(throws: JSONError.self) { try Self.parse(json, .replaced) }
        }
    }

    // MARK: Sync requests

    @Test func whatAnAppTellsOfItselfMayHaveThem() throws {
        let request = try StreamingSyncRequest(
            json: ByteBuffer(
                string: #"""
                    {"parameters":{"name":"Ann \ud83d","list":[{"x":"\ude00"}]},"app_metadata":{"name":"Ann \ud83d"},
                    "streams":{"subscriptions":[{"stream":"s","parameters":{"x":"\ud83d"},"override_priority":null}]}}
                    """#
            )
        )
        #expect(request.parameters == ["name": "Ann \u{fffd}", "list": [["x": "\u{fffd}"]]])
        #expect(request.appMetadata == ["name": "Ann \u{fffd}"])
        #expect(request.streams.subscriptions.first?.parameters == ["x": "\u{fffd}"])
    }

    @Test(arguments: [
        #"{"client_id":"c\ud83d"}"#, #"{"buckets":[{"name":"b\ud83d","after":"1"}]}"#, #"{"only":["b\ud83d"]}"#,
        #"{"streams":{"subscriptions":[{"stream":"s\ud83d","parameters":null,"override_priority":null}]}}"#,
        #"{"parameters":{"n\ud83d":1}}"#, #"{"app_metadata":{"n\ud83d":"1"}}"#,
    ])
    func whatIdentifiesMayNot(_ json: String) {
        let error = #expect(throws: RequestValidationError.self) {
            _ = try StreamingSyncRequest(json: ByteBuffer(string: json))
        }
        #expect(error?.messages.first?.contains("half a surrogate pair") == true)
    }
}

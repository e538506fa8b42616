import PowerSyncProtocol
import Testing

@testable import PowerSyncCore

/// Text that is nearly JSON, token by token.
@Suite struct JSONRepairTests {
    private func repaired(_ text: [UInt8], _ infinities: JSONRepair.Infinities = .numbers) -> String? {
        text.withUnsafeBytes { JSONRepair.repaired($0, infinities: infinities) }.map {
            String(decoding: $0, as: UTF8.self)
        }
    }

    static let words: [(text: String, row: String?, entry: String?)] = [
        ("NaN", "null", "null"), ("[nan,NAN]", "[null,null]", "[null,null]"),
        ("Infinity", "9e999", #""Infinity""#), ("-Infinity", "-9e999", #""-Infinity""#),
        ("+Infinity", "9e999", #""Infinity""#), ("inf", "9e999", #""Infinity""#), ("-INF", "-9e999", #""-Infinity""#),
        ("[1e309,-1e309]", "[1e309,-1e309]", #"["Infinity","-Infinity"]"#),
        ("1e308", "1e308", "1e308"), ("-1.5e-3", "-1.5e-3", "-1.5e-3"),
        ("[true,false,null]", "[true,false,null]", "[true,false,null]"),
        ("-NaN", "null", "null"), ("-true", nil, nil), ("--1", nil, nil), ("-", nil, nil), ("+1", nil, nil),
        ("1.2.3", nil, nil),
        ("Infinit", nil, nil), ("nul", nil, nil), ("{", nil, nil), ("", nil, nil),
        ("[NaN", nil, nil), (#""a"#, nil, nil), (#"[NaN,"a"#, nil, nil),
        (#"{"NaN":NaN,"a":"Infinity"}"#, #"{"NaN":null,"a":"Infinity"}"#, #"{"NaN":null,"a":"Infinity"}"#),
    ]

    @Test(arguments: words) func wordsAndNumbersAreUnderstood(text: String, row: String?, entry: String?) {
        #expect(repaired(Array(text.utf8), .numbers) == row)
        #expect(repaired(Array(text.utf8), .texts) == entry)
    }

    static let strings: [(content: [UInt8], repaired: String?)] = [
        (Array(#"\ud83e\udd56"#.utf8), #"\ud83e\udd56"#), (Array(#"\ud800"#.utf8), "\u{fffd}"),
        (Array(#"\udfff"#.utf8), "\u{fffd}"), (Array(#"\ud800\ud800"#.utf8), "\u{fffd}\u{fffd}"),
        (Array(#"\udc00\ud800"#.utf8), "\u{fffd}\u{fffd}"),
        (Array(#"a\ud83e\udd56b\ud800c"#.utf8), "a\\ud83e\\udd56b\u{fffd}c"),
        (Array(#"\ud800\n"#.utf8), "\u{fffd}\\n"), (Array(#"\u0041\"\\"#.utf8), #"\u0041\"\\"#),
        (Array(#"\u00e"#.utf8), nil), (Array(#"\x"#.utf8), nil), (Array(#"\uzzzz"#.utf8), nil),
        (Array(#"\"#.utf8), nil),
        ([0x01], #"\u0001"#), ([0x0f], #"\u000f"#), ([0x10], #"\u0010"#), ([0x1f], #"\u001f"#), ([0x20], " "),
        ([0x7f], "\u{7f}"),
        ([0x0a], #"\u000a"#), ([0x61, 0xff, 0x62], "a\u{fffd}b"), ([0xe2, 0x82], "\u{fffd}\u{fffd}"),
        ([0xe2, 0x82, 0xac], "€"), ([0xed, 0xa0, 0x80], "\u{fffd}\u{fffd}\u{fffd}"),
    ]

    @Test(arguments: strings) func stringsKeepWhatIsText(content: [UInt8], expected: String?) {
        for (prefix, suffix) in [("", ""), ("abcdefg", "h"), ("abcdefgh", "ijklmnop")] {
            let text = [UInt8(ascii: "\"")] + Array(prefix.utf8) + content + Array(suffix.utf8) + [UInt8(ascii: "\"")]
            let whole = expected.map { "\"" + prefix + $0 + suffix + "\"" }
            #expect(repaired(text) == whole)
        }
    }
}

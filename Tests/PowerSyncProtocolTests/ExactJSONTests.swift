import NIOCore
import PowerSyncProtocol
import TestSupport
import Testing

@Suite struct ExactJSONTests {
    @Test func numbersThatAreTooLargeCanBeInfinite() throws {
        let array = try ExactJSON(parsing: ByteBuffer(string: "[1e999,-1e999]"), hugeNumbers: .infinite)
        #expect(array == .array([.double(.infinity), .double(-.infinity)]))
        let object = try ByteBuffer(string: #"{"a":{"b":1e999}}"#).withByteView {
            try JSONObject(parsing: $0, hugeNumbers: .infinite)
        }
        #expect(object == ["a": ["b": .double(.infinity)]])
    }

    @Test(
        arguments: [
            ("0", .integer(0)), ("-1", .integer(-1)), ("-0", .double(-0.0)),
            ("9007199254740993", .integer(9_007_199_254_740_993)),
            ("9223372036854775807", .integer(.max)), ("-9223372036854775808", .integer(.min)),
            ("9223372036854775808", .double(9_223_372_036_854_775_808)),
            ("-9223372036854775809", .double(-9_223_372_036_854_775_808)),
            ("1.0", .double(1)), ("1e2", .double(100)), ("1E+2", .double(100)), ("1.5e-3", .double(0.0015)),
            ("0.1", .double(0.1)), ("5e-324", .double(.leastNonzeroMagnitude)), ("1e-400", .double(0)),
            ("1.7976931348623157e308", .double(.greatestFiniteMagnitude)),
        ] as [(String, ExactJSON)]
    )
    func numbersAreReadExactly(text: String, value: ExactJSON) throws {
        #expect(try ExactJSON(parsing: text) == value)
        #expect(try ExactJSON(parsing: " [\(text)]\n") == .array([value]))
    }

    @Test(arguments: [
        "01", "-", "+1", ".5", "1.", "1e", "1e+", "0x10", "NaN", "Infinity", "--1", "1.e3", "1e999", "-1e999",
    ])
    func textsThatAreNotNumbersAreRejected(text: String) {
        #expect(throws: JSONError.self) { try ExactJSON(parsing: text) }
    }

    @Test(
        arguments: [
            (.integer(.min), "-9223372036854775808"), (.double(1), "1.0"), (.double(-0.0), "-0.0"),
            (.double(0.1), "0.1"), (.double(1e21), "1e21"), (.double(1.5e300), "1.5e300"), (.double(1e-7), "1e-7"),
            (.double(.leastNonzeroMagnitude), "5e-324"), (.double(0.1 + 0.2), "0.30000000000000004"),
            (.double(100), "100.0"), (.double(1e-5), "1e-5"), (.double(-2.5e-10), "-2.5e-10"),
            (.double(1e100), "1e100"),
            (.double(1e16), "1e16"), (.double(1.5e16), "1.5e16"), (.double(-.infinity), "null"),
            (.integer(.max), "9223372036854775807"),
            (.double(.nan), "null"), (.double(.infinity), "null"),
            (
                .string("a\"b\\c/\u{8}\u{c}\n\r\t\u{1}\u{1f}\u{7f}é\u{2028}🥖"),
                #""a\"b\\c/\b\f\n\r\t\u0001\u001f\#u{7f}é\#u{2028}🥖""#
            ),
            ([1, [], [:], nil, true], "[1,[],{},null,true]"),
            (["b": 1, "a": ["d": 2, "c": 3]], #"{"b":1,"a":{"d":2,"c":3}}"#),
        ] as [(ExactJSON, String)]
    )
    func valuesAreWrittenInOneForm(value: ExactJSON, text: String) {
        #expect(value.text == text)
    }

    @Test func everyDoubleReadsBackAsItself() throws {
        let seed: UInt64 = 0x5eed_0001
        print("seed \(seed)")
        var generator = SeededGenerator(seed: seed)
        for _ in 0..<2_000 {
            let value = Double(bitPattern: generator.next())
            guard value.isFinite else { continue }
            #expect(try ExactJSON(parsing: ExactJSON.double(value).text) == .double(value))
        }
    }

    @Test func canonicalTextSortsMembersByBytesAtEveryLevel() throws {
        let value = try ExactJSON(parsing: #"{ "é" : 1, "b":[{"z":1,"a":1.0}], "B":null, "a\/":"\u0041", "b": 2 }"#)
        #expect(value.canonicalText == #"{"B":null,"a/":"A","b":2,"é":1}"#)
        // Composed and decomposed characters are different names.
        let twoNames = JSONObject(members: [
            .init(name: "e\u{301}", value: 1), .init(name: "\u{e9}", value: 2), .init(name: "a", value: 3),
        ])
        #expect(twoNames.canonicalText == "{\"a\":3,\"e\u{301}\":1,\"\u{e9}\":2}")
        #expect(
            JSONObject(members: [.init(name: "a", value: 1), .init(name: "a", value: 2)]).canonicalText == #"{"a":2}"#
        )
    }

    @Test func textsAreEqualByTheirBytes() {
        #expect(ExactJSON.string("\u{e9}") != .string("e\u{301}"))
        #expect(ExactJSON.object(["\u{e9}": 1]) != .object(["e\u{301}": 1]))
        #expect(Set([ExactJSON.string("\u{e9}"), .string("e\u{301}")]).count == 2)
        #expect(ExactJSON.integer(1) != .double(1))
    }

    @Test(
        arguments: [
            (.double(.infinity), true), (.double(.nan), true), ([1, [.double(-.infinity)]], true),
            (["a": [["b": .double(.nan)]]], true), ([1.5, "x", nil, true, ["a": 1e308]], false),
        ] as [(ExactJSON, Bool)]
    )
    func numbersThatJSONDoesNotHaveAreFoundAtEveryLevel(value: ExactJSON, isFound: Bool) {
        #expect(value.hasNonFiniteNumber == isFound)
    }

    /// From 16 members on, names are found by an index.
    @Test func theLastOfEqualNamesCountsWhereverTheyAre() throws {
        for memberCount in 14...19 {
            for repeated in 0..<memberCount {
                let names = (0..<memberCount).map { #""n\#($0)":\#($0)"# }
                let text =
                    "{" + (names + [#""n\#(repeated)":"last""#, #""new":0"#, #""new":1"#]).joined(separator: ",") + "}"
                let members = try JSONObject(parsing: text).members
                #expect(members.count == memberCount + 1)
                #expect(members[repeated] == .init(name: "n\(repeated)", value: "last"))
                #expect(members.last == .init(name: "new", value: 1))
            }
        }
    }

    @Test(
        arguments: [
            ("true", .bool(true)), ("false", .bool(false)), (" null ", .null), ("\t\r\n1", .integer(1)),
        ] as [(String, ExactJSON)]
    )
    func valuesMayStandAlone(text: String, value: ExactJSON) throws {
        #expect(try ExactJSON(parsing: text) == value)
    }

    @Test(arguments: ["tru", "truE", "fals", "nul", "\u{b}1", "\u{c}1", "\u{a0}1"])
    func whatIsNearlyAValueIsNone(text: String) {
        #expect(throws: JSONError.self) { try ExactJSON(parsing: text) }
    }

    @Test(arguments: [3, 40])
    func theLastOfEqualNamesCountsAtThePlaceOfTheFirst(memberCount: Int) throws {
        let names = (0..<memberCount).map { #""n\#($0)":\#($0)"# }
        let object = try JSONObject(parsing: "{" + (names + [#""n1":"last""#]).joined(separator: ",") + "}")
        #expect(object.members.count == memberCount)
        #expect(object.members[1] == .init(name: "n1", value: "last"))
    }

    @Test(
        arguments: [
            (#""\u00e9\ud83e\udd56\u0000""#, "é🥖\0"), (#""\"\\\/\b\f\n\r\t""#, "\"\\/\u{8}\u{c}\n\r\t"),
            (#""\ud800\udc00\uDBFF\uDFFF""#, "\u{10000}\u{10ffff}"),
            (#""\ud7ff\ue000\uFFFF""#, "\u{d7ff}\u{e000}\u{ffff}"),
            (#""\u007f\u0080\u07ff\u0800""#, "\u{7f}\u{80}\u{7ff}\u{800}"), (#""\u00aF""#, "\u{af}"),
            (#""""#, ""), ("\"Brød – 麵包 🥖\"", "Brød – 麵包 🥖"),
        ])
    func escapesAreResolved(text: String, value: String) throws {
        let parsed = try ExactJSON(parsing: text)
        #expect(parsed == .string(value))
    }

    @Test(
        arguments: [
            ("", .unexpectedEnd, 0), ("{", .unexpectedEnd, 1), (#"{"a""#, .unexpectedEnd, 4),
            (#"{"a":1,}"#, .expected("a member name"), 7), ("[1,]", .expected("a value"), 3),
            ("[,1]", .expected("a value"), 1), (#"{"a" 1}"#, .expected("':'"), 5),
            ("[1 2]", .expected("',' or ']'"), 3),
            ("{a:1}", .expected("a member name"), 1), ("nul", .expected("'null'"), 0), ("1 2", .trailingBytes, 2),
            ("\"a\nb\"", .unescapedControlCharacter, 2), (#""\x""#, .invalidEscape, 1),
            (#""\u12g4""#, .invalidEscape, 1),
            (#""\ud800""#, .halfSurrogatePair, 1), (#""\ud800 \u0041""#, .halfSurrogatePair, 1),
            (#""\ud800\ue000""#, .halfSurrogatePair, 1), (#""\ud800\udbff""#, .halfSurrogatePair, 1),
            (#""\u00e""#, .invalidEscape, 1),
            (#""\u00e"#, .unexpectedEnd, 6), (#""\u/000""#, .invalidEscape, 1), (#""\u:000""#, .invalidEscape, 1),
            (#""\u@000""#, .invalidEscape, 1), (#""\uG000""#, .invalidEscape, 1), (#""\u`000""#, .invalidEscape, 1),
            (#""\udc00""#, .halfSurrogatePair, 1), (#""\ud800\u0041""#, .halfSurrogatePair, 1),
            (#""abc"#, .unexpectedEnd, 4),
            ("1e999", .numberOutOfRange, 0), ("- 1", .invalidNumber, 1), ("]", .expected("a value"), 0),
        ] as [(String, JSONError.Reason, Int)]
    )
    func malformedTextIsAnErrorWithItsPlace(text: String, reason: JSONError.Reason, offset: Int) {
        let error = #expect(throws: JSONError.self) { try ExactJSON(parsing: text) }
        #expect(error?.reason == reason)
        #expect(error?.offset == offset)
        #expect(error?.description.contains("byte \(offset)") == true)
    }

    @Test(
        arguments: [
            "ff", "c0 80", "c3", "e0 80 80", "ed a0 80", "f0 80 80 80", "f4 90 80 80", "f5 80 80 80", "80", "e2 82",
            "61 62 63 64 65 66 67 68 c3 28",
        ])
    func invalidUTF8IsAnError(hex: String) {
        var bytes = ByteBuffer(string: "\"")
        bytes.writeImmutableBuffer(ByteBuffer(hex: hex))
        bytes.writeString("\"")
        let error = #expect(throws: JSONError.self) { try ExactJSON(parsing: bytes) }
        #expect(error?.reason == .invalidUTF8)
    }

    /// The first and the last character of each length, and around the surrogates.
    @Test(arguments: [
        "c2 80", "df bf", "e0 a0 80", "ed 9f bf", "ee 80 80", "ef bf bf", "f0 90 80 80", "f3 bf bf bf", "f4 8f bf bf",
    ])
    func charactersAtTheEndsOfTheirRangesAreValid(hex: String) throws {
        for padding in 0..<9 {
            let character = ByteBuffer(hex: hex).text
            var bytes = ByteBuffer(string: "\"" + String(repeating: "a", count: padding))
            bytes.writeImmutableBuffer(ByteBuffer(hex: hex))
            bytes.writeString("\"")
            #expect(try ExactJSON(parsing: bytes) == .string(String(repeating: "a", count: padding) + character))
        }
    }

    @Test func nestingIsLimited() throws {
        func nested(_ depth: Int) -> String {
            String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
        }
        _ = try ExactJSON(parsing: nested(JSONScanner.maximumNesting))
        for depth in [JSONScanner.maximumNesting + 1, 100_000] {
            let error = #expect(throws: JSONError.self) { try ExactJSON(parsing: nested(depth)) }
            #expect(error?.reason == .nestingTooDeep)
        }
    }

    @Test func objectsAreEditedByName() throws {
        var object: JSONObject = ["a": 1, "b": 2]
        object["a"] = 3
        object["c"] = [nil]
        object["b"] = nil
        #expect(object.text == #"{"a":3,"c":[null]}"#)
        #expect(object["x"] == nil)
        #expect(throws: JSONError.self) { try JSONObject(parsing: "[]") }
        #expect(try JSONObject(parsing: ByteBuffer(string: "{}")) == [:])
    }
}

import NIOCore
import PowerSyncProtocol
import Testing

@Suite struct JSONScannerTests {
    @Test func membersAndRawValuesCanBePulled() throws {
        let text = #" {"a": -1.50 , "b\n" : [ true, {"x":"]"} ], "c":null}"#
        let members = try ByteView.of(text) { bytes throws(JSONError) in
            var scanner = JSONScanner(bytes)
            var members: [[String]] = []
            try scanner.beginObject()
            while let name = try scanner.nextMember() {
                members.append([name.string, bytes[try scanner.skipValue()].string])
            }
            try scanner.finish()
            return members
        }
        #expect(members == [["a", "-1.50"], ["b\n", #"[ true, {"x":"]"} ]"#], ["c", "null"]])
    }

    @Test func elementsAreReadByKind() throws {
        try ByteView.of(#"["x",2,2.5,false,null,[],{}]"#) { bytes throws(JSONError) in
            var scanner = JSONScanner(bytes)
            var kinds: [JSONScanner.ValueKind] = []
            try scanner.beginArray()
            while try scanner.nextElement() {
                kinds.append(try scanner.nextKind())
                _ = try scanner.skipValue()
            }
            #expect(kinds == [.string, .number, .number, .bool, .null, .array, .object])
            #expect(scanner.offset == bytes.count)
        }
    }

    @Test func whatIsSkippedIsCheckedToo() {
        for text in [#"["\x"]"#, "[01]", "[[}]", "[tru]", "[\"\u{1}\"]", "[1"] {
            #expect(throws: JSONError.self) {
                try ByteView.of(text) { bytes throws(JSONError) in
                    var scanner = JSONScanner(bytes)
                    _ = try scanner.skipValue()
                    try scanner.finish()
                }
            }
        }
    }

    @Test(arguments: [
        ("1e308", true), ("-1e308", true), ("1e309", false), ("-1e309", false), ("1E999", false), ("1.5e+999", false),
        ("1e-999", true), ("1e99", true), (String(repeating: "9", count: 308), true),
        (String(repeating: "9", count: 310), false), (String(repeating: "9", count: 101) + ".5", true),
        ("0." + String(repeating: "0", count: 400) + "1", true),
    ])
    func numbersBeyondADoubleAreFound(text: String, isInRange: Bool) throws {
        let error = ByteView.of(text) { bytes -> JSONError? in
            do throws(JSONError) {
                var scanner = JSONScanner(bytes)
                try scanner.readNumber().checkRange()
                return nil
            } catch {
                return error
            }
        }
        #expect(error?.reason == (isInRange ? nil : .numberOutOfRange))
    }

    @Test func controlCharactersAndInvalidBytesAreFoundAtEveryOffset() {
        for length in 0..<20 {
            for (special, reason) in [
                (0x1f, .unescapedControlCharacter), (0x00, .unescapedControlCharacter), (0xff, .invalidUTF8),
            ]
                as [(UInt8, JSONError.Reason)]
            {
                let plain = [UInt8](repeating: UInt8(ascii: "a"), count: length)
                let bytes = ByteBuffer(bytes: [UInt8(ascii: "\"")] + plain + [special] + plain + [UInt8(ascii: "\"")])
                let error = #expect(throws: JSONError.self) { try ExactJSON(parsing: bytes) }
                #expect(error?.reason == reason)
                #expect(error?.offset == length + 1)
            }
        }
    }

    /// The scanner looks at eight bytes at a time; everything special has to be found at every place of the eight.
    @Test func specialBytesAreFoundAtEveryOffset() throws {
        for length in 0..<20 {
            for padding in 0..<10 {
                let plain = String(repeating: "a", count: length)
                let rest = String(repeating: "b", count: padding)
                for special in ["\"", "\\", "\u{1f}", "\n", "é", "\u{80}", "🥖", "\u{7f}", " ", "!", "#", "[", "]"] {
                    let value = plain + special + rest
                    #expect(try ExactJSON(parsing: JSONText.string(value)) == .string(value))
                }
            }
        }
    }
}

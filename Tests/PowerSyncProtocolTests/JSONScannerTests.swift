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

    /// The scanner looks at eight bytes at a time; everything special has to be found at every place of the eight.
    @Test func specialBytesAreFoundAtEveryOffset() throws {
        for length in 0..<20 {
            for padding in 0..<10 {
                let plain = String(repeating: "a", count: length)
                let rest = String(repeating: "b", count: padding)
                for special in ["\"", "\\", "\u{1f}", "\n", "é", "\u{80}", "🥖", "\u{7f}", " ", "!", "#", "[", "]"] {
                    let value = plain + special + rest
                    #expect(try JSONValue(parsing: JSONText.string(value)) == .string(value))
                }
            }
        }
    }
}

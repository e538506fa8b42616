import PowerSyncProtocol
import PowerSyncSyncConfig
import PowerSyncServicePostgres
import TestSupport
import Testing

/// Arrays, composites and ranges (docs/postgres.md "Types").
@Suite struct NestedValueTests {
    @Test(
        arguments: [
            (1007, "{}", "[]"), (1007, "{1,NULL,-3}", "[1,null,-3]"),
            (1016, "{9007199254740993}", "[9007199254740993]"),
            (1007, "{{1,2},{3,4}}", "[[1,2],[3,4]]"), (1007, "[2:3]={1,2}", "[1,2]"),
            (1007, "[-1:0][5:6]={{1,2},{3,4}}", "[[1,2],[3,4]]"), (1007, "{{{{{{1}}}}}}", "[[[[[[1]]]]]]"),
            (1000, "{t,f,NULL}", "[1,0,null]"), (1231, "{1.50,NaN}", #"["1.50","NaN"]"#),
            (
                1022, "{1,0.5,NaN,Infinity,-Infinity,1e+20,1e+21,-0}",
                "[1.0,0.5,null,null,null,100000000000000000000.0,1e+21,-0.0]"
            ),
            (
                1009, #"{a,"b c","",NULL,"NULL","a\"b","a\\b","{x}","a,b",ü}"#,
                #"["a","b c","",null,"NULL","a\"b","a\\b","{x}","a,b","ü"]"#
            ),
            (1009, "{\"a\nb\tc\u{1}\"}", #"["a\nb\tc\u0001"]"#),
            (2951, "{0a0b0c0d-0000-4000-8000-00000000ffff}", #"["0a0b0c0d-0000-4000-8000-00000000ffff"]"#),
            (199, #"{"{\"a\": [1, \"x\"]}",1,NULL,"\"s\""}"#, #"[{"a": [1, "x"]},1,null,"s"]"#),
            (3807, #"{"{\"a\": \"\\\\\"}"}"#, #"[{"a": "\\"}]"#),
            (1001, #"{"\\x00ff",NULL}"#, "[null,null]"),
            (1020, "{(3,4),(1,2);(1,1),(0,0)}", #"["(3,4),(1,2)","(1,1),(0,0)"]"#),
            (1017, #"{"(1,2)"}"#, #"["(1,2)"]"#), (629, #"{"{1,-1,0}"}"#, "[[1.0,-1.0,0.0]]"),
            (3221, "{16/B374D848}", #"["00000016/B374D848"]"#), (1041, "{10.0.0.1}", #"["10.0.0.1"]"#),
            (1187, #"{"1 day"}"#, #"["1 day"]"#),
        ] as [(PostgresOID, String, String)]
    )
    func arraysOfBuiltInTypesAreJSON(type: PostgresOID, text: String, json: String) {
        let types = TestTypes()
        #expect(types.decode(type, text) == DecodedValue(value: .text(json)))
        // Also where custom types stay as they are.
        #expect(types.decode(type, text, .rawCustomTypes) == DecodedValue(value: .text(json)))
    }

    @Test func arraysOfOtherTypesAreJSONIfCustomTypesAre() {
        var types = TestTypes()
        let mood = types.add("mood", .enumeration)
        let flag = types.add("flag", .domain(over: 16))
        let pair = types.add("pair", .composite([.init(name: "x", type: 23), .init(name: "y", type: 25)]))
        let range = types.add("int4range", .range(of: 23), builtIn: 3904)
        let citext = types.add("citext", .base)
        let cases: [(PostgresOID, String, String)] = [
            (mood.array, #"{ok,"so so",NULL}"#, #"["ok","so so",null]"#),
            (flag.array, "{t,f}", "[1,0]"),
            (pair.array, #"{"(1,a)","(2,\"b c\")"}"#, #"[{"x":1,"y":"a"},{"x":2,"y":"b c"}]"#),
            (
                range.array, #"{"[1,5)",empty}"#,
                #"[{"lower":1,"upper":5,"lower_exclusive":0,"upper_exclusive":1},"empty"]"#
            ),
            (citext.array, "{Ab}", #"["Ab"]"#),
        ]
        for (type, text, json) in cases {
            #expect(types.decode(type, text) == DecodedValue(value: .text(json)))
            #expect(types.decode(type, text, .rawCustomTypes) == DecodedValue(value: .text(text)))
            #expect(types.decode(type, text, .legacy) == DecodedValue(value: .text(text)))
        }
    }

    @Test(
        arguments: [
            (#"(1,a,2024-03-01)"#, #"{"a":1,"b \"q\"":"a","c":"2024-03-01"}"#),
            (#"(,,)"#, #"{"a":null,"b \"q\"":null,"c":null}"#),
            (#"(1,"",)"#, #"{"a":1,"b \"q\"":"","c":null}"#),
            (#"(1,"a ""b"" \\ c,)",)"#, #"{"a":1,"b \"q\"":"a \"b\" \\ c,)","c":null}"#),
            (#"(1,"""",)"#, #"{"a":1,"b \"q\"":"\"","c":null}"#),
            // Only what has a meaning in composites is quoted.
            (#"(1,[x]{y},)"#, #"{"a":1,"b \"q\"":"[x]{y}","c":null}"#),
            (#"(1,NULL,)"#, #"{"a":1,"b \"q\"":"NULL","c":null}"#),
        ]
    )
    func compositesAreObjects(text: String, json: String) {
        var types = TestTypes()
        let type = types.add(
            "t",
            .composite([.init(name: "a", type: 23), .init(name: "b \"q\"", type: 25), .init(name: "c", type: 1082)])
        )
        #expect(types.decode(type, text) == DecodedValue(value: .text(json)))
        #expect(types.decode(type, text, .rawCustomTypes) == DecodedValue(value: .text(text)))
    }

    @Test func compositesHoldEverything() {
        var types = TestTypes()
        let range = types.add("int4range", .range(of: 23), builtIn: 3904)
        let inner = types.add("inner", .composite([.init(name: "n", type: 1231), .init(name: "r", type: range)]))
        let outer = types.add(
            "outer",
            .composite([
                .init(name: "i", type: inner), .init(name: "j", type: 3802), .init(name: "l", type: 1009),
                .init(name: "b", type: 16), .init(name: "f", type: 701),
            ])
        )
        // What has a comma is quoted once more at each level.
        let text = #"("(""{1.50,2}"",""[1,5)"")","{""k"": ""v w""}","{a,""b c""}",t,3)"#
        let json =
            #"{"i":{"n":["1.50","2"],"r":{"lower":1,"upper":5,"lower_exclusive":0,"upper_exclusive":1}},"#
            + #""j":{"k": "v w"},"l":["a","b c"],"b":1,"f":3.0}"#
        #expect(types.decode(outer, text) == DecodedValue(value: .text(json)))
    }

    @Test func bytesInCompositesAreLeftOutUnlessNull() {
        var types = TestTypes()
        let type = types.add("t", .composite([.init(name: "b", type: 17), .init(name: "n", type: 23)]))
        #expect(types.decode(type, #"("\\x00",1)"#) == DecodedValue(value: #"{"n":1}"#))
        #expect(types.decode(type, "(,1)") == DecodedValue(value: #"{"b":null,"n":1}"#))
        let last = types.add("u", .composite([.init(name: "n", type: 23), .init(name: "b", type: 17)]))
        #expect(types.decode(last, #"(1,"\\x00")"#) == DecodedValue(value: #"{"n":1}"#))
    }

    @Test func aCompositeWithoutColumnsIsAnEmptyObject() {
        var types = TestTypes()
        let type = types.add("nothing", .composite([]))
        #expect(types.decode(type, "()") == DecodedValue(value: "{}"))
        #expect(types.decode(type.array, #"{"()"}"#) == DecodedValue(value: "[{}]"))
    }

    @Test(
        arguments: [
            ("[1,5)", #"{"lower":1,"upper":5,"lower_exclusive":0,"upper_exclusive":1}"#),
            ("(1,5]", #"{"lower":1,"upper":5,"lower_exclusive":1,"upper_exclusive":0}"#),
            ("(,5)", #"{"lower":null,"upper":5,"lower_exclusive":1,"upper_exclusive":1}"#),
            ("[1,)", #"{"lower":1,"upper":null,"lower_exclusive":0,"upper_exclusive":1}"#),
            ("(,)", #"{"lower":null,"upper":null,"lower_exclusive":1,"upper_exclusive":1}"#),
            // As a value of its own: the word, which is text like any other.
            ("empty", "empty"),
        ]
    )
    func rangesAreObjects(text: String, json: String) {
        var types = TestTypes()
        let range = types.add("int4range", .range(of: 23), builtIn: 3904)
        #expect(types.decode(range, text) == DecodedValue(value: .text(json)))
        #expect(types.decode(range, text, .rawCustomTypes) == DecodedValue(value: .text(text)))
    }

    @Test(
        arguments: [
            (#"["a ""b""",c)"#, #""a \"b\"""#, #""c""#), (#"["a\\b","(x]"]"#, #""a\\b""#, #""(x]""#),
            (#"["",z]"#, #""""#, #""z""#), (#"["a,b",c]"#, #""a,b""#, #""c""#),
        ]
    )
    func boundsMayBeQuoted(text: String, lower: String, upper: String) {
        var types = TestTypes()
        let range = types.add("textrange", .range(of: 25))
        let value = types.decode(range, text)
        let upperExclusive = text.hasSuffix(")") ? 1 : 0
        #expect(
            value
                == DecodedValue(
                    value: .text(
                        #"{"lower":\#(lower),"upper":\#(upper),"lower_exclusive":0,"upper_exclusive":\#(upperExclusive)}"#
                    )
                )
        )
    }

    @Test func rangesOfTimesHaveTheFormOfTimes() {
        var types = TestTypes()
        let range = types.add("tstzrange", .range(of: 1184), builtIn: 3910)
        #expect(
            types.decode(range, #"["2024-03-01 12:00:00+00",infinity)"#)
                == DecodedValue(
                    value: .text(
                        #"{"lower":"2024-03-01T12:00:00.000000Z","upper":"9999-12-31T23:59:59.000000Z","#
                            + #""lower_exclusive":0,"upper_exclusive":1}"#
                    )
                )
        )
    }

    @Test func multirangesAreArraysOfRanges() {
        var types = TestTypes()
        let range = types.add("int4range", .range(of: 23), builtIn: 3904)
        let multirange = types.add("int4multirange", .multirange(of: range))
        #expect(types.decode(multirange, "{}") == DecodedValue(value: "[]"))
        #expect(
            types.decode(multirange, "{[1,3),[5,)}")
                == DecodedValue(
                    value: .text(
                        #"[{"lower":1,"upper":3,"lower_exclusive":0,"upper_exclusive":1},"#
                            + #"{"lower":5,"upper":null,"lower_exclusive":0,"upper_exclusive":1}]"#
                    )
                )
        )
        #expect(types.decode(multirange, "{[1,3)}", .rawCustomTypes) == DecodedValue(value: "{[1,3)}"))
        let text = types.add("textrange", .range(of: 25))
        let texts = types.add("textmultirange", .multirange(of: text))
        #expect(
            types.decode(texts, #"{["a]",b],("}",)}"#)
                == DecodedValue(
                    value: .text(
                        #"[{"lower":"a]","upper":"b","lower_exclusive":0,"upper_exclusive":0},"#
                            + #"{"lower":"}","upper":null,"lower_exclusive":1,"upper_exclusive":1}]"#
                    )
                )
        )
    }

    @Test(
        arguments: [
            (1007, ""), (1007, "{"), (1007, "{1"), (1007, "{1,"), (1007, "{1,}"), (1007, "{,1}"), (1007, "{1}}"),
            (1007, "{{1}"), (1007, "{1}x"), (1007, "x"), (1007, "[1:2]{1,2}"), (1007, "[1:2={1}"), (1007, "[a]={1}"),
            (1007, "[1:2]="), (1007, "{x}"), (1009, #"{"a}"#), (1009, #"{"a\"#), (1009, #"{a"b}"#), (1009, #"{a\b}"#),
            (1009, #"{"a"b}"#), (628, "{1,x,0}"), (628, "1"),
            (20_000, ""), (20_000, "("), (20_000, "(1"), (20_000, "(1)"), (20_000, "(1,a,b)"), (20_000, "(1,a"),
            (20_000, "(1,a)x"), (20_000, "1,a"), (20_000, "(x,a)"), (20_000, #"(1,"a)"#), (20_000, #"(1,a"b)"#),
            (3904, ""), (3904, "["), (3904, "[1"), (3904, "[1,"), (3904, "[1,2"), (3904, "[1]"), (3904, "1,2"),
            (3904, "[1,2)x"), (3904, "[x,2)"), (3904, "emptyx"), (3904, "[1,2,3)"),
            (20_002, ""), (20_002, "{"), (20_002, "{[1,2)"), (20_002, "{[1,2),}"), (20_002, "{1}"), (20_002, "{}x"),
        ] as [(PostgresOID, String)]
    )
    func whatCannotBeTakenApartStaysText(type: PostgresOID, text: String) {
        var types = TestTypes()
        types.add("pair", .composite([.init(name: "x", type: 23), .init(name: "y", type: 25)]))
        types.add("int4range", .range(of: 23), builtIn: 3904)
        types.add("int4multirange", .multirange(of: 3904))
        #expect(types.decode(type, text) == DecodedValue(value: .text(text), reason: .unparsed))
    }

    /// A type whose values are inside of as many composites.
    private func composite(of depth: Int, in types: inout TestTypes) -> PostgresOID {
        var type: PostgresOID = 23
        for level in 0..<depth { type = types.add("level\(level)", .composite([.init(name: "a", type: type)])) }
        return type
    }

    /// The text and the JSON of such a value.
    ///
    /// PostgreSQL quotes what has parentheses, and doubles the quotes that are there.
    private func nested(_ depth: Int) -> (text: String, json: String) {
        var text = Array("(7)".utf8)
        for _ in 1..<depth {
            var quoted = Array("(\"".utf8)
            for byte in text {
                quoted.append(byte)
                if byte == UInt8(ascii: "\"") { quoted.append(byte) }
            }
            text = quoted + Array("\")".utf8)
        }
        return (
            String(decoding: text, as: UTF8.self),
            String(repeating: "{\"a\":", count: depth) + "7" + String(repeating: "}", count: depth)
        )
    }

    @Test func twentyLevelsAreAccepted() {
        var types = TestTypes()
        let type = composite(of: 20, in: &types)
        let (text, json) = nested(20)
        #expect(types.decode(type, text) == DecodedValue(value: .text(json)))
        let deeper = composite(of: 21, in: &types)
        #expect(types.decode(deeper, nested(21).text) == DecodedValue(value: .null, reason: .nestedTooDeep))
    }

    @Test func nestingHasItsCode() {
        var types = TestTypes()
        let type = composite(of: 21, in: &types)
        let text = nested(21).text
        let decoder = PostgresValueDecoder(type, in: types.registry, options: SourceValueOptions())
        var problem: PostgresValueProblem?
        _ = ByteView.of(text) { decoder.value(of: $0, problem: &problem) }
        #expect(problem?.code == .nestingTooDeep)
    }

    @Test func aValueThatIsNotDeepMayHaveATypeThatIs() {
        var types = TestTypes()
        let type = composite(of: 25, in: &types)
        #expect(types.decode(type, "()") == DecodedValue(value: #"{"a":null}"#))
    }

    @Test func manyBracesAreTooDeepAndNotACrash() {
        let types = TestTypes()
        let text = String(repeating: "{", count: 100_000)
        #expect(types.decode(1007, text) == DecodedValue(value: .null, reason: .nestedTooDeep))
    }

    @Test func flippedBytesNeverTrap() {
        var types = TestTypes()
        let pair = types.add("pair", .composite([.init(name: "x", type: 1007), .init(name: "y", type: 25)]))
        types.add("int4range", .range(of: 23), builtIn: 3904)
        let multirange = types.add("int4multirange", .multirange(of: 3904))
        let examples: [(PostgresOID, String)] = [
            (pair, #"("{1,2}","a ""b"" \\ c")"#), (pair.array, #"{"(\"{1,2}\",\"a b\")",NULL}"#),
            (1007, "[0:1]={1,2}"), (1009, #"{a,"b\"c",NULL}"#), (3904, "[1,5)"), (multirange, "{[1,3),(5,)}"),
            (1184, "2024-03-01 12:00:00.5+05:30:15 BC"), (1083, "10:42:00.5"), (17, "\\x00ff"), (17, "a\\001"),
            (701, "-1.5e+10"), (20, "-9223372036854775808"), (628, "{1,2,3}"), (3220, "16/B374D848"), (16, "t"),
        ]
        var random = SeededGenerator(seed: 22)
        for _ in 0..<20_000 {
            let (type, text) = examples[random.number(below: examples.count)]
            var bytes = Array(text.utf8)
            for _ in 0...random.number(below: 2) {
                let mark = Array("{}()[]\",\\:=-+.0 9xN\0ü".utf8)
                bytes[random.number(below: bytes.count)] = mark[random.number(below: mark.count)]
            }
            if random.number(below: 3) == 0 { bytes.removeLast(random.number(below: bytes.count)) }
            _ = types.decode(type, String(decoding: bytes, as: UTF8.self))
        }
    }
}

import PowerSyncProtocol
import PowerSyncSyncConfig
import PowerSyncServicePostgres
import Testing

/// The values that have no parts (docs/postgres.md "Types").
@Suite struct ScalarValueTests {
    struct Case: CustomTestStringConvertible {
        var type: PostgresOID
        var text: String
        var value: SQLValue

        init(_ type: PostgresOID, _ text: String, _ value: SQLValue) {
            self.type = type
            self.text = text
            self.value = value
        }

        var testDescription: String { "\(type) \(text)" }
    }

    static let numbers: [Case] = [
        Case(16, "t", 1), Case(16, "f", 0),
        Case(21, "-32768", -32768), Case(23, "2147483647", 2_147_483_647), Case(26, "4294967295", 4_294_967_295),
        Case(20, "9007199254740993", 9_007_199_254_740_993), Case(20, "-9223372036854775808", .integer(.min)),
        Case(20, "9223372036854775807", .integer(.max)), Case(20, "0", 0),
        Case(701, "3", 3.0), Case(701, "0.1", 0.1), Case(700, "0.1", 0.1), Case(701, "1e+300", 1e300),
        Case(701, "-0", .real(-0.0)), Case(701, "5e-324", .real(.leastNonzeroMagnitude)),
        Case(701, "1.7976931348623157e+308", .real(.greatestFiniteMagnitude)),
        Case(701, "Infinity", .real(.infinity)), Case(701, "-Infinity", .real(-.infinity)), Case(700, "NaN", nil),
        Case(1700, "12.50", "12.50"), Case(1700, "NaN", "NaN"), Case(1700, "Infinity", "Infinity"),
        Case(1700, "123456789012345678901234567890.1234567890", "123456789012345678901234567890.1234567890"),
        Case(790, "$12.50", "$12.50"),
    ]

    static let texts: [Case] = [
        Case(25, "", ""), Case(25, "a \"b\" \\ 🥖\u{301}", "a \"b\" \\ 🥖\u{301}"), Case(1043, "varchar", "varchar"),
        Case(1042, "ab   ", "ab   "), Case(19, "name", "name"), Case(25, "NULL", "NULL"),
        Case(2950, "0a0b0c0d-0000-4000-8000-00000000ffff", "0a0b0c0d-0000-4000-8000-00000000ffff"),
        Case(114, "{ \"a\" : 1 }", "{ \"a\" : 1 }"), Case(3802, "{\"a\": 1.50}", "{\"a\": 1.50}"),
        Case(1186, "1 year 2 mons -3 days +04:05:06.7", "1 year 2 mons -3 days +04:05:06.7"),
        Case(869, "10.0.0.1/8", "10.0.0.1/8"), Case(650, "10.0.0.0/8", "10.0.0.0/8"),
        Case(829, "08:00:2b:01:02:03", "08:00:2b:01:02:03"), Case(1560, "101", "101"), Case(1562, "1", "1"),
        Case(142, "<a/>", "<a/>"), Case(3614, "'a':1 'b':2", "'a':1 'b':2"),
        Case(600, "(1,2)", "(1,2)"), Case(603, "(3,4),(1,2)", "(3,4),(1,2)"),
        Case(604, "((0,0),(1,1))", "((0,0),(1,1))"),
        Case(718, "<(1,2),3>", "<(1,2),3>"), Case(628, "{1,-1,0}", "[1.0,-1.0,0.0]"),
        Case(628, "{0.5,NaN,1e+20}", "[0.5,null,100000000000000000000.0]"),
        Case(3220, "16/B374D848", "00000016/B374D848"), Case(3220, "0/0", "00000000/00000000"),
        // Types that are not known: regclass, an int2vector, something of an extension.
        Case(2205, "lists", "lists"), Case(22, "1 2 3", "1 2 3"), Case(99_999, "{x}", "{x}"),
    ]

    static let bytes: [Case] = [
        Case(17, "\\x", .blob([])), Case(17, "\\x00ff61", .blob([0, 255, 97])),
        Case(17, "\\xABcd", .blob([0xab, 0xcd])),
        // `bytea_output` is set on every connection; a proxy may lose it.
        Case(17, "", .blob([])), Case(17, "a\\000\\377b\\\\", .blob([97, 0, 255, 98, 92])),
    ]

    @Test(arguments: numbers + texts + bytes)
    func valuesOfBuiltInTypes(_ example: Case) {
        let types = TestTypes()
        #expect(types.decode(example.type, example.text) == DecodedValue(value: example.value))
        // None of these depends on options.
        #expect(types.decode(example.type, example.text, .legacy) == DecodedValue(value: example.value))
    }

    @Test(
        arguments: [
            (16, "true"), (16, ""), (23, ""), (23, "-"), (23, "1.5"), (23, "+1"), (23, " 1"), (23, "0x10"),
            (20, "9223372036854775808"), (20, "-9223372036854775809"), (20, "99999999999999999999999"),
            (701, ""), (701, "inf"), (701, "0x1p3"), (701, "1,5"), (701, "nan"), (701, "--1"),
            (17, "\\x0"), (17, "\\x0g"), (17, "a\\"), (17, "\\00"), (17, "\\400"), (17, "\\088"),
            (3220, "x"), (3220, ""), (1083, "10:42"), (1083, "25:00:00"), (1083, ""), (1083, "10:42:00x"),
            (1083, "10:42:00."), (1083, "10:60:00"),
            (1114, ""), (1114, "2024-03-01"), (1114, "2024-03-01T12:00:00"), (1114, "2024-13-01 12:00:00"),
            (1114, "2024-03-00 12:00:00"), (1114, "2024-03-32 12:00:00"), (1114, "99999999-03-01 12:00:00"),
            (1114, "2024-03-01 12:00:00+00"), (1114, "2024-3-1 12:00:00"), (1114, "24-03-01 12:00:00"),
            (1114, "01.03.2024 12:00:00"), (1184, "2024-03-01 12:00:00"), (1184, "2024-03-01 12:00:00 IST"),
            (1184, "2024-03-01 12:00:00+1"), (1184, "2024-03-01 12:00:00+00:60"), (1184, "2024-03-01 12:00:00+00 AD"),
        ] as [(PostgresOID, String)]
    )
    func whatPostgreSQLDoesNotPrintIsNull(type: PostgresOID, text: String) {
        #expect(TestTypes().decode(type, text) == DecodedValue(value: .null, reason: .unreadable))
    }

    @Test func problemsNameTypeAndReasonWithoutTheValue() {
        let decoder = PostgresValueDecoder(23, in: PostgresTypeRegistry(), options: SourceValueOptions())
        var problem: PostgresValueProblem?
        _ = ByteView.of("secret") { decoder.value(of: $0, problem: &problem) }
        #expect(problem?.type == "int4")
        #expect(problem?.description.contains("int4") == true)
        #expect(problem?.description.contains("secret") == false)
        #expect(problem?.code == nil)
        _ = ByteView.of("1") { decoder.value(of: $0, problem: &problem) }
        #expect(problem?.reason == .unreadable, "a value without a problem leaves it as it is")
    }

    @Test func enumsAreTheirLabels() {
        var types = TestTypes()
        let mood = types.add("mood", .enumeration)
        #expect(types.decode(mood, "so so") == DecodedValue(value: "so so"))
        #expect(types.decode(mood, "so so", .legacy) == DecodedValue(value: "so so"))
    }

    @Test func typesOfExtensionsAreTheirTexts() {
        var types = TestTypes()
        let geometry = types.add("geometry", .base)
        #expect(
            types.decode(geometry, "0101000000000000000000F03F")
                == DecodedValue(value: "0101000000000000000000F03F")
        )
    }

    @Test(arguments: [SourceValueOptions(), .rawCustomTypes, .legacy])
    func domainsAreWhatTheyAreOver(options: SourceValueOptions) {
        var types = TestTypes()
        let cases: [(PostgresOID, String)] = [
            (16, "t"), (20, "7"), (17, "\\x01"), (1007, "{1,2}"), (1184, "2024-03-01 12:00:00+00"), (1082, "infinity"),
        ]
        for (base, text) in cases {
            let domain = types.add("domain", .domain(over: base))
            let outer = types.add("outer", .domain(over: domain))
            #expect(types.decode(domain, text, options) == types.decode(base, text, options))
            #expect(types.decode(outer, text, options) == types.decode(base, text, options))
        }
    }

    @Test func aTypeThatContainsItselfDoesNoHarm() {
        var types = TestTypes()
        let domain = types.add("loop", .domain(over: 20_000))
        #expect(types.decode(domain, "x") == DecodedValue(value: "x"))
        let array = types.add("list", .array(of: 20_002, delimiter: UInt8(ascii: ",")))
        #expect(types.decode(array, "{}") == DecodedValue(value: "[]"))
    }
}

import PowerSyncSyncConfig
import PowerSyncServicePostgres
import Testing

/// Dates and times with all options (docs/postgres.md "Types").
@Suite struct TimeValueTests {
    struct Case: CustomTestStringConvertible {
        var type: PostgresOID
        var text: String
        var iso: String?
        var legacy: String?

        init(_ type: PostgresOID, _ text: String, iso: String?, legacy: String?) {
            self.type = type
            self.text = text
            self.iso = iso
            self.legacy = legacy
        }

        var testDescription: String { text }
    }

    private static let timestamp: PostgresOID = 1114
    private static let timestamptz: PostgresOID = 1184

    static let cases: [Case] = [
        Case(
            timestamptz,
            "2024-03-01 12:00:00.5+02",
            iso: "2024-03-01T10:00:00.500000Z",
            legacy: "2024-03-01 10:00:00.5Z"
        ),
        Case(timestamptz, "2024-03-01 12:00:00+00", iso: "2024-03-01T12:00:00.000000Z", legacy: "2024-03-01 12:00:00Z"),
        Case(
            timestamptz,
            "2024-03-01 12:00:00.123456+00",
            iso: "2024-03-01T12:00:00.123456Z",
            legacy: "2024-03-01 12:00:00.123456Z"
        ),
        Case(
            timestamptz,
            "2024-03-01 12:00:00+05:30:15",
            iso: "2024-03-01T06:29:45.000000Z",
            legacy: "2024-03-01 06:29:45Z"
        ),
        Case(
            timestamptz,
            "2024-03-01 12:00:00-03:30:15",
            iso: "2024-03-01T15:30:15.000000Z",
            legacy: "2024-03-01 15:30:15Z"
        ),
        // Over the ends of days, months, years and Februaries.
        Case(
            timestamptz,
            "2024-03-01 01:00:00+05:30",
            iso: "2024-02-29T19:30:00.000000Z",
            legacy: "2024-02-29 19:30:00Z"
        ),
        Case(
            timestamptz,
            "2023-03-01 01:00:00+05:30",
            iso: "2023-02-28T19:30:00.000000Z",
            legacy: "2023-02-28 19:30:00Z"
        ),
        Case(timestamptz, "1900-03-01 00:00:00+01", iso: "1900-02-28T23:00:00.000000Z", legacy: "1900-02-28 23:00:00Z"),
        Case(timestamptz, "2000-02-28 23:30:00-01", iso: "2000-02-29T00:30:00.000000Z", legacy: "2000-02-29 00:30:00Z"),
        Case(
            timestamptz,
            "2023-12-31 23:59:59.9-00:00:01",
            iso: "2024-01-01T00:00:00.900000Z",
            legacy: "2024-01-01 00:00:00.9Z"
        ),
        Case(timestamptz, "2024-01-01 00:00:00+14", iso: "2023-12-31T10:00:00.000000Z", legacy: "2023-12-31 10:00:00Z"),
        Case(
            timestamptz,
            "1883-06-01 00:00:00+05:53:28",
            iso: "1883-05-31T18:06:32.000000Z",
            legacy: "1883-05-31 18:06:32Z"
        ),
        Case(timestamptz, "infinity", iso: "9999-12-31T23:59:59.000000Z", legacy: "9999-12-31 23:59:59Z"),
        Case(timestamptz, "-infinity", iso: "0000-01-01T00:00:00.000000Z", legacy: "0000-01-01 00:00:00Z"),
        Case(timestamptz, "0001-01-01 00:00:00+00", iso: "0001-01-01T00:00:00.000000Z", legacy: "0001-01-01 00:00:00Z"),
        Case(
            timestamptz,
            "9999-12-31 23:59:59.999999+00",
            iso: "9999-12-31T23:59:59.999999Z",
            legacy: "9999-12-31 23:59:59.999999Z"
        ),
        Case(timestamptz, "10022-09-08 21:19:28+00", iso: nil, legacy: nil),
        Case(timestamptz, "9999-12-31 23:59:59-01", iso: nil, legacy: nil),
        Case(timestamptz, "0001-01-01 00:00:00+01", iso: nil, legacy: nil),
        Case(timestamptz, "0044-03-15 12:00:00+00 BC", iso: nil, legacy: nil),
        Case(timestamp, "2024-03-01 12:00:00.5", iso: "2024-03-01T12:00:00.500000", legacy: "2024-03-01 12:00:00.5"),
        Case(timestamp, "2024-03-01 12:00:00", iso: "2024-03-01T12:00:00.000000", legacy: "2024-03-01 12:00:00"),
        Case(timestamp, "10022-09-08 21:19:28", iso: "10022-09-08T21:19:28.000000", legacy: "10022-09-08 21:19:28"),
        Case(
            timestamp,
            "294276-12-31 23:59:59.999999",
            iso: "294276-12-31T23:59:59.999999",
            legacy: "294276-12-31 23:59:59.999999"
        ),
        Case(timestamp, "0044-03-15 12:00:00 BC", iso: nil, legacy: nil),
        Case(timestamp, "4713-01-01 00:00:00 BC", iso: nil, legacy: nil),
        Case(timestamp, "infinity", iso: "9999-12-31T23:59:59.000000", legacy: "9999-12-31 23:59:59"),
        Case(timestamp, "-infinity", iso: "0000-01-01T00:00:00.000000", legacy: "0000-01-01 00:00:00"),
        Case(1082, "2024-03-01", iso: "2024-03-01", legacy: "2024-03-01"),
        Case(1082, "infinity", iso: "9999-12-31", legacy: "9999-12-31"),
        Case(1082, "-infinity", iso: "0000-01-01", legacy: "0000-01-01"),
        Case(1082, "0044-03-15 BC", iso: "0044-03-15 BC", legacy: "0044-03-15 BC"),
        Case(1082, "10022-09-08", iso: "10022-09-08", legacy: "10022-09-08"),
        Case(1083, "10:42:00", iso: "10:42:00.000000", legacy: "10:42:00"),
        Case(1083, "10:42:00.5", iso: "10:42:00.500000", legacy: "10:42:00.5"),
        Case(1083, "24:00:00", iso: "24:00:00.000000", legacy: "24:00:00"),
        Case(1266, "10:42:00.5+02", iso: "10:42:00.5+02", legacy: "10:42:00.5+02"),
    ]

    private static func expected(_ text: String?) -> DecodedValue {
        text.map { DecodedValue(value: .text($0)) } ?? DecodedValue(value: .null, reason: .yearOutOfRange)
    }

    @Test(arguments: cases)
    func timesInBothForms(_ example: Case) {
        let types = TestTypes()
        #expect(types.decode(example.type, example.text) == Self.expected(example.iso))
        #expect(types.decode(example.type, example.text, .legacy) == Self.expected(example.legacy))
    }

    @Test(
        arguments: [
            (.seconds, ""), (.milliseconds, ".123"), (.microseconds, ".123987"), (.nanoseconds, ".123987"),
        ] as [(SourceValueOptions.TimestampPrecision, String)]
    )
    func fractionsAreCutAndNotRounded(precision: SourceValueOptions.TimestampPrecision, fraction: String) {
        let types = TestTypes()
        let options = SourceValueOptions.precision(precision)
        let zeros = fraction.isEmpty ? "" : "." + String(repeating: "0", count: fraction.count - 1)
        let cases: [(PostgresOID, String, String)] = [
            (1184, "2024-03-01 12:00:00.123987+00", "2024-03-01T12:00:00\(fraction)Z"),
            (1184, "2024-03-01 12:00:00+00", "2024-03-01T12:00:00\(zeros)Z"),
            (1184, "infinity", "9999-12-31T23:59:59\(zeros)Z"),
            (1184, "-infinity", "0000-01-01T00:00:00\(zeros)Z"),
            (1114, "2024-03-01 12:00:00.123987", "2024-03-01T12:00:00\(fraction)"),
            (1114, "infinity", "9999-12-31T23:59:59\(zeros)"),
            (1083, "12:00:00.123987", "12:00:00\(fraction)"),
        ]
        for (type, text, value) in cases {
            #expect(types.decode(type, text, options) == DecodedValue(value: .text(value)))
        }
    }

    @Test func timesInsideOfArraysHaveTheSameForms() {
        let types = TestTypes()
        let text = #"{"2024-03-01 12:00:00.5+00",infinity,NULL}"#
        #expect(
            types.decode(1185, text)
                == DecodedValue(value: #"["2024-03-01T12:00:00.500000Z","9999-12-31T23:59:59.000000Z",null]"#)
        )
        #expect(
            types.decode(1185, text, .legacy)
                == DecodedValue(value: #"["2024-03-01 12:00:00.5Z","9999-12-31 23:59:59Z",null]"#)
        )
        for options in [SourceValueOptions(), .legacy] {
            #expect(
                types.decode(1185, #"{"0044-03-15 12:00:00+00 BC","10022-09-08 21:19:28+00"}"#, options)
                    == DecodedValue(value: "[null,null]", reason: .yearOutOfRange)
            )
        }
        #expect(types.decode(1182, "{infinity,2024-03-01}") == DecodedValue(value: #"["9999-12-31","2024-03-01"]"#))
        #expect(types.decode(1183, "{10:42:00}") == DecodedValue(value: #"["10:42:00.000000"]"#))
    }
}

import MySQLBinlog
import PowerSyncProtocol
import PowerSyncSyncConfig
import Testing

@testable import PowerSyncServiceMySQL

/// What clients and keys have of the cells of a server.
@Suite struct MySQLValueFormTests {
    private func form(_ precision: SourceValueOptions.TimestampPrecision? = nil, iso: Bool = true) -> MySQLValueForm {
        var options = SourceValueOptions()
        options.timestampsISO8601 = iso
        options.timestampMaximumPrecision = precision
        return MySQLValueForm(options)
    }

    private static func time(
        _ year: Int,
        _ month: Int,
        _ day: Int,
        _ hour: Int = 0,
        _ minute: Int = 0,
        _ second: Int = 0,
        _ microsecond: Int = 0,
        digits: Int = 0
    ) -> MySQLCell {
        .dateTime(
            MySQLDateTime(
                date: MySQLDate(year: year, month: month, day: day),
                hour: hour,
                minute: minute,
                second: second,
                microsecond: microsecond,
                digits: digits
            )
        )
    }

    @Test(arguments: [
        (MySQLCell.null, SQLValue.null), (.integer(-7), .integer(-7)), (.unsigned(UInt64.max), "18446744073709551615"),
        (.unsigned(1 << 63), "9223372036854775808"), (.float(3.14), .real(3.14)),
        (.float(16_777_216), .real(16_777_216)),
        (.float(1e38), .real(1e38)), (.float(123_456.7), .real(123456.7)), (.double(0.1), .real(0.1)),
        (.double(.leastNonzeroMagnitude), .real(.leastNonzeroMagnitude)), (.decimal("12.50"), "12.50"),
        (.text("ä"), "ä"), (.label(""), ""),
        (.labels([]), "[]"), (.labels(["a", "c"]), #"["a","c"]"#), (.labels(["\"", "\\"]), #"["\"","\\"]"#),
        (.bytes([0, 255]), .blob([0, 255])), (.json(#"{"a": 1.0}"#), #"{"a": 1.0}"#),
        (.date(MySQLDate(year: 2024, month: 2, day: 29)), "2024-02-29"),
        (
            .time(MySQLTime(isNegative: true, hours: 838, minutes: 59, seconds: 58, microseconds: 990_000, digits: 2)),
            "-838:59:58.99"
        ),
    ])
    func aCellHasAValue(_ cell: MySQLCell, _ value: SQLValue) {
        #expect(form().value(of: cell) == value)
        if case .date = cell { return }
        #expect(form().keyValue(of: cell) == value)
    }

    @Test func zeroHasItsSign() {
        guard case .real(let float)? = form().value(of: .float(-0.0)),
            case .real(let double)? = form().value(of: .double(-0.0))
        else { Issue.record("no numbers"); return }
        #expect(float == 0 && float.sign == .minus)
        #expect(double == 0 && double.sign == .minus)
    }

    @Test func timesHaveTheFormOfTheConfig() {
        let precise = Self.time(2023, 3, 6, 15, 47, 12, 123_456, digits: 6)
        #expect(form().value(of: precise) == "2023-03-06T15:47:12.123Z")
        #expect(form(.milliseconds).value(of: precise) == "2023-03-06T15:47:12.123Z")
        #expect(form(.microseconds).value(of: precise) == "2023-03-06T15:47:12.123456Z")
        #expect(form(.nanoseconds).value(of: precise) == "2023-03-06T15:47:12.123456Z")
        #expect(form(.seconds).value(of: precise) == "2023-03-06T15:47:12Z")
        for precision in [nil, SourceValueOptions.TimestampPrecision.seconds, .microseconds] {
            #expect(form(precision, iso: false).value(of: precise) == "2023-03-06T15:47:12.123Z")
        }
        #expect(form(.microseconds).value(of: Self.time(2023, 3, 6, 15, 47)) == "2023-03-06T15:47:00.000000Z")
        #expect(form().value(of: Self.time(1970, 1, 1, 0, 0, 1)) == "1970-01-01T00:00:01.000Z")
        let last = Self.time(9999, 12, 31, 23, 59, 59, 999_000, digits: 3)
        #expect(form(.microseconds).value(of: last) == "9999-12-31T23:59:59.999000Z")
        #expect(form().value(of: Self.time(0, 1, 1)) == "0000-01-01T00:00:00.000Z")
    }

    @Test(arguments: [
        (0, 0, 0), (2024, 0, 0), (2024, 1, 0), (2024, 2, 31), (2023, 2, 29), (1900, 2, 29), (2024, 4, 31),
        (2024, 13, 1),
    ])
    func datesThatDoNotExistAreNullAndKeysAllTheSame(_ year: Int, _ month: Int, _ day: Int) {
        let date = MySQLDate(year: year, month: month, day: day)
        #expect(form().value(of: .date(date)) == .null)
        #expect(form().value(of: Self.time(year, month, day, 1)) == .null)
        #expect(form().keyValue(of: .date(date)) == .text(date.description))
        #expect(form().keyValue(of: Self.time(year, month, day, 1)) == .text("\(date) 01:00:00"))
    }

    @Test func leapYearsHaveADayMore() {
        for year in [0, 2000, 2024] {
            #expect(form().value(of: .date(MySQLDate(year: year, month: 2, day: 29))) != .null)
        }
    }

    @Test func keysHaveAllDigits() {
        let (one, other) = (
            Self.time(2024, 1, 1, 0, 0, 0, 123_456, digits: 6), Self.time(2024, 1, 1, 0, 0, 0, 123_457, digits: 6)
        )
        #expect(form().value(of: one) == form().value(of: other))
        #expect(form().keyValue(of: one) == "2024-01-01 00:00:00.123456")
        #expect(form().keyValue(of: other) == "2024-01-01 00:00:00.123457")
        #expect(form(.seconds, iso: false).keyValue(of: one) == form().keyValue(of: one))
    }

    @Test func whatHasToBeReadHasNoValue() {
        for cell in [DeferredCell.differences, .form, .text([0x80], charset: "gbk")] {
            #expect(form().value(of: .deferred(cell)) == nil)
            #expect(form().keyValue(of: .deferred(cell)) == nil)
        }
    }
}

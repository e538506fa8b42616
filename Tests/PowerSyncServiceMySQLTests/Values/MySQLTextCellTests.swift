import MySQLBinlog
import NIOCore
import Testing

@testable import PowerSyncServiceMySQL

/// Cells of what queries answer.
@Suite struct MySQLTextCellTests {
    private func cell(_ text: String, _ kind: MySQLColumnType.Kind) -> MySQLCell? {
        MySQLTextCell.cell(ByteBuffer(string: text), MySQLColumnType(kind))
    }

    @Test func nullIsNull() {
        for kind in [MySQLColumnType.Kind.integer(bytes: 4), .text, .json, .set(["a"])] {
            #expect(MySQLTextCell.cell(nil, MySQLColumnType(kind)) == .null)
        }
    }

    @Test func numbersAreRead() {
        #expect(cell("-9223372036854775808", .integer(bytes: 8)) == .integer(.min))
        #expect(cell("18446744073709551615", .integer(bytes: 8)) == .unsigned(.max))
        #expect(cell("00042", .integer(bytes: 4)) == .integer(42))
        #expect(cell("2155", .year) == .integer(2155))
        #expect(cell("0000", .year) == .integer(0))
        #expect(cell("3.140000104904175", .float) == .float(3.14))
        #expect(cell("16777216", .float) == .float(16_777_216))
        #expect(cell("1.7976931348623157e308", .double) == .double(1.7976931348623157e308))
        #expect(cell("x", .integer(bytes: 4)) == nil)
    }

    @Test(arguments: [
        ("12.50", "12.50"), ("-0.0001", "-0.0001"), ("0.0000", "0.0000"), ("00012.50", "12.50"), ("0000.50", "0.50"),
        ("000", "0"),
    ])
    func decimalsHaveNoZerosBeforeThem(_ text: String, _ digits: String) {
        #expect(cell(text, .decimal(precision: 10, scale: 4)) == .decimal(digits))
    }

    @Test func timesHaveTheDigitsOfTheColumn() {
        #expect(cell("2024-02-31", .date) == .date(MySQLDate(year: 2024, month: 2, day: 31)))
        let time = MySQLDateTime(
            date: MySQLDate(year: 2024, month: 1, day: 2),
            hour: 3,
            minute: 4,
            second: 5,
            microsecond: 120_000,
            digits: 2
        )
        #expect(cell("2024-01-02 03:04:05.12", .dateTime(digits: 2)) == .dateTime(time))
        #expect(cell("2024-01-02 03:04:05.12", .timestamp(digits: 2)) == .dateTime(time))
        #expect(cell("2024-01-02 03:04:05.12", .dateTime(digits: 3)) == nil)
        #expect(cell("2024-01-02 03:04:05", .dateTime(digits: 0)).map { "\($0)".contains("2024") } == true)
        let negative = MySQLTime(isNegative: true, hours: 0, minutes: 0, seconds: 0, microseconds: 10_000, digits: 2)
        #expect(cell("-00:00:00.01", .time(digits: 2)) == .time(negative))
        #expect(cell("838:59:59", .time(digits: 0)) == .time(MySQLTime(hours: 838, minutes: 59, seconds: 59)))
        for text in ["", "2024-01", "2024-01-02 03:04", "24-01-02", "2024-01-02x"] { #expect(cell(text, .date) == nil) }
    }

    @Test func setsAreTheirBits() {
        let labels = (0..<64).map { "l\($0)" }
        #expect(cell("0", .set(labels)) == .labels([]))
        #expect(cell("5", .set(labels)) == .labels(["l0", "l2"]))
        #expect(cell("18446744073709551615", .set(labels)) == .labels(labels))
        #expect(cell("1", .set(["", "a"])) == .labels([""]))
    }

    @Test func aFloatIsAskedForAsADouble() {
        #expect(MySQLTextCell.selected("`a`", MySQLColumnType(.float)) == "(`a` * 1e0)")
        #expect(MySQLTextCell.selected("`a`", MySQLColumnType(.double)) == "`a`")
    }
}

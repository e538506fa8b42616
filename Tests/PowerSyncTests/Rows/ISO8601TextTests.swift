import Foundation
@testable import PowerSyncClient
import TestSupport
import Testing

@Suite struct ISO8601TextTests {
    static let texts: [(String, TimeInterval)] = [
        ("1970-01-01", 0), ("1970-01-01T00:00:00Z", 0), ("1969-12-31 23:59:59.5", -0.5),
        ("2000-02-29T12:00", 951_825_600), ("2026-11-22T18:44:46.123456Z", 1_795_373_086.123456),
        ("2026-11-22 18:44:46+00", 1_795_373_086), ("2026-11-22t18:44:46z", 1_795_373_086),
        ("2026-11-22T18:44:46-0130", 1_795_378_486), ("2026-11-22T18:44:46+14:00", 1_795_322_686),
        ("2026-11-22T18:44:46.1234567891234Z", 1_795_373_086.123456789), ("0000-01-01", -62_167_219_200),
        ("9999-12-31T23:59:59Z", 253_402_300_799),
    ]

    @Test(arguments: texts)
    func datesAreRead(_ text: String, _ seconds: TimeInterval) {
        #expect(ISO8601Text.date(text).map { abs($0.timeIntervalSince1970 - seconds) < 0.000_001 } == true)
    }

    @Test(arguments: [
        "", "2026", "2026-1-01", "2026-13-01", "2026-00-01", "2026-01-00", "2026-02-29", "1900-02-29", "2026-04-31",
        "2026-01-01T", "2026-01-01T24:00", "2026-01-01T00:60", "2026-01-01T00:00:60", "2026-01-01T00:00:00.",
        "2026-01-01T00:00:00+", "2026-01-01T00:00:00+1", "2026-01-01T00:00:00+01:", "2026-01-01T00:00:00Zx",
        " 2026-01-01", "2026-01-01 ", "2026-01-01x", "-026-01-01", "12026-01-01", "2026-01-01T00:00:00+24:00",
        "1700000000",
    ])
    func everythingElseIsNoDate(_ text: String) {
        #expect(ISO8601Text.date(text) == nil)
    }

    @Test(
        arguments: [
            (0, "1970-01-01T00:00:00.000000Z"), (-0.25, "1969-12-31T23:59:59.750000Z"),
            (951_782_400, "2000-02-29T00:00:00.000000Z"), (-62_167_219_200, "0000-01-01T00:00:00.000000Z"),
            (253_402_300_799, "9999-12-31T23:59:59.000000Z"),
        ] as [(TimeInterval, String)]
    )
    func datesAreWritten(_ seconds: TimeInterval, _ text: String) {
        #expect(ISO8601Text.text(Date(timeIntervalSince1970: seconds)) == text)
    }

    /// What is nearer to the next second than to the last microsecond before it.
    @Test(arguments: [(0.999_999_9, "2001-01-01T00:00:01.000000Z"), (-0.000_000_1, "2001-01-01T00:00:00.000000Z")])
    func theNextSecondHasNoFraction(_ seconds: TimeInterval, _ text: String) {
        #expect(ISO8601Text.text(Date(timeIntervalSinceReferenceDate: seconds)) == text)
    }

    @Test(arguments: [-62_167_219_201, 253_402_300_800, .nan, .infinity, -.infinity, 1e300] as [TimeInterval])
    func yearsHaveFourDigits(_ seconds: TimeInterval) {
        #expect(ISO8601Text.text(Date(timeIntervalSince1970: seconds)) == nil)
    }

    /// A double of this size is an integer of 64 bits whose magnitude is none.
    @Test func theEarliestDateIsOutOfRange() {
        let date = Date(timeIntervalSinceReferenceDate: Double(Int64.min))
        #expect(ISO8601Text.text(date) == nil)
        let mismatch = #expect(throws: StoredValue.Mismatch.self) { try EncodedValue.date(date, RowFormat()) }
        #expect(mismatch?.code == .outOfRange)
    }

    @Test func whatIsWrittenIsReadAndWrittenTheSame() throws {
        let seed = UInt64.random(in: 0...UInt64.max)
        print("seed", seed)
        var random = SeededGenerator(seed: seed)
        let format = Date.ISO8601FormatStyle(includingFractionalSeconds: false)
        for _ in 0..<5_000 {
            let date = Date(timeIntervalSince1970: .random(in: -4_000_000_000...6_000_000_000, using: &random))
            let text = try #require(ISO8601Text.text(date))
            let read = try #require(ISO8601Text.date(text))
            #expect(abs(read.timeIntervalSince(date)) < 0.000_001)
            #expect(ISO8601Text.text(read) == text)
            // Foundation's calendar agrees about the second.
            let seconds = TimeInterval(Int64.random(in: -12_000_000_000...253_402_300_799, using: &random))
            let whole = Date(timeIntervalSince1970: seconds)
            #expect(ISO8601Text.text(whole)?.prefix(19) == format.format(whole).prefix(19))
        }
    }

    @Test(arguments: ["0", "-12.50", "+1", ".5", "1e-7", "1E+3", "12345678901234567890.123456789"])
    func decimalsAreRead(_ text: String) {
        #expect(DecimalText(text)?.decimal != nil)
    }

    @Test(arguments: ["", "-", ".", "1e", "1 ", " 1", "1,5", "0x10", "NaN", "inf", "1.2.3", "1e999"])
    func everythingElseIsNoDecimal(_ text: String) {
        #expect(DecimalText(text)?.decimal == nil)
    }
}

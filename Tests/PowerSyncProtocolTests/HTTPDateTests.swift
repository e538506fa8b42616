import Foundation
import TestSupport
import Testing

@testable import PowerSyncProtocol

@Suite struct HTTPDateTests {
    /// 2026-11-28.
    private static let now: Int64 = 1_795_824_000

    @Test(
        arguments: [
            "Sun, 06 Nov 1994 08:49:37 GMT", "Sun, 6 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT",
            "Sun Nov  6 08:49:37 1994", "Sun Nov 06 08:49:37 1994", "Mon, 06 Nov 1994 08:49:37 GMT",
        ]
    )
    func theThreeFormsAreTheSameDate(text: String) {
        #expect(HTTPDate(text, now: Self.now)?.seconds == 784_111_777)
    }

    @Test(
        arguments: [
            "", "soon", "784111777", "1994-11-06T08:49:37Z", "Sun, 06 Nov 1994 08:49:37",
            "Sun, 06 Nov 1994 08:49:37 CET",
            "06 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 94 08:49:37 GMT", "Sunday, 06-Nov-1994 08:49:37 GMT",
            "Sun, 31 Nov 1994 08:49:37 GMT", "Sun, 00 Nov 1994 08:49:37 GMT", "Sun, 06 Foo 1994 08:49:37 GMT",
            "Sun, 06 Nov 1994 24:00:00 GMT", "Sun, 06 Nov 1994 08:60:37 GMT", "Sun, 06 Nov 1994 08:49 GMT",
            "Sun, 29 Feb 2100 08:49:37 GMT", "Sun, -6 Nov 1994 08:49:37 GMT", "Sun, ٠٦ Nov 1994 08:49:37 GMT",
            "Sun, 6 8:49:37 1994", "Sun--Nov  6 08:49:37 GMT", ", - - GMT", "Sun, 06-Nov 08:49:37 GMT",
        ]
    )
    func whatIsNoDateIsNone(text: String) {
        #expect(HTTPDate(text, now: Self.now) == nil)
    }

    @Test(arguments: [("76", 2076), ("77", 1977), ("99", 1999), ("00", 2000), ("26", 2026), ("70", 2070)])
    func aYearOfTwoDigitsIsNotFarAhead(digits: String, year: Int) {
        let date = HTTPDate("Monday, 01-Jan-\(digits) 00:00:00 GMT", now: Self.now)
        #expect(date == HTTPDate("Mon, 01 Jan \(year) 00:00:00 GMT", now: Self.now))
        #expect(date != nil)
    }

    @Test
    func everyFormOfRandomDatesAsTheCalendarOfFoundationHasThem() throws {
        let seed = UInt64.random(in: .min ... .max)
        var random = SeededGenerator(seed: seed)
        let formatter = DateFormatter()
        formatter.locale = Locale(identifier: "en_US_POSIX")
        formatter.timeZone = TimeZone(identifier: "GMT")
        for _ in 0..<500 {
            // From 1980 to 2075, as long as years of two digits mean these.
            let seconds = Int64.random(in: 315_532_800...3_345_062_400, using: &random)
            let date = Date(timeIntervalSince1970: TimeInterval(seconds))
            for format in [
                "EEE, dd MMM yyyy HH:mm:ss 'GMT'", "EEEE, dd-MMM-yy HH:mm:ss 'GMT'", "EEE MMM d HH:mm:ss yyyy",
            ] {
                formatter.dateFormat = format
                let text = formatter.string(from: date)
                #expect(HTTPDate(text, now: Self.now)?.seconds == seconds, "\(text), seed \(seed)")
            }
        }
    }
}

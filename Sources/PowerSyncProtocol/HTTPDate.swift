/// A date in a header of HTTP, such as `Date` and `Retry-After`, in one of the three forms of RFC 9110, 5.6.7.
///
/// ```
/// Sun, 06 Nov 1994 08:49:37 GMT    as it is written today
/// Sunday, 06-Nov-94 08:49:37 GMT   of RFC 850: a year that seems to be more than 50 years ahead is one of the century before
/// Sun Nov  6 08:49:37 1994         of the function asctime() of C
/// ```
///
/// The day of the week says nothing that the rest does not say, and may be wrong.
package struct HTTPDate: Sendable, Equatable {
    /// Seconds since 1970.
    package let seconds: Int64

    private static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

    /// Reads a date.
    ///
    /// - Parameters:
    ///   - text: The value of a header.
    ///   - now: The present time in seconds since 1970, for years of two digits.
    package init?(_ text: String, now: Int64) {
        let words = text.split(separator: " ")
        var day: Int64?
        var month: Substring?
        var year: Int64?
        var time: Substring?
        var isShort = false
        switch words.count {
        case 6 where words[0].hasSuffix(",") && words[5] == "GMT":
            (day, month, year, time) = (Self.number(words[1]), words[2], Self.number(words[3], digits: 4), words[4])
        case 4 where words[0].hasSuffix(",") && words[3] == "GMT":
            let parts = words[1].split(separator: "-", omittingEmptySubsequences: false)
            guard parts.count == 3 else { return nil }
            (day, month, year, time) = (Self.number(parts[0]), parts[1], Self.number(parts[2], digits: 2), words[2])
            isShort = true
        case 5 where !words[0].hasSuffix(","):
            (day, month, year, time) = (Self.number(words[2]), words[1], Self.number(words[4], digits: 4), words[3])
        default: return nil
        }
        guard let day, var year, let index = Self.months.firstIndex(where: { $0[...] == month }),
            let secondsOfDay = time.flatMap(Self.secondsOfDay)
        else {
            return nil
        }
        if isShort {
            // The latest such year that is not more than 50 years ahead.
            let limit = Self.year(of: now) + 50
            year += limit - limit % 100
            if year > limit { year -= 100 }
        }
        guard (1...Self.days(in: index, of: year)).contains(day) else { return nil }
        let days = Self.days(before: year) + (0..<index).reduce(0) { $0 + Self.days(in: $1, of: year) } + day - 1
        seconds = days * 86_400 + secondsOfDay
    }

    private static func number(_ text: Substring, digits: Int? = nil) -> Int64? {
        guard digits.map({ $0 == text.utf8.count }) ?? (1...2).contains(text.utf8.count),
            text.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) })
        else {
            return nil
        }
        return Int64(text)
    }

    /// Of `08:49:37`; a leap second is the next one.
    private static func secondsOfDay(_ text: Substring) -> Int64? {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false).map { number($0, digits: 2) }
        guard parts.count == 3, let hour = parts[0], let minute = parts[1], let second = parts[2], hour < 24,
            minute < 60,
            second <= 60
        else {
            return nil
        }
        return hour * 3600 + minute * 60 + second
    }

    private static func isLeap(_ year: Int64) -> Bool { year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) }

    private static func days(in month: Int, of year: Int64) -> Int64 {
        switch month {
        case 1: isLeap(year) ? 29 : 28
        case 3, 5, 8, 10: 30
        default: 31
        }
    }

    /// Days from 1970 to the beginning of a year of our era.
    private static func days(before year: Int64) -> Int64 {
        let last = year - 1
        return last * 365 + last / 4 - last / 100 + last / 400 - 719_162
    }

    private static func year(of seconds: Int64) -> Int64 {
        let days = max(0, seconds) / 86_400
        var year = 1970 + days / 366
        while self.days(before: year + 1) <= days { year += 1 }
        return year
    }
}

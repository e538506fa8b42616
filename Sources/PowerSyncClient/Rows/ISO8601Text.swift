import Foundation

/// Dates as text: `YYYY-MM-DD`, then if wanted `T` or a space and `HH:MM`, `HH:MM:SS` or `HH:MM:SS.fraction`, then `Z`,
/// `±HH`, `±HHMM` or `±HH:MM`.
///
/// Without an offset it is UTC, as for SQLite's own functions. Years have four digits.
enum ISO8601Text {
    /// Reads a date.
    ///
    /// - Returns: `nil` for any other text, and for days and times that do not exist.
    static func date(_ text: String) -> Date? {
        var text = text
        return text.withUTF8 { bytes in
            var reader = unsafe Reader(rest: bytes[...])
            return reader.date()
        }
    }

    /// Writes a date in UTC, with six digits of seconds' fraction.
    ///
    /// - Returns: `nil` for a year below 0 or above 9999, and for what is no number.
    static func text(_ date: Date) -> String? {
        // From the year 2001, where a double is finer than from 1970.
        let interval = date.timeIntervalSinceReferenceDate
        guard var seconds = Int64(exactly: interval.rounded(.down)), seconds.magnitude < 1 << 40 else { return nil }
        var fraction = Int64(((interval - Double(seconds)) * 1_000_000).rounded())
        if fraction == 1_000_000 { (seconds, fraction) = (seconds + 1, 0) }
        let (days, time) = floored(seconds + secondsBefore2001, by: 86_400)
        let (year, month, day) = civil(days)
        guard (0...9999).contains(year) else { return nil }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(27)
        append(year, 4, to: &bytes)
        append(month, 2, after: "-", to: &bytes)
        append(day, 2, after: "-", to: &bytes)
        append(time / 3_600, 2, after: "T", to: &bytes)
        append(time / 60 % 60, 2, after: ":", to: &bytes)
        append(time % 60, 2, after: ":", to: &bytes)
        append(fraction, 6, after: ".", to: &bytes)
        bytes.append(UInt8(ascii: "Z"))
        return String(decoding: bytes, as: UTF8.self)
    }

    /// The seconds from 1970 to 2001.
    private static let secondsBefore2001: Int64 = 978_307_200

    private static func floored(_ value: Int64, by unit: Int64) -> (Int64, Int64) {
        let remainder = value % unit
        return remainder < 0 ? (value / unit - 1, remainder + unit) : (value / unit, remainder)
    }

    private static func append(
        _ value: Int64,
        _ width: Int,
        after mark: Unicode.Scalar? = nil,
        to bytes: inout [UInt8]
    ) {
        if let mark { bytes.append(UInt8(ascii: mark)) }
        let digits = String(value)
        for _ in digits.utf8.count..<max(width, digits.utf8.count) { bytes.append(UInt8(ascii: "0")) }
        bytes += digits.utf8
    }

    // Days since 1970 in the Gregorian calendar, and back. Years begin in March here, so that the leap day is the last one;
    // 400 years have 146,097 days, and day 0 of year 0 is 719,468 days before 1970.

    fileprivate static func days(_ year: Int64, _ month: Int64, _ day: Int64) -> Int64 {
        let year = month > 2 ? year : year - 1
        let (era, yearOfEra) = floored(year, by: 400)
        let dayOfYear = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1
        return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
    }

    private static func civil(_ days: Int64) -> (year: Int64, month: Int64, day: Int64) {
        let (era, dayOfEra) = floored(days + 719_468, by: 146_097)
        let yearOfEra = (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let part = (5 * dayOfYear + 2) / 153
        let month = part < 10 ? part + 3 : part - 9
        return (yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, dayOfYear - (153 * part + 2) / 5 + 1)
    }

    /// `@safe`: it takes bytes while there are some, inside the closure that lends them.
    @safe private struct Reader {
        var rest: Slice<UnsafeBufferPointer<UInt8>>

        mutating func date() -> Date? {
            guard let year = number(4), take("-"), let month = number(2), take("-"), let day = number(2),
                (1...12).contains(month), (1...Reader.length(of: month, year)).contains(day)
            else { return nil }
            var seconds = ISO8601Text.days(year, month, day) * 86_400
            var fraction = 0.0
            if unsafe !rest.isEmpty {
                guard take("T") || take("t") || take(" "), let time = time(&fraction), let offset = offset(),
                    unsafe rest.isEmpty
                else { return nil }
                seconds += time - offset
            }
            return Date(timeIntervalSinceReferenceDate: Double(seconds - ISO8601Text.secondsBefore2001) + fraction)
        }

        private mutating func time(_ fraction: inout Double) -> Int64? {
            guard let hour = number(2), take(":"), let minute = number(2), hour < 24, minute < 60 else { return nil }
            guard take(":") else { return hour * 3_600 + minute * 60 }
            guard let second = number(2), second < 60 else { return nil }
            if take(".") {
                var (value, unit, count) = (0.0, 1.0, 0)
                while let digit = digit() {
                    count += 1
                    // More digits than a date can tell apart.
                    if count <= 9 { (value, unit) = (value * 10 + Double(digit), unit * 10) }
                }
                guard count > 0 else { return nil }
                fraction = value / unit
            }
            return hour * 3_600 + minute * 60 + second
        }

        private mutating func offset() -> Int64? {
            if unsafe rest.isEmpty || take("Z") || take("z") { return 0 }
            let sign: Int64 = take("+") ? 1 : take("-") ? -1 : 0
            guard sign != 0, let hours = number(2), hours < 24 else { return nil }
            guard unsafe !rest.isEmpty else { return sign * hours * 3_600 }
            _ = take(":")
            guard let minutes = number(2), minutes < 60 else { return nil }
            return sign * (hours * 3_600 + minutes * 60)
        }

        private static func length(of month: Int64, _ year: Int64) -> Int64 {
            switch month {
            case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
            case 4, 6, 9, 11: 30
            default: 31
            }
        }

        private mutating func number(_ count: Int) -> Int64? {
            var value: Int64 = 0
            for _ in 0..<count {
                guard let digit = digit() else { return nil }
                value = value * 10 + digit
            }
            return value
        }

        private mutating func digit() -> Int64? {
            guard let byte = unsafe rest.first, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) else {
                return nil
            }
            unsafe rest = rest.dropFirst()
            return Int64(byte - UInt8(ascii: "0"))
        }

        private mutating func take(_ mark: Unicode.Scalar) -> Bool {
            guard unsafe rest.first == UInt8(ascii: mark) else { return false }
            unsafe rest = rest.dropFirst()
            return true
        }
    }
}

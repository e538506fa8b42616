/// A moment in milliseconds since 1970, as `unixepoch()` and `datetime()` read and write it
/// (docs/sync-config.md "Functions").
///
/// ```
/// 2024-02-29    2024-02-29 12:30    2024-02-29T12:30:45.678Z    2024-02-29 12:30:45+02:00       text
/// 2460370.5                                                                                     Julian day
/// ```
struct SQLTimestamp: Hashable {
    /// Milliseconds since 1970.
    private(set) var milliseconds: Int64

    /// The moments of the years 0 to 9999.
    private static let range: ClosedRange<Int64> = -62_167_219_200_000...253_402_300_799_999
    /// The first day of Julian days, in milliseconds since 1970.
    private static let firstJulianDay: Int64 = -210_866_760_000_000

    /// `unixepoch(v, …)` or `datetime(v, …)`.
    static func evaluate(_ function: PlanFunction, _ values: [SQLValue]) -> SQLValue {
        var modifiers: [DateModifier] = []
        for modifier in values.dropFirst() {
            // NULL ends the list.
            guard let text = modifier.text else { break }
            guard let modifier = DateModifier(text), modifiers.isEmpty || !modifier.isFirstOnly else { return .null }
            modifiers.append(modifier)
        }
        guard var time = SQLTimestamp(values[0], modifiers.first) else { return .null }
        for modifier in modifiers {
            guard time.apply(modifier) else { return .null }
        }
        guard range.contains(time.milliseconds) else { return .null }
        let hasFraction = modifiers.contains(.subsecond)
        if function == .datetime { return .text(time.text(hasFraction: hasFraction)) }
        return hasFraction
            ? .real(Double(time.milliseconds) / 1000) : .integer(time.milliseconds.flooredDivision(by: 1000).quotient)
    }

    /// The moment of a value; a number is what the modifier says, otherwise a Julian day.
    private init?(_ value: SQLValue, _ modifier: DateModifier?) {
        switch value {
        case .null, .blob: return nil
        case .integer(let integer): self.init(Double(integer), modifier)
        case .real(let number): self.init(number, modifier)
        case .text(let text):
            if let number = Self.plainNumber(text) {
                self.init(number, nil)
            } else {
                guard modifier != .julianday else { return nil }
                self.init(parsing: text)
            }
        }
    }

    private init?(_ number: Double, _ modifier: DateModifier?) {
        let isDay = number >= 0 && number < 5_373_484.5
        let isSeconds = modifier == .unixepoch || modifier == .auto && !isDay
        guard isSeconds || isDay else { return nil }
        let first = Double(Self.firstJulianDay)
        let distance = isSeconds ? number * 1000 - first : number * 86_400_000
        guard distance >= 0, distance < 464_269_060_800_000 else { return nil }
        milliseconds = Int64(distance + 0.5) + Self.firstJulianDay
    }

    private static func plainNumber(_ text: String) -> Double? {
        let isNumber = text.utf8.allSatisfy { byte in
            byte &- UInt8(ascii: "0") < 10 || byte == UInt8(ascii: ".") || byte == UInt8(ascii: "-")
                || byte == UInt8(ascii: "+") || byte | 0x20 == UInt8(ascii: "e")
        }
        return isNumber ? Double(text) : nil
    }
}

// MARK: - Modifiers

extension SQLTimestamp {
    /// Applies a modifier.
    ///
    /// - Returns: Whether the result is a day that SQLite knows.
    private mutating func apply(_ modifier: DateModifier) -> Bool {
        let (days, time) = milliseconds.flooredDivision(by: Self.day)
        switch modifier {
        case .unixepoch, .julianday, .auto, .subsecond: break
        case .startOfDay: milliseconds = days * Self.day
        case .startOfMonth, .startOfYear:
            let date = CivilDate(days: days)
            milliseconds = CivilDate(date.year, modifier == .startOfYear ? 1 : date.month, 1).days * Self.day
        case .weekday(let weekday):
            // 1970 began on a Thursday.
            milliseconds += (weekday - (days + 4) + 7).flooredDivision(by: 7).remainder * Self.day
        case .milliseconds(let distance): milliseconds += distance
        case .months(let months, let distance):
            let date = CivilDate(days: days)
            let (years, month) = (date.month - 1 + months).flooredDivision(by: 12)
            guard (-4713...9999).contains(date.year + years) else { return false }
            // A day that the month does not have is one of the next month.
            milliseconds = CivilDate(date.year + years, month + 1, date.day).days * Self.day + time + distance
        }
        return (Self.firstJulianDay...Self.range.upperBound).contains(milliseconds)
    }

    private static let day: Int64 = 86_400_000
}

// MARK: - Reading and writing

extension SQLTimestamp {
    private init?(parsing text: String) {
        var reader = DigitReader(text: text)
        guard let year = reader.digits(4), reader.take("-"), let month = reader.digits(2), reader.take("-"),
            let day = reader.digits(2), (1...12).contains(month), day >= 1
        else { return nil }
        let date = CivilDate(year, month, day)
        guard CivilDate(days: date.days) == date else { return nil }
        milliseconds = date.days * Self.day
        if reader.take(" ") || reader.take("T") {
            guard let time = reader.clock(maximumHour: 23), let offset = reader.zone() else { return nil }
            milliseconds += time - offset * 60_000
        }
        guard reader.isAtEnd else { return nil }
    }

    /// The form `YYYY-MM-DD HH:MM:SS[.mmm]`.
    private func text(hasFraction: Bool) -> String {
        let (days, time) = milliseconds.flooredDivision(by: Self.day)
        let date = CivilDate(days: days)
        func padded(_ number: Int64, _ count: Int = 2) -> String {
            let digits = String(number)
            return String(repeating: "0", count: max(0, count - digits.count)) + digits
        }
        let second = time / 1000
        let clock = "\(padded(second / 3600)):\(padded(second / 60 % 60)):\(padded(second % 60))"
        let fraction = hasFraction ? ".\(padded(time % 1000, 3))" : ""
        return "\(padded(date.year, 4))-\(padded(date.month))-\(padded(date.day)) \(clock)\(fraction)"
    }
}

/// A day of the Gregorian calendar, also before its introduction.
private struct CivilDate: Hashable {
    var year: Int64
    var month: Int64
    var day: Int64

    init(_ year: Int64, _ month: Int64, _ day: Int64) {
        (self.year, self.month, self.day) = (year, month, day)
    }

    /// Creates the date of a number of days since 1970-01-01.
    init(days: Int64) {
        let (era, dayOfEra) = (days + 719_468).flooredDivision(by: 146_097)
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shifted = (5 * dayOfYear + 2) / 153
        let month = shifted < 10 ? shifted + 3 : shifted - 9
        self.init(era * 400 + yearOfEra + (month <= 2 ? 1 : 0), month, dayOfYear - (153 * shifted + 2) / 5 + 1)
    }

    /// The days since 1970-01-01: years begin in March, so that leap days come last.
    var days: Int64 {
        let year = month <= 2 ? year - 1 : year
        let (era, yearOfEra) = year.flooredDivision(by: 400)
        let dayOfYear = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1
        return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
    }
}

extension Int64 {
    /// The quotient rounded down, with a remainder that is not negative.
    fileprivate func flooredDivision(by divisor: Int64) -> (quotient: Int64, remainder: Int64) {
        let remainder = self % divisor
        return remainder < 0
            ? (self / divisor - 1, remainder + divisor) : (self / divisor, remainder)
    }
}

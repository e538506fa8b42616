/// A moment in milliseconds since 1970, as `unixepoch()` and `datetime()` read and write it
/// (docs/sync-config.md "Functions").
///
/// ```
/// 2024-02-29    2024-02-29 12:30    2024-02-29T12:30:45.678Z    2024-02-29 12:30:45+02:00       text
/// 2460370.5                                                                                     Julian day
/// ```
struct SQLTimestamp: Hashable {
    /// Milliseconds since 1970.
    let milliseconds: Int64

    /// The moments of the years 0 to 9999.
    private static let range: ClosedRange<Int64> = -62_167_219_200_000...253_402_300_799_999
    private static let julianDayOf1970 = 2_440_587.5

    /// `unixepoch(v, …)` or `datetime(v, …)`.
    static func evaluate(_ function: PlanFunction, _ values: [SQLiteValue]) -> SQLiteValue {
        var modifiers: [String] = []
        for modifier in values.dropFirst() {
            // NULL ends the list.
            guard let text = modifier.text else { break }
            modifiers.append(text.lowercased())
        }
        let isUnix = modifiers.first == "unixepoch"
        if isUnix { modifiers.removeFirst() }
        let hasFraction = modifiers == ["subsec"] || modifiers == ["subsecond"]
        guard modifiers.isEmpty || hasFraction, let time = SQLTimestamp(values[0], isUnix: isUnix) else { return .null }
        if function == .datetime { return .text(time.text(hasFraction: hasFraction)) }
        return hasFraction
            ? .real(Double(time.milliseconds) / 1000) : .integer(time.milliseconds.flooredDivision(by: 1000).quotient)
    }

    private init?(_ value: SQLiteValue, isUnix: Bool) {
        let number: Double
        switch value {
        case .null, .blob: return nil
        case .integer(let integer): number = Double(integer)
        case .real(let real): number = real
        case .text(let text):
            guard let julianDay = Self.plainNumber(text) else {
                self.init(parsing: text)
                return
            }
            self.init(milliseconds: (julianDay - Self.julianDayOf1970) * 86_400_000)
            return
        }
        self.init(milliseconds: isUnix ? number * 1000 : (number - Self.julianDayOf1970) * 86_400_000)
    }

    private init?(milliseconds: Double) {
        let rounded = milliseconds.rounded()
        guard rounded >= Double(Self.range.lowerBound), rounded <= Double(Self.range.upperBound) else { return nil }
        self.milliseconds = Int64(rounded)
    }

    private static func plainNumber(_ text: String) -> Double? {
        let isNumber = text.utf8.allSatisfy { byte in
            byte &- UInt8(ascii: "0") < 10 || byte == UInt8(ascii: ".") || byte == UInt8(ascii: "-")
                || byte == UInt8(ascii: "+") || byte | 0x20 == UInt8(ascii: "e")
        }
        return isNumber ? Double(text) : nil
    }
}

// MARK: - Reading

extension SQLTimestamp {
    private init?(parsing text: String) {
        var reader = DigitReader(text: text)
        guard let year = reader.digits(4), reader.take("-"), let month = reader.digits(2), reader.take("-"),
            let day = reader.digits(2), (1...12).contains(month),
            day >= 1, day <= Self.days(in: month, of: year)
        else { return nil }
        var milliseconds = Self.days(to: year, month, day) * 86_400_000
        if reader.take(" ") || reader.take("T") {
            guard let hour = reader.digits(2), hour < 24, reader.take(":"), let minute = reader.digits(2), minute < 60
            else { return nil }
            milliseconds += (hour * 60 + minute) * 60_000
            if reader.take(":") {
                guard let second = reader.digits(2), second < 60 else { return nil }
                milliseconds += second * 1000
                if reader.take(".") {
                    guard let fraction = reader.milliseconds() else { return nil }
                    milliseconds += fraction
                }
            }
            guard let offset = reader.zone() else { return nil }
            milliseconds -= offset * 60_000
        }
        guard reader.isAtEnd else { return nil }
        self.milliseconds = milliseconds
    }

    private static func isLeap(_ year: Int64) -> Bool {
        year.isMultiple(of: 4) && (!year.isMultiple(of: 100) || year.isMultiple(of: 400))
    }

    private static func days(in month: Int64, of year: Int64) -> Int64 {
        switch month {
        case 2: isLeap(year) ? 29 : 28
        case 4, 6, 9, 11: 30
        default: 31
        }
    }

    /// The days from 1970-01-01 to a date of the Gregorian calendar: years begin in March, so that leap days come last.
    private static func days(to year: Int64, _ month: Int64, _ day: Int64) -> Int64 {
        let year = month <= 2 ? year - 1 : year
        let (era, yearOfEra) = year.flooredDivision(by: 400)
        let dayOfYear = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1
        return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
    }
}

/// Reads fixed numbers of digits.
private struct DigitReader {
    private var rest: Substring.UTF8View

    init(text: String) {
        rest = Substring(text).utf8
    }

    var isAtEnd: Bool { rest.isEmpty }

    mutating func take(_ character: Unicode.Scalar) -> Bool {
        guard rest.first == UInt8(ascii: character) else { return false }
        rest.removeFirst()
        return true
    }

    mutating func digits(_ count: Int) -> Int64? {
        var value: Int64 = 0
        for _ in 0..<count {
            guard let digit = rest.first.map({ $0 &- UInt8(ascii: "0") }), digit < 10 else { return nil }
            value = value * 10 + Int64(digit)
            rest.removeFirst()
        }
        return value
    }

    /// A fraction of a second, cut to milliseconds.
    mutating func milliseconds() -> Int64? {
        var value: Int64 = 0
        var count = 0
        while let digit = digits(1) {
            if count < 3 { value = value * 10 + digit }
            count += 1
        }
        guard count > 0 else { return nil }
        while count < 3 {
            value *= 10
            count += 1
        }
        return value
    }

    /// `Z`, `±hh:mm` or nothing, as minutes.
    mutating func zone() -> Int64? {
        if isAtEnd || take("Z") || take("z") { return 0 }
        let isNegative = rest.first == UInt8(ascii: "-")
        guard take("-") || take("+"), let hours = digits(2), hours < 24, take(":"), let minutes = digits(2),
            minutes < 60
        else { return nil }
        return (hours * 60 + minutes) * (isNegative ? -1 : 1)
    }
}

// MARK: - Writing

extension SQLTimestamp {
    /// The form `YYYY-MM-DD HH:MM:SS[.mmm]`.
    private func text(hasFraction: Bool) -> String {
        let (days, time) = milliseconds.flooredDivision(by: 86_400_000)
        let (era, dayOfEra) = (days + 719_468).flooredDivision(by: 146_097)
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shifted = (5 * dayOfYear + 2) / 153
        let day = dayOfYear - (153 * shifted + 2) / 5 + 1
        let month = shifted < 10 ? shifted + 3 : shifted - 9
        let year = era * 400 + yearOfEra + (month <= 2 ? 1 : 0)
        func padded(_ number: Int64, _ count: Int = 2) -> String {
            let digits = String(number)
            return String(repeating: "0", count: max(0, count - digits.count)) + digits
        }
        let second = time / 1000
        let clock = "\(padded(second / 3600)):\(padded(second / 60 % 60)):\(padded(second % 60))"
        let fraction = hasFraction ? ".\(padded(time % 1000, 3))" : ""
        return "\(padded(year, 4))-\(padded(month))-\(padded(day)) \(clock)\(fraction)"
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

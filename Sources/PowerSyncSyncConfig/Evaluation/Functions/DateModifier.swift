/// One modifier of `unixepoch()` and `datetime()`, as SQLite has them.
///
/// ```
/// unixepoch   julianday   auto                        what a number means; only the first modifier
/// +1 day      -1.5 hours  3 months                    also minutes, seconds and years
/// +12:30      -00:00:01.5                             hours and minutes, maybe seconds
/// start of month          start of year               also start of day
/// weekday 0                                           the next Sunday, or the day itself
/// subsec      subsecond                               the result has milliseconds
/// ```
///
/// `localtime` and `utc` are none: they depend on the time zone of the server.
enum DateModifier: Hashable {
    case unixepoch, julianday, auto, subsecond
    case startOfDay, startOfMonth, startOfYear
    /// The next day of the week from 0, Sunday, to 6.
    case weekday(Int64)
    /// A duration in milliseconds.
    case milliseconds(Int64)
    /// Some months, and a duration in milliseconds behind them.
    case months(Int64, milliseconds: Int64)

    /// Reads a modifier.
    ///
    /// - Returns: `nil` for what is none.
    init?(_ text: String) {
        let text = text.lowercased()
        switch text {
        case "unixepoch": self = .unixepoch
        case "julianday": self = .julianday
        case "auto": self = .auto
        case "subsec", "subsecond": self = .subsecond
        case "start of day": self = .startOfDay
        case "start of month": self = .startOfMonth
        case "start of year": self = .startOfYear
        case _ where text.hasPrefix("weekday "):
            guard let number = Self.number(text.dropFirst("weekday ".count)), let day = Int64(exactly: number),
                (0...6).contains(day)
            else { return nil }
            self = .weekday(day)
        default:
            guard let distance = Self.distance(text) ?? Self.clock(text) else { return nil }
            self = distance
        }
    }

    /// Whether the modifier says what a number means, and can only be the first one.
    var isFirstOnly: Bool {
        switch self {
        case .unixepoch, .julianday, .auto: true
        default: false
        }
    }

    /// A number as SQLite reads it: with a sign, a fraction and an exponent, and nothing else.
    private static func number(_ text: Substring) -> Double? {
        let isNumber = text.utf8.allSatisfy { byte in
            byte &- UInt8(ascii: "0") < 10 || byte == UInt8(ascii: ".") || byte == UInt8(ascii: "-")
                || byte == UInt8(ascii: "+") || byte == UInt8(ascii: "e")
        }
        return isNumber ? Double(text.hasSuffix(".") ? "\(text)0" : String(text)) : nil
    }

    /// The units with their lengths in seconds, and the numbers that are too many of them.
    private static let units: [String: (seconds: Double, limit: Double)] = [
        "second": (1, 4.6427e14), "minute": (60, 7.7379e12), "hour": (3600, 1.2897e11), "day": (86_400, 5_373_485),
        "month": (2_592_000, 176_546), "year": (31_536_000, 14_713),
    ]

    /// `+1 day`, `-2.5 months`.
    private static func distance(_ text: String) -> DateModifier? {
        guard let space = text.firstIndex(where: { $0.isWhitespace }), let first = text.first,
            first.isASCII && first.isNumber || first == "+" || first == "-", let number = number(text[..<space])
        else { return nil }
        var name = text[space...].drop { $0.isWhitespace }
        if name.hasSuffix("s") { name.removeLast() }
        guard let unit = units[String(name)], number > -unit.limit, number < unit.limit else { return nil }
        func milliseconds(_ number: Double) -> Int64 {
            Int64(number * 1000 * unit.seconds + (number < 0 ? -0.5 : 0.5))
        }
        let whole = Int64(number)
        switch name {
        case "month": return .months(whole, milliseconds: milliseconds(number - Double(whole)))
        case "year": return .months(whole * 12, milliseconds: milliseconds(number - Double(whole)))
        default: return .milliseconds(milliseconds(number))
        }
    }

    /// `+12:30`, `-00:00:01.5`.
    private static func clock(_ text: String) -> DateModifier? {
        let isNegative = text.hasPrefix("-")
        var reader = DigitReader(text: isNegative || text.hasPrefix("+") ? String(text.dropFirst()) : text)
        guard let time = reader.clock(maximumHour: 24), reader.isAtEnd else { return nil }
        // The time of a day: 24 hours are none.
        let distance = time % 86_400_000
        return .milliseconds(isNegative ? -distance : distance)
    }
}

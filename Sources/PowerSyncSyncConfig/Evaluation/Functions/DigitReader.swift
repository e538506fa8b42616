/// Reads the parts of a time, which are fixed numbers of digits.
struct DigitReader {
    private var rest: Substring.UTF8View

    /// Begins at the start of a text.
    init(text: String) {
        rest = Substring(text).utf8
    }

    /// Whether nothing is left.
    var isAtEnd: Bool { rest.isEmpty }

    /// Skips a character if it is the next one.
    mutating func take(_ character: Unicode.Scalar) -> Bool {
        guard rest.first == UInt8(ascii: character) else { return false }
        rest.removeFirst()
        return true
    }

    /// Reads a number of exactly so many digits.
    mutating func digits(_ count: Int) -> Int64? {
        var value: Int64 = 0
        for _ in 0..<count {
            guard let digit = rest.first.map({ $0 &- UInt8(ascii: "0") }), digit < 10 else { return nil }
            value = value * 10 + Int64(digit)
            rest.removeFirst()
        }
        return value
    }

    /// Reads `HH:MM[:SS[.fraction]]`, as milliseconds.
    mutating func clock(maximumHour: Int64) -> Int64? {
        guard let hour = digits(2), hour <= maximumHour, take(":"), let minute = digits(2), minute < 60 else {
            return nil
        }
        var milliseconds = (hour * 60 + minute) * 60_000
        guard take(":") else { return milliseconds }
        guard let second = digits(2), second < 60 else { return nil }
        milliseconds += second * 1000
        guard take(".") else { return milliseconds }
        guard let fraction = self.milliseconds() else { return nil }
        return milliseconds + fraction
    }

    /// A fraction of a second, cut to milliseconds.
    private mutating func milliseconds() -> Int64? {
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

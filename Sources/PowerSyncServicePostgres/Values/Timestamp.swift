import PowerSyncProtocol

/// The parts of a date and a time.
enum Timestamp {
    /// A day of the Gregorian calendar.
    struct Date {
        var year: Int
        var month: Int
        var day: Int
    }

    /// A time of day, up to 24:00:00.
    struct Time {
        var hour: Int
        var minute: Int
        var second: Int
        /// The fraction of the second.
        var microsecond = 0
        /// How many digits the fraction was printed with.
        var printedDigits = 0
    }

    /// Moves a point in time by seconds.
    static func move(_ date: inout Date, _ time: inout Time, by seconds: Int) {
        let total = time.hour * 3600 + time.minute * 60 + time.second + seconds
        let second = ((total % 86400) + 86400) % 86400
        date = Self.date(ofDay: day(of: date) + (total - second) / 86400)
        (time.hour, time.minute, time.second) = (second / 3600, second / 60 % 60, second % 60)
    }

    // Years are counted from March on, so that the day that some of them have more is their last. 400 of them are an era of
    // 146,097 days.

    /// The number of a day since the first of March of the year 0.
    private static func day(of date: Date) -> Int {
        let year = date.month > 2 ? date.year : date.year - 1
        let era = (year >= 0 ? year : year - 399) / 400
        let yearOfEra = year - era * 400
        let month = date.month > 2 ? date.month - 3 : date.month + 9
        let dayOfYear = (153 * month + 2) / 5 + date.day - 1
        return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
    }

    private static func date(ofDay day: Int) -> Date {
        let era = (day >= 0 ? day : day - 146_096) / 146_097
        let dayOfEra = day - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let month = (5 * dayOfYear + 2) / 153
        return Date(
            year: yearOfEra + era * 400 + (month < 10 ? 0 : 1),
            month: month < 10 ? month + 3 : month - 9,
            day: dayOfYear - (153 * month + 2) / 5 + 1
        )
    }
}

/// Reads the parts of what PostgreSQL prints for times, from left to right.
struct TimestampReader {
    private let text: ByteView
    private var position = 0

    init(_ text: ByteView) {
        self.text = text
    }

    var isAtEnd: Bool { position == text.count }

    /// Reads a byte, if it is there.
    mutating func skip(_ byte: UInt8) -> Bool {
        guard position < text.count, text[position] == byte else { return false }
        position += 1
        return true
    }

    /// Reads a word, if it is there.
    mutating func skip(_ word: StaticString) -> Bool {
        let end = position + word.utf8CodeUnitCount
        guard end <= text.count, text[position..<end].equals(word) else { return false }
        position = end
        return true
    }

    /// `2024-03-01`, with a year of four to seven digits.
    mutating func date() -> Timestamp.Date? {
        let start = position
        guard let year = number(digits: 4...7), position - start >= 4, skip(UInt8(ascii: "-")),
            let month = number(digits: 2...2), (1...12).contains(month), skip(UInt8(ascii: "-")),
            let day = number(digits: 2...2), (1...31).contains(day)
        else { return nil }
        return Timestamp.Date(year: year, month: month, day: day)
    }

    /// `12:00:00`, and what of a fraction there is.
    mutating func time() -> Timestamp.Time? {
        guard let hour = number(digits: 2...2), hour <= 24, skip(UInt8(ascii: ":")),
            let minute = number(digits: 2...2), minute < 60, skip(UInt8(ascii: ":")),
            let second = number(digits: 2...2), second <= 60
        else { return nil }
        var time = Timestamp.Time(hour: hour, minute: minute, second: second)
        guard skip(UInt8(ascii: ".")) else { return time }
        var unit = 100_000
        while let digit = text.digit(at: position) {
            // The digits after the sixth have no unit left.
            time.microsecond += Int(digit) * unit
            if unit > 0 { time.printedDigits += 1 }
            unit /= 10
            position += 1
        }
        return time.printedDigits > 0 ? time : nil
    }

    /// `+02`, `-03:30`, `+05:30:15`, in seconds.
    mutating func offset() -> Int? {
        let isNegative = skip(UInt8(ascii: "-"))
        guard isNegative || skip(UInt8(ascii: "+")), let hours = number(digits: 2...2) else { return nil }
        var seconds = hours * 3600
        for unit in [60, 1] where skip(UInt8(ascii: ":")) {
            guard let part = number(digits: 2...2), part < 60 else { return nil }
            seconds += part * unit
        }
        return isNegative ? -seconds : seconds
    }

    private mutating func number(digits: ClosedRange<Int>) -> Int? {
        var value = 0
        var count = 0
        while count < digits.upperBound, let digit = text.digit(at: position) {
            value = value * 10 + Int(digit)
            position += 1
            count += 1
        }
        return count >= digits.lowerBound ? value : nil
    }
}

/// Times of ISO 8601, as MySQL and MariaDB read them.
enum MySQLTime {
    /// What a column stores of a time of ISO 8601 with a time zone.
    ///
    /// Of `2026-01-02T03:04:05.25+01:00` a `datetime` and a `timestamp` have the time in UTC, `2026-01-02 02:04:05.25`, a `date` and a `time`
    /// their part as it is written, `2026-01-02` and `03:04:05.25`.
    ///
    /// - Returns: Any other text as it is; the server judges it.
    static func text(of text: String, for type: String) -> String {
        let bytes = Array(text.utf8)
        // 2026-01-02T03:04:05, a fraction, Z or an offset.
        guard bytes.count >= 20, bytes[10] == UInt8(ascii: "T") || bytes[10] == UInt8(ascii: " "),
            let year = number(bytes[0..<4]), let month = number(bytes[5..<7]), let day = number(bytes[8..<10]),
            let hour = number(bytes[11..<13]), let minute = number(bytes[14..<16]), let second = number(bytes[17..<19]),
            bytes[4] == UInt8(ascii: "-"), bytes[7] == UInt8(ascii: "-"), bytes[13] == UInt8(ascii: ":"),
            bytes[16] == UInt8(ascii: ":"), (1...12).contains(month), (1...31).contains(day), hour < 24, minute < 60,
            second < 60
        else { return withBlank(text) }
        var rest = bytes[19...]
        var fraction: ArraySlice<UInt8> = []
        if rest.first == UInt8(ascii: ".") {
            fraction = rest.prefix { $0 == UInt8(ascii: ".") || number([$0]) != nil }
            rest = rest.dropFirst(fraction.count)
        }
        guard let offset = offset(rest) else { return withBlank(text) }
        let days = daysSince1970(year, month, day)
        // There is no 31 February.
        guard civilDate(days) == (year, month, day) else { return withBlank(text) }
        switch type {
        case "date": return String(decoding: bytes[..<10], as: UTF8.self)
        case "time": return String(decoding: bytes[11..<19] + fraction, as: UTF8.self)
        default: break
        }
        let minutes = days * 1_440 + hour * 60 + minute - offset
        let (date, time) = (floorDivision(minutes, 1_440), minutes - floorDivision(minutes, 1_440) * 1_440)
        let (utcYear, utcMonth, utcDay) = civilDate(date)
        return """
            \(padded(utcYear, 4))-\(padded(utcMonth, 2))-\(padded(utcDay, 2)) \
            \(padded(time / 60, 2)):\(padded(time % 60, 2)):\(padded(second, 2))\(String(decoding: fraction, as: UTF8.self))
            """
    }

    /// A local time, with a blank in place of the `T` that old servers do not read.
    private static func withBlank(_ text: String) -> String {
        var bytes = Array(text.utf8)
        if bytes.count > 10, bytes[10] == UInt8(ascii: "T") { bytes[10] = UInt8(ascii: " ") }
        return String(decoding: bytes, as: UTF8.self)
    }

    private static func number(_ digits: some Collection<UInt8>) -> Int? {
        guard digits.allSatisfy({ UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 }) else { return nil }
        return digits.reduce(0) { $0 * 10 + Int($1 - UInt8(ascii: "0")) }
    }

    /// The minutes of `Z`, `+01`, `+0100` or `+01:00`.
    private static func offset(_ text: ArraySlice<UInt8>) -> Int? {
        if text.elementsEqual([UInt8(ascii: "Z")]) || text.elementsEqual([UInt8(ascii: "z")]) { return 0 }
        guard let sign = text.first, sign == UInt8(ascii: "+") || sign == UInt8(ascii: "-") else { return nil }
        let digits = text.dropFirst().filter { $0 != UInt8(ascii: ":") }
        guard digits.count == 2 || digits.count == 4, let hours = number(digits[..<2]),
            let minutes = number(digits[2...])
        else { return nil }
        return (hours * 60 + minutes) * (sign == UInt8(ascii: "-") ? -1 : 1)
    }

    private static func padded(_ number: Int, _ count: Int) -> String {
        let digits = String(number)
        return String(repeating: "0", count: max(count - digits.count, 0)) + digits
    }

    private static func floorDivision(_ number: Int, _ divisor: Int) -> Int {
        (number - (number % divisor + divisor) % divisor) / divisor
    }

    /// The days from 1970-01-01 to a day of the Gregorian calendar.
    private static func daysSince1970(_ year: Int, _ month: Int, _ day: Int) -> Int {
        // Years begin in March, so that the leap day is the last one.
        let year = month <= 2 ? year - 1 : year
        let era = floorDivision(year, 400)
        let yearOfEra = year - era * 400
        let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
    }

    private static func civilDate(_ days: Int) -> (year: Int, month: Int, day: Int) {
        let days = days + 719_468
        let era = floorDivision(days, 146_097)
        let dayOfEra = days - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let part = (5 * dayOfYear + 2) / 153
        let month = part < 10 ? part + 3 : part - 9
        return (yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, dayOfYear - (153 * part + 2) / 5 + 1)
    }
}

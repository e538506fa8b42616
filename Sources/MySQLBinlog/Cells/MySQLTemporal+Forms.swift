// The forms of dates and times in rows and in documents of JSON. What cannot be in the type gives `nil`.

extension MySQLDate {
    private init?(checked year: Int, _ month: Int, _ day: Int) {
        guard 0...9999 ~= year, 0...12 ~= month, 0...31 ~= day else { return nil }
        self.init(year: year, month: month, day: day)
    }

    /// `year << 9 | month << 5 | day`.
    init?(packed: Int) { self.init(checked: packed >> 9, packed >> 5 & 15, packed & 31) }

    /// `(year × 13 + month) << 5 | day`.
    init?(packedMonths packed: Int) {
        let months = packed >> 5
        self.init(checked: months / 13, months % 13, packed & 31)
    }

    /// `yyyymmdd` in decimal.
    init?(decimal: Int) { self.init(checked: decimal / 10000, decimal / 100 % 100, decimal % 100) }
}

extension MySQLDateTime {
    private init?(_ date: MySQLDate?, _ hour: Int, _ minute: Int, _ second: Int, _ microsecond: Int, digits: Int) {
        guard let date, 0...23 ~= hour, 0...59 ~= minute, 0...59 ~= second, 0...999_999 ~= microsecond else {
            return nil
        }
        self.init(date: date, hour: hour, minute: minute, second: second, microsecond: microsecond, digits: digits)
    }

    /// 2³⁹ + `(year × 13 + month) << 22 | day << 17 | hour << 12 | minute << 6 | second`.
    init?(packed: UInt64, microsecond: Int, digits: Int) {
        guard packed >= 1 << 39 else { return nil }
        let packed = Int(packed - 1 << 39)
        self.init(
            MySQLDate(packedMonths: packed >> 17),
            packed >> 12 & 31,
            packed >> 6 & 63,
            packed & 63,
            microsecond,
            digits: digits
        )
    }

    /// `yyyymmddhhmmss` in decimal.
    init?(decimal: UInt64) {
        guard decimal < 100_000_000_000_000 else { return nil }
        let (day, time) = Int(decimal).quotientAndRemainder(dividingBy: 1_000_000)
        self.init(MySQLDate(decimal: day), time / 10000, time / 100 % 100, time % 100, 0, digits: 0)
    }

    /// Seconds since 1970; 0 is the zero date.
    init?(seconds: UInt32, microsecond: Int, digits: Int) {
        if seconds == 0, microsecond == 0 {
            self.init(date: MySQLDate(year: 0, month: 0, day: 0), hour: 0, minute: 0, second: 0, digits: digits)
            return
        }
        let (day, second) = Int(seconds).quotientAndRemainder(dividingBy: 86400)
        self.init(
            MySQLDate(daysSince1970: day),
            second / 3600,
            second / 60 % 60,
            second % 60,
            microsecond,
            digits: digits
        )
    }
}

extension MySQLDate {
    /// A day of the Gregorian calendar, from 1970 on.
    fileprivate init(daysSince1970 days: Int) {
        // Eras of 400 years, each of 146097 days, whose years begin with March, so that a leap day is the last.
        let day = days + 719_468
        let dayOfEra = day % 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let monthFromMarch = (5 * dayOfYear + 2) / 153
        let month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
        self.init(
            year: day / 146_097 * 400 + yearOfEra + (month <= 2 ? 1 : 0),
            month: month,
            day: dayOfYear - (153 * monthFromMarch + 2) / 5 + 1
        )
    }
}

extension MySQLTime {
    private init?(
        checked isNegative: Bool,
        _ hours: Int,
        _ minutes: Int,
        _ seconds: Int,
        _ microseconds: Int,
        digits: Int
    ) {
        guard 0...838 ~= hours, 0...59 ~= minutes, 0...59 ~= seconds, 0...999_999 ~= microseconds else { return nil }
        self.init(
            isNegative: isNegative,
            hours: hours,
            minutes: minutes,
            seconds: seconds,
            microseconds: microseconds,
            digits: digits
        )
    }

    /// `hour << 12 | minute << 6 | second` and the fraction behind, as one number whose sign is in the difference to its middle.
    init?(packed: UInt64, digits: Int) {
        let fractionBits = 8 * ((digits + 1) / 2)
        let signed = Int(packed) - 1 << (23 + fractionBits)
        let magnitude = abs(signed)
        let clock = magnitude >> fractionBits
        let fraction = magnitude & (1 << fractionBits - 1)
        self.init(
            checked: signed < 0,
            clock >> 12,
            clock >> 6 & 63,
            clock & 63,
            fractionBits == 8 ? fraction * 10000 : fractionBits == 16 ? fraction * 100 : fraction,
            digits: digits
        )
    }

    /// `hhmmss` in decimal, as 24 bits with a sign.
    init?(decimal: UInt64) {
        let signed = decimal & 0x80_0000 != 0 ? Int(decimal) - 1 << 24 : Int(decimal)
        let time = abs(signed)
        self.init(checked: signed < 0, time / 10000, time / 100 % 100, time % 100, 0, digits: 0)
    }
}

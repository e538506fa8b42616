extension ServerText {
    mutating func write(_ date: MySQLDate) {
        write(date.year, width: 4)
        write(UInt8(ascii: "-"))
        write(date.month, width: 2)
        write(UInt8(ascii: "-"))
        write(date.day, width: 2)
    }

    mutating func write(_ value: MySQLDateTime) {
        write(value.date)
        write(UInt8(ascii: " "))
        writeClock(value.hour, value.minute, value.second)
        writeFraction(value.microsecond, digits: value.digits)
    }

    mutating func write(_ value: MySQLTime) {
        if value.isNegative { write(UInt8(ascii: "-")) }
        writeClock(value.hours, value.minutes, value.seconds)
        writeFraction(value.microseconds, digits: value.digits)
    }

    private mutating func writeClock(_ hours: Int, _ minutes: Int, _ seconds: Int) {
        write(hours, width: 2)
        write(UInt8(ascii: ":"))
        write(minutes, width: 2)
        write(UInt8(ascii: ":"))
        write(seconds, width: 2)
    }

    /// A point and as many digits of microseconds as the column has; nothing for none.
    private mutating func writeFraction(_ microseconds: Int, digits: Int) {
        guard digits > 0 else { return }
        var fraction = microseconds
        for _ in 0..<max(0, 6 - digits) { fraction /= 10 }
        write(UInt8(ascii: "."))
        write(fraction, width: digits)
    }
}

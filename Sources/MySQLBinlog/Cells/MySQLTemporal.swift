// Dates and times are kept in few bytes: a cell of a row is as large as the largest of its kinds. Numbers are cut to what their field has.

/// A `DATE`; it may be zero or impossible: `0000-00-00`, `2024-02-31`.
package struct MySQLDate: Sendable, Hashable {
    private let smallYear: UInt16
    private let smallMonth: UInt8
    private let smallDay: UInt8

    /// A date.
    ///
    /// - Parameters:
    ///   - year: 0 to 9999.
    ///   - month: 0 to 12.
    ///   - day: 0 to 31.
    package init(year: Int, month: Int, day: Int) {
        smallYear = UInt16(clamping: year)
        smallMonth = UInt8(clamping: month)
        smallDay = UInt8(clamping: day)
    }

    /// 0 to 9999.
    package var year: Int { Int(smallYear) }
    /// 0 to 12.
    package var month: Int { Int(smallMonth) }
    /// 0 to 31.
    package var day: Int { Int(smallDay) }
}

/// A `DATETIME` or a `TIMESTAMP`; the date may be zero or impossible.
package struct MySQLDateTime: Sendable, Hashable {
    /// The day.
    package let date: MySQLDate
    private let smallMicrosecond: UInt32
    private let smallHour: UInt8
    private let smallMinute: UInt8
    private let smallSecond: UInt8
    private let smallDigits: UInt8

    /// A date with a time of the day.
    ///
    /// - Parameters:
    ///   - date: The day.
    ///   - hour: 0 to 23.
    ///   - minute: 0 to 59.
    ///   - second: 0 to 59.
    ///   - microsecond: 0 to 999999.
    ///   - digits: The digits that the column has of fractions of seconds: 0 to 6.
    package init(date: MySQLDate, hour: Int, minute: Int, second: Int, microsecond: Int = 0, digits: Int = 0) {
        self.date = date
        smallHour = UInt8(clamping: hour)
        smallMinute = UInt8(clamping: minute)
        smallSecond = UInt8(clamping: second)
        smallMicrosecond = UInt32(clamping: microsecond)
        smallDigits = UInt8(clamping: digits)
    }

    /// 0 to 23.
    package var hour: Int { Int(smallHour) }
    /// 0 to 59.
    package var minute: Int { Int(smallMinute) }
    /// 0 to 59.
    package var second: Int { Int(smallSecond) }
    /// 0 to 999999.
    package var microsecond: Int { Int(smallMicrosecond) }
    /// The digits that the column has of fractions of seconds: 0 to 6.
    package var digits: Int { Int(smallDigits) }
}

/// A `TIME`: a time of the day, or a span of up to 838 hours, forwards or backwards.
package struct MySQLTime: Sendable, Hashable {
    private let smallMicroseconds: UInt32
    private let smallHours: UInt16
    private let smallMinutes: UInt8
    private let smallSeconds: UInt8
    private let smallDigits: UInt8
    /// Whether it is below zero.
    package let isNegative: Bool

    /// A time.
    ///
    /// - Parameters:
    ///   - isNegative: Whether it is below zero.
    ///   - hours: 0 to 838.
    ///   - minutes: 0 to 59.
    ///   - seconds: 0 to 59.
    ///   - microseconds: 0 to 999999.
    ///   - digits: The digits that the column has of fractions of seconds: 0 to 6.
    package init(
        isNegative: Bool = false,
        hours: Int,
        minutes: Int,
        seconds: Int,
        microseconds: Int = 0,
        digits: Int = 0
    ) {
        self.isNegative = isNegative
        smallHours = UInt16(clamping: hours)
        smallMinutes = UInt8(clamping: minutes)
        smallSeconds = UInt8(clamping: seconds)
        smallMicroseconds = UInt32(clamping: microseconds)
        smallDigits = UInt8(clamping: digits)
    }

    /// 0 to 838.
    package var hours: Int { Int(smallHours) }
    /// 0 to 59.
    package var minutes: Int { Int(smallMinutes) }
    /// 0 to 59.
    package var seconds: Int { Int(smallSeconds) }
    /// 0 to 999999.
    package var microseconds: Int { Int(smallMicroseconds) }
    /// The digits that the column has of fractions of seconds: 0 to 6.
    package var digits: Int { Int(smallDigits) }
}

// MARK: - As the server prints them

extension MySQLDate: CustomStringConvertible {
    /// As the server prints it: `2024-02-01`.
    package var description: String { ServerText.make { $0.write(self) } }
}

extension MySQLDateTime: CustomStringConvertible {
    /// As the server prints it, with all digits of the column: `2024-02-01 03:04:05.120`.
    package var description: String { ServerText.make { $0.write(self) } }
}

extension MySQLTime: CustomStringConvertible {
    /// As the server prints it, with all digits of the column: `-01:02:03.45`.
    package var description: String { ServerText.make { $0.write(self) } }
}

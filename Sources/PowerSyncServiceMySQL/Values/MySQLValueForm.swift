package import MySQLBinlog
import PowerSyncProtocol
package import PowerSyncSyncConfig

/// What clients and keys have of a cell (docs/mysql.md "Types"): the same for cells of a copy, of a row that is read by its key, and of the
/// log.
///
/// ```
///                     ISO 8601 (default)        microseconds                 before edition 2
/// DATETIME, TIMESTAMP 2023-03-06T15:47:12.123Z  2023-03-06T15:47:12.123456Z  2023-03-06T15:47:12.123Z
/// impossible dates    NULL                      NULL                         NULL
/// ```
///
/// A fraction of a second has three digits, or those of the highest precision that is allowed, up to six; it is cut, not rounded.
package struct MySQLValueForm: Sendable, Hashable {
    /// The digits of a fraction of a second; without any, there is no point.
    private let fractionDigits: Int

    /// Creates the form that a sync config asks for.
    package init(_ options: SourceValueOptions) {
        fractionDigits =
            switch options.timestampMaximumPrecision {
            // Before edition 2 there was no choice.
            case _ where !options.timestampsISO8601: 3
            case .seconds: 0
            case .milliseconds, nil: 3
            // The servers have no more than these.
            case .microseconds, .nanoseconds: 6
            }
    }

    /// The value of a column.
    ///
    /// - Parameter cell: What the server has.
    /// - Returns: The value; `nil` for a cell that has to be read from the table.
    package func value(of cell: MySQLCell) -> SQLValue? {
        switch cell {
        case .null: .null
        case .integer(let number): .integer(number)
        case .unsigned(let number): Int64(exactly: number).map { .integer($0) } ?? .text("\(number)")
        case .float(let number): .real(Self.shortest(number))
        case .double(let number): .real(number)
        case .decimal(let digits): .text(digits)
        case .date(let date): date.isOfCalendar ? .text(date.description) : .null
        case .dateTime(let time): isoText(time).map { .text($0) } ?? .null
        case .time(let time): .text(time.description)
        case .text(let text), .label(let text), .json(let text): .text(text)
        case .labels(let labels): .text(Self.array(labels))
        case .bytes(let bytes): .blob(bytes)
        case .deferred: nil
        }
    }

    /// What a column adds to the key of its row: the value, but for dates and times, of which a key has all that the server has.
    ///
    /// Two times that differ in microseconds, or two impossible dates, are two keys, whatever clients get of them.
    ///
    /// - Parameter cell: What the server has.
    /// - Returns: The value; `nil` for a cell that has to be read from the table.
    package func keyValue(of cell: MySQLCell) -> SQLValue? {
        switch cell {
        case .date(let date): .text(date.description)
        case .dateTime(let time): .text(time.description)
        default: value(of: cell)
        }
    }

    /// Whether keys have something else of a column than its value.
    static func keyDiffers(_ type: MySQLColumnType) -> Bool {
        switch type.kind {
        case .date, .dateTime, .timestamp: true
        default: false
        }
    }

    /// The double with the fewest digits that are the same number of 32 bits: 3.14 rather than 3.140000104904175.
    private static func shortest(_ number: Float) -> Double {
        // Up to here all digits of an integer are its own.
        if abs(number) < 16_777_216, number.rounded(.towardZero) == number { return Double(number) }
        return Double(number.description) ?? Double(number)
    }

    /// A JSON array: `["a","c"]`.
    private static func array(_ labels: [String]) -> String {
        var bytes = [UInt8(ascii: "[")]
        for (index, label) in labels.enumerated() {
            if index > 0 { bytes.append(UInt8(ascii: ",")) }
            JSONText.appendString(label, to: &bytes)
        }
        bytes.append(UInt8(ascii: "]"))
        return String(decoding: bytes, as: UTF8.self)
    }

    /// `2024-01-02T03:04:05.678Z`; `nil` for a time that is none.
    private func isoText(_ time: MySQLDateTime) -> String? {
        guard time.date.isOfCalendar, (0...23).contains(time.hour), (0...59).contains(time.minute),
            (0...59).contains(time.second), (0...999_999).contains(time.microsecond)
        else { return nil }
        var text: [UInt8] = []
        text.reserveCapacity(27)
        text.append(time.date.year, digits: 4)
        text.append("-", time.date.month)
        text.append("-", time.date.day)
        text.append("T", time.hour)
        text.append(":", time.minute)
        text.append(":", time.second)
        if fractionDigits > 0 {
            text.append(UInt8(ascii: "."))
            text.append(fractionDigits == 3 ? time.microsecond / 1000 : time.microsecond, digits: fractionDigits)
        }
        text.append(UInt8(ascii: "Z"))
        return String(decoding: text, as: UTF8.self)
    }
}

extension [UInt8] {
    /// Appends a separator and a number of two digits.
    fileprivate mutating func append(_ separator: Unicode.Scalar, _ number: Int) {
        append(UInt8(ascii: separator))
        append(number, digits: 2)
    }

    /// Appends the last digits of a number.
    fileprivate mutating func append(_ number: Int, digits: Int) {
        var power = 1
        for _ in 1..<digits { power *= 10 }
        while power > 0 {
            append(UInt8(ascii: "0") + UInt8(number / power % 10))
            power /= 10
        }
    }
}

extension MySQLDate {
    /// Whether the day exists: neither zero nor impossible.
    package var isOfCalendar: Bool {
        guard (0...9999).contains(year), (1...12).contains(month), day >= 1 else { return false }
        let isLeap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
        let days =
            switch month {
            case 2: isLeap ? 29 : 28
            case 4, 6, 9, 11: 30
            default: 31
            }
        return day <= days
    }
}

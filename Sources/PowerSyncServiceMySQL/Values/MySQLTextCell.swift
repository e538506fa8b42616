import MySQLBinlog
import NIOCore
import PowerSyncProtocol

/// Makes cells of what a query answers, by the type of the column: the cells that the log has for the same values.
///
/// The query asks for ``selected(_:_:)``, under the settings that each session has: UTF-8, UTC, an empty `sql_mode`.
enum MySQLTextCell {
    /// What a query asks for to have the value of a column.
    ///
    /// - Parameters:
    ///   - name: The quoted name of the column.
    ///   - type: Its type.
    /// - Returns: An expression. Of a `FLOAT`, the server prints six digits only, so its double is asked for, by an
    ///   operation that keeps the sign of zero. Of a `SET`, the bits: the
    ///   print of a set with an empty label is that of an empty set.
    static func selected(_ name: String, _ type: MySQLColumnType) -> String {
        switch type.kind {
        case .float: "(\(name) * 1e0)"
        case .set: "CAST(\(name) AS UNSIGNED)"
        default: name
        }
    }

    /// The cell of a value.
    ///
    /// - Parameters:
    ///   - value: What the query has answered; `nil` for `NULL`.
    ///   - type: The type of the column.
    /// - Returns: The cell; `nil` when the server does not print values of the type like this.
    static func cell(_ value: ByteBuffer?, _ type: MySQLColumnType) -> MySQLCell? {
        guard let value else { return .null }
        return switch type.kind {
        case .integer, .year: integer(value)
        case .float: Double(String(buffer: value)).map { .float(Float($0)) }
        case .double: Double(String(buffer: value)).map { .double($0) }
        case .decimal: decimal(value)
        case .date: date(value).map { .date($0) }
        case .dateTime(let digits), .timestamp(let digits): dateTime(value, digits).map { .dateTime($0) }
        case .time(let digits): time(value, digits).map { .time($0) }
        case .char, .varchar, .text, .uuid, .inet4, .inet6, .unknown: .text(String(buffer: value))
        case .json: .json(String(buffer: value))
        case .enumeration: .label(String(buffer: value))
        case .set(let labels): set(value, labels)
        case .bit, .binary, .varbinary, .blob, .geometry, .vector: .bytes(Array(value.readableBytesView))
        }
    }

    // MARK: Numbers

    private static func integer(_ value: ByteBuffer) -> MySQLCell? {
        let text = String(buffer: value)
        return Int64(text).map { .integer($0) } ?? UInt64(text).map { .unsigned($0) }
    }

    /// A number as the server prints it, without the zeros that `ZEROFILL` puts before it.
    private static func decimal(_ value: ByteBuffer) -> MySQLCell? {
        let bytes = value.readableBytesView
        guard bytes.allSatisfy({ isDigit($0) || $0 == UInt8(ascii: ".") || $0 == UInt8(ascii: "-") }) else {
            return nil
        }
        let zeros = bytes.prefix { $0 == UInt8(ascii: "0") }.count
        let rest = bytes.dropFirst(zeros)
        let kept = rest.first.map(isDigit) == true ? rest : bytes.dropFirst(max(0, zeros - 1))
        return .decimal(String(decoding: kept, as: UTF8.self))
    }

    private static func set(_ value: ByteBuffer, _ labels: [String]) -> MySQLCell? {
        guard let bits = UInt64(String(buffer: value)), labels.count <= 64 else { return nil }
        return .labels(labels.enumerated().filter { bits & (1 << UInt64($0.offset)) != 0 }.map(\.element))
    }

    private static func isDigit(_ byte: UInt8) -> Bool { byte &- UInt8(ascii: "0") < 10 }

    // MARK: Dates and times

    /// `2024-01-02`.
    private static func date(_ value: ByteBuffer) -> MySQLDate? {
        var reader = DigitReader(value)
        guard let date = reader.date(), reader.isAtEnd else { return nil }
        return date
    }

    /// `2024-01-02 03:04:05.678`.
    private static func dateTime(_ value: ByteBuffer, _ digits: Int) -> MySQLDateTime? {
        var reader = DigitReader(value)
        guard let date = reader.date(), reader.skip(" "), let hour = reader.number(2...2), reader.skip(":"),
            let minute = reader.number(2...2), reader.skip(":"), let second = reader.number(2...2),
            let microsecond = reader.fraction(digits), reader.isAtEnd
        else { return nil }
        return MySQLDateTime(
            date: date,
            hour: hour,
            minute: minute,
            second: second,
            microsecond: microsecond,
            digits: digits
        )
    }

    /// `-838:59:58.99`.
    private static func time(_ value: ByteBuffer, _ digits: Int) -> MySQLTime? {
        var reader = DigitReader(value)
        let isNegative = reader.skip("-")
        guard let hours = reader.number(2...3), reader.skip(":"), let minutes = reader.number(2...2), reader.skip(":"),
            let seconds = reader.number(2...2), let microseconds = reader.fraction(digits), reader.isAtEnd
        else { return nil }
        return MySQLTime(
            isNegative: isNegative,
            hours: hours,
            minutes: minutes,
            seconds: seconds,
            microseconds: microseconds,
            digits: digits
        )
    }
}

/// Reads the numbers of a date or a time from left to right.
private struct DigitReader {
    private var rest: ByteBufferView.SubSequence

    init(_ value: ByteBuffer) {
        rest = value.readableBytesView[...]
    }

    var isAtEnd: Bool { rest.isEmpty }

    /// Reads a byte, if it is there.
    mutating func skip(_ byte: Unicode.Scalar) -> Bool {
        guard rest.first == UInt8(ascii: byte) else { return false }
        rest = rest.dropFirst()
        return true
    }

    /// A number with so many digits.
    mutating func number(_ digits: ClosedRange<Int>) -> Int? {
        var number = 0
        var count = 0
        while count < digits.upperBound, let byte = rest.first, byte &- UInt8(ascii: "0") < 10 {
            number = number * 10 + Int(byte - UInt8(ascii: "0"))
            count += 1
            rest = rest.dropFirst()
        }
        return count >= digits.lowerBound ? number : nil
    }

    mutating func date() -> MySQLDate? {
        guard let year = number(4...4), skip("-"), let month = number(2...2), skip("-"), let day = number(2...2)
        else { return nil }
        return MySQLDate(year: year, month: month, day: day)
    }

    /// The microseconds of a fraction with so many digits.
    mutating func fraction(_ digits: Int) -> Int? {
        guard digits > 0 else { return 0 }
        guard (1...6).contains(digits), skip("."), var fraction = number(digits...digits) else { return nil }
        for _ in digits..<6 { fraction *= 10 }
        return fraction
    }
}

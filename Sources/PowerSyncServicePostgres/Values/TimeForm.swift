import PowerSyncProtocol
import PowerSyncSyncConfig

/// Writes dates and times.
///
/// ```
///                ISO 8601                       before edition 2
/// time           10:42:00.500000                as printed
/// timestamp      2024-03-01T12:00:00.500000     as printed
/// timestamptz    2024-03-01T10:00:00.500000Z    2024-03-01 10:00:00.5Z
/// infinity       9999-12-31T23:59:59.000000     9999-12-31 23:59:59
/// -infinity      0000-01-01T00:00:00.000000     0000-01-01 00:00:00
/// ```
///
/// A fraction has six digits, or those of the highest precision that is allowed; it is cut, not rounded.
struct TimeForm: Sendable {
    private let isISO: Bool
    /// The digits of a fraction; without any, there is no dot.
    private let fractionDigits: Int

    /// Creates the form that a sync config asks for.
    init(_ options: SourceValueOptions) {
        isISO = options.timestampsISO8601
        fractionDigits =
            switch options.timestampMaximumPrecision {
            case .seconds: 0
            case .milliseconds: 3
            // PostgreSQL has no more than these.
            case .microseconds, .nanoseconds, nil: 6
            }
    }

    /// A `date`: as printed, but for the infinities.
    static func date(_ text: ByteView) -> String {
        if text.equals("infinity") { return "9999-12-31" }
        if text.equals("-infinity") { return "0000-01-01" }
        return text.string
    }

    /// A `time`; `nil` when the text is none.
    func time(_ text: ByteView) -> String? {
        var reader = TimestampReader(text)
        guard let time = reader.time(), reader.isAtEnd else { return nil }
        guard isISO else { return text.string }
        var output = TimestampText()
        write(time, to: &output)
        return output.string
    }

    /// A `timestamp` or a `timestamptz`.
    func timestamp(_ text: ByteView, withZone: Bool) -> ScalarDecoder.Outcome {
        if text.equals("infinity") { return .value(.text(infinity("9999-12-31", "23:59:59", withZone: withZone))) }
        if text.equals("-infinity") { return .value(.text(infinity("0000-01-01", "00:00:00", withZone: withZone))) }
        var reader = TimestampReader(text)
        guard var date = reader.date(), reader.skip(UInt8(ascii: " ")), let time = reader.time() else {
            return .unreadable
        }
        var clock = time
        if withZone {
            guard let offset = reader.offset() else { return .unreadable }
            if offset != 0 { Timestamp.move(&date, &clock, by: -offset) }
        }
        let isBeforeChrist = reader.skip(" BC")
        guard reader.isAtEnd else { return .unreadable }
        guard !isBeforeChrist, date.year >= 1, !withZone || date.year <= 9999 else { return .yearOutOfRange }
        guard isISO || withZone else { return .value(.text(text.string)) }

        var output = TimestampText()
        output.append(date.year, digits: 4)
        output.append(UInt8(ascii: "-"))
        output.append(date.month, digits: 2)
        output.append(UInt8(ascii: "-"))
        output.append(date.day, digits: 2)
        output.append(UInt8(ascii: isISO ? "T" : " "))
        write(clock, to: &output)
        if withZone { output.append(UInt8(ascii: "Z")) }
        return .value(.text(output.string))
    }

    private func write(_ time: Timestamp.Time, to output: inout TimestampText) {
        output.append(time.hour, digits: 2)
        output.append(UInt8(ascii: ":"))
        output.append(time.minute, digits: 2)
        output.append(UInt8(ascii: ":"))
        output.append(time.second, digits: 2)
        let digits = isISO ? fractionDigits : time.printedDigits
        guard digits > 0 else { return }
        output.append(UInt8(ascii: "."))
        output.append(time.microsecond, firstDigits: digits, of: 6)
    }

    private func infinity(_ date: String, _ time: String, withZone: Bool) -> String {
        let fraction = isISO && fractionDigits > 0 ? "." + String(repeating: "0", count: fractionDigits) : ""
        return "\(date)\(isISO ? "T" : " ")\(time)\(fraction)\(withZone ? "Z" : "")"
    }
}

/// A text of a date and a time, written byte by byte.
private struct TimestampText {
    private var bytes: [UInt8] = []

    init() {
        // A year of six digits, and a fraction.
        bytes.reserveCapacity(32)
    }

    var string: String { String(decoding: bytes, as: UTF8.self) }

    mutating func append(_ byte: UInt8) {
        bytes.append(byte)
    }

    /// A number with at least so many digits.
    mutating func append(_ number: Int, digits: Int) {
        var power = 1
        for _ in 1..<digits { power *= 10 }
        while number / power >= 10 { power *= 10 }
        while power > 0 {
            bytes.append(UInt8(ascii: "0") + UInt8(number / power % 10))
            power /= 10
        }
    }

    /// The first of the digits that a number has.
    mutating func append(_ number: Int, firstDigits: Int, of digits: Int) {
        var power = 1
        for _ in 1..<digits { power *= 10 }
        for _ in 0..<firstDigits {
            bytes.append(UInt8(ascii: "0") + UInt8(number / power % 10))
            power /= 10
        }
    }
}

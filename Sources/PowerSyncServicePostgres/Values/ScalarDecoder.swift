import PowerSyncProtocol
import PowerSyncSyncConfig
import PowerSyncServiceCore

/// Reads the texts of values that have no parts.
struct ScalarDecoder: Sendable {
    /// What becomes of a text.
    enum Outcome {
        case value(SQLValue)
        /// A date that clients cannot read.
        case yearOutOfRange
        /// Not what PostgreSQL prints for the type.
        case unreadable
    }

    /// How times are written.
    let times: TimeForm

    /// Reads a text.
    ///
    /// - Parameters:
    ///   - text: The text.
    ///   - form: A form without parts.
    /// - Returns: The value, or why there is none.
    func value(of text: ByteView, _ form: ValueForm) -> Outcome {
        switch form {
        case .boolean: Self.outcome(Self.boolean(text).map(SQLValue.integer))
        case .integer: Self.outcome(Self.integer(text).map(SQLValue.integer))
        case .real: Self.outcome(Self.real(text).map { $0.isNaN ? .null : .real($0) })
        case .bytes: Self.outcome(ByteaText.decode(text).map(SQLValue.blob))
        case .date: .value(.text(TimeForm.date(text)))
        case .time: Self.outcome(times.time(text).map(SQLValue.text))
        case .timestamp: times.timestamp(text, withZone: false)
        case .timestampWithZone: times.timestamp(text, withZone: true)
        case .walPosition: Self.outcome(WALPosition(text.string).map { .text($0.lsn.rawValue) })
        case .text, .json, .line, .array, .composite, .range, .multirange: .value(.text(text.string))
        }
    }

    private static func outcome(_ value: SQLValue?) -> Outcome {
        value.map(Outcome.value) ?? .unreadable
    }

    // MARK: Numbers

    private static func boolean(_ text: ByteView) -> Int64? {
        guard text.count == 1 else { return nil }
        switch text[0] {
        case UInt8(ascii: "t"): return 1
        case UInt8(ascii: "f"): return 0
        default: return nil
        }
    }

    /// Digits with an optional minus, within 64 bits.
    private static func integer(_ text: ByteView) -> Int64? {
        let isNegative = text.count > 0 && text[0] == UInt8(ascii: "-")
        let first = isNegative ? 1 : 0
        guard first < text.count else { return nil }
        // Counted downwards, so that the smallest number fits.
        var value: Int64 = 0
        for offset in first..<text.count {
            guard let digit = text.digit(at: offset) else { return nil }
            let (product, overflows) = value.multipliedReportingOverflow(by: 10)
            let (difference, overflowsToo) = product.subtractingReportingOverflow(Int64(digit))
            guard !overflows, !overflowsToo else { return nil }
            value = difference
        }
        guard !isNegative else { return value }
        return value == .min ? nil : -value
    }

    /// `1.5`, `-1e-7`, `NaN`, `Infinity`, `-Infinity`.
    static func real(_ text: ByteView) -> Double? {
        if text.equals("NaN") { return .nan }
        if text.equals("Infinity") { return .infinity }
        if text.equals("-Infinity") { return -.infinity }
        // Swift reads more than PostgreSQL prints: hexadecimal numbers, signs, other names.
        for offset in 0..<text.count {
            switch text[offset] {
            case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "+"), UInt8(ascii: "."),
                UInt8(ascii: "e"):
                break
            default: return nil
            }
        }
        return Double(text.string)
    }
}

extension ByteView {
    /// The number that a digit stands for; `nil` when there is none at the offset.
    func digit(at offset: Int) -> UInt8? {
        guard offset < count else { return nil }
        let digit = self[offset] &- UInt8(ascii: "0")
        return digit < 10 ? digit : nil
    }
}

/// The text forms of `bytea`.
///
/// ```
/// hex      \x00ff61
/// escape   \000\377a\\      octal for what is not printable, a doubled backslash for itself
/// ```
enum ByteaText {
    /// The bytes; `nil` when the text has none of the forms.
    static func decode(_ text: ByteView) -> [UInt8]? {
        text.count >= 2 && text[0] == backslash && text[1] == UInt8(ascii: "x")
            ? decodeHex(text[2..<text.count]) : decodeEscaped(text)
    }

    private static let backslash = UInt8(ascii: "\\")

    private static func decodeHex(_ digits: ByteView) -> [UInt8]? {
        guard digits.count.isMultiple(of: 2) else { return nil }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(digits.count / 2)
        for offset in stride(from: 0, to: digits.count, by: 2) {
            guard let high = nibble(digits[offset]), let low = nibble(digits[offset + 1]) else { return nil }
            bytes.append(high << 4 | low)
        }
        return bytes
    }

    private static func nibble(_ byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
        default: nil
        }
    }

    private static func decodeEscaped(_ text: ByteView) -> [UInt8]? {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.count)
        var offset = 0
        while offset < text.count {
            guard text[offset] == backslash else {
                bytes.append(text[offset])
                offset += 1
                continue
            }
            if offset + 1 < text.count, text[offset + 1] == backslash {
                bytes.append(backslash)
                offset += 2
            } else {
                guard let first = text.digit(at: offset + 1), let second = text.digit(at: offset + 2),
                    let third = text.digit(at: offset + 3), first < 4, second < 8, third < 8
                else { return nil }
                bytes.append(first << 6 | second << 3 | third)
                offset += 4
            }
        }
        return bytes
    }
}

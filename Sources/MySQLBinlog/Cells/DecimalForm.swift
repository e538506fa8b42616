/// How a `DECIMAL(precision, scale)` is written.
///
/// The digits before the point, then those after it, big endian. Nine digits are 4 bytes; the digits that are left, first before the
/// point and last after it, are 1 to 4 bytes: ⌈n / 2⌉. The highest bit of all is inverted, so that it is 1 for numbers that are not
/// negative; for negative ones all bytes are inverted, too.
struct DecimalForm: Sendable, Hashable {
    private let digitsBeforePoint: UInt8
    private let scale: UInt8

    /// The form; `nil` for numbers that no column has.
    init?(precision: Int, scale: Int) {
        guard 1...65 ~= precision, 0...30 ~= scale, scale <= precision else { return nil }
        digitsBeforePoint = UInt8(precision - scale)
        self.scale = UInt8(scale)
    }

    /// The number of bytes.
    var bytes: Int { Self.bytes(Int(digitsBeforePoint)) + Self.bytes(Int(scale)) }

    private static func bytes(_ digits: Int) -> Int { 4 * (digits / 9) + (digits % 9 + 1) / 2 }

    /// Reads a number: sign, digits without zeros in front but for one, and if the scale is not 0 a point and as many digits; `nil` if the
    /// bytes are no number.
    func read(_ cursor: inout ByteCursor) throws(BinlogFault) -> String? {
        var text = DecimalText(isNegative: try cursor.peek("decimal") & 0x80 == 0)
        let before = Int(digitsBeforePoint)
        guard try text.read(&cursor, before % 9) else { return nil }
        for _ in 0..<before / 9 {
            guard try text.read(&cursor, 9) else { return nil }
        }
        text.writePoint(isLast: scale == 0)
        for _ in 0..<Int(scale) / 9 {
            guard try text.read(&cursor, 9) else { return nil }
        }
        guard try text.read(&cursor, Int(scale) % 9) else { return nil }
        return text.string
    }
}

/// The text of a number, as its groups of digits are read.
private struct DecimalText {
    private let isNegative: Bool
    private var isZero = true
    private var isFirst = true
    private var hasDigits = false
    private var digits = ServerText()

    init(isNegative: Bool) {
        self.isNegative = isNegative
        digits.reserveCapacity(72)
        if isNegative { digits.write(UInt8(ascii: "-")) }
    }

    /// Reads a group of so many digits; `false` if it is none.
    mutating func read(_ cursor: inout ByteCursor, _ count: Int) throws(BinlogFault) -> Bool {
        guard count > 0 else { return true }
        let bytes = (count + 1) / 2 - count / 9
        var group = try cursor.bigEndian("decimal", bytes: bytes)
        if isNegative { group ^= 1 << UInt64(8 * bytes) - 1 }
        if isFirst { group ^= 0x80 << UInt64(8 * (bytes - 1)) }
        isFirst = false
        guard group < Self.powers[count] else { return false }
        isZero = isZero && group == 0
        let width = hasDigits ? count : Self.powers.prefix { $0 <= group }.count
        if width > 0 {
            digits.write(UInt32(group), digits: width)
            hasDigits = true
        }
        return true
    }

    /// Ends the digits before the point.
    mutating func writePoint(isLast: Bool) {
        if !hasDigits { digits.write(48) }
        hasDigits = true
        if !isLast { digits.write(UInt8(ascii: ".")) }
    }

    /// Zero has no sign.
    var string: String { isNegative && isZero ? String(digits.string.dropFirst()) : digits.string }

    private static let powers: [UInt64] = [
        1, 10, 100, 1000, 10000, 100_000, 1_000_000, 10_000_000, 100_000_000, 1_000_000_000,
    ]
}

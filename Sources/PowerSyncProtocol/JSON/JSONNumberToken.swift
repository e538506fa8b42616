/// A number in JSON text.
///
/// Made by ``JSONScanner``, which has checked its grammar.
package struct JSONNumberToken {
    /// The digits, sign, fraction and exponent.
    package let bytes: ByteView
    /// Whether the number has neither fraction nor exponent.
    package let isInteger: Bool
    /// The offset of the first byte in the text that was scanned.
    package let offset: Int

    /// The value as an integer; `nil` when it has a fraction or an exponent, does not fit, or is `-0`.
    package var integer: Int64? {
        guard isInteger else { return nil }
        let isNegative = bytes[0] == UInt8(ascii: "-")
        var value: Int64 = 0
        // Negative numbers are accumulated as such, since −2^63 has no positive counterpart.
        for index in (isNegative ? 1 : 0)..<bytes.count {
            let digit = Int64(bytes[index] &- UInt8(ascii: "0"))
            let (scaled, scaleOverflow) = value.multipliedReportingOverflow(by: 10)
            let (next, addOverflow) =
                isNegative ? scaled.subtractingReportingOverflow(digit) : scaled.addingReportingOverflow(digit)
            guard !scaleOverflow, !addOverflow else { return nil }
            value = next
        }
        return isNegative && value == 0 ? nil : value
    }

    /// The nearest double; infinite when the number is too large.
    package var double: Double {
        // The grammar of JSON numbers is part of the grammar of `Double.init`.
        Double(bytes.string) ?? .nan
    }

    /// Checks that the number is not too large for a double.
    ///
    /// - Throws: `numberOutOfRange`.
    package func checkRange() throws(JSONError) {
        // Short numbers with an exponent of up to two digits are far below 1e308.
        guard bytes.count > 100 || mayHaveLargeExponent, !double.isFinite else { return }
        throw JSONError(.numberOutOfRange, at: offset)
    }

    private var mayHaveLargeExponent: Bool {
        guard !isInteger else { return false }
        for index in 0..<bytes.count where bytes[index] | 0x20 == UInt8(ascii: "e") { return bytes.count - index > 3 }
        return false
    }

    /// The value: an integer if it fits 64 bits, else a double.
    ///
    /// `-0` is a double, which keeps its sign.
    ///
    /// - Throws: `numberOutOfRange` when the number is too large for a double.
    func value() throws(JSONError) -> ExactJSON {
        if let integer { return .integer(integer) }
        let double = double
        guard double.isFinite else { throw JSONError(.numberOutOfRange, at: offset) }
        return .double(double)
    }
}

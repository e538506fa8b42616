/// A number in JSON that is no integer of 64 bits, as it is written there: `12345678901234567890`, `0.10`, `1e3`, `-0`.
///
/// A double may be another number than the text says.
struct JSONNumber {
    /// The number, in the grammar of JSON.
    let text: String

    /// The nearest double.
    var double: Double { Double(text) ?? .nan }

    /// The number as an integer.
    ///
    /// - Returns: `nil` when it has a fraction, or does not fit the type.
    func integer<I: FixedWidthInteger>(_ type: I.Type) -> I? {
        // The digits without the point and without zeros at the end, and by which power of ten they are multiplied.
        let significand = text.prefix { $0 != "e" && $0 != "E" }
        let whole = significand.prefix { $0 != "." }
        let fraction = significand.dropFirst(whole.count + 1)
        var digits = String(whole + fraction)
        var power = -fraction.count
        while digits.last == "0" {
            digits.removeLast()
            power += 1
        }
        guard !digits.isEmpty, digits != "-" else { return 0 }
        let exponent = text.dropFirst(significand.count + 1)
        if !exponent.isEmpty {
            // No text in SQLite has so many digits that a larger one could make an integer of it.
            guard let exponent = Int(exponent), exponent.magnitude < 1 << 30 else { return nil }
            power += exponent
        }
        // 10 to the number of bits fits no type of so many bits.
        guard (0..<I.bitWidth).contains(power) else { return nil }
        return I(digits + String(repeating: "0", count: power))
    }
}

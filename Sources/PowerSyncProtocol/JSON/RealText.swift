/// The decimal texts of doubles: the shortest digits that read back as the same number, laid out as the established
/// service does.
///
/// ```
///                3.0      0.1    1.5e-7    1e20                        1e21     -0.0   infinity
/// plain          3        0.1    1.5e-7    100000000000000000000       1e+21    0      Infinity
/// json           3.0      0.1    1.5e-7    100000000000000000000.0     1e+21    -0.0   null
/// ```
package enum RealText {
    /// The text form: what a cast to text gives, what stands in row ids and in bucket names.
    package static func plain(_ number: Double) -> String {
        guard number.isFinite else { return number.isNaN ? "NaN" : number < 0 ? "-Infinity" : "Infinity" }
        guard number != 0 else { return "0" }
        let text = number.description
        if text.utf8.contains(UInt8(ascii: "e")) { return layout(text) }
        return text.hasSuffix(".0") ? String(text.dropLast(2)) : text
    }

    /// The form in row data, which never looks like an integer.
    package static func json(_ number: Double) -> String {
        guard number.isFinite else { return "null" }
        let text = number.description
        guard text.utf8.contains(UInt8(ascii: "e")) else { return text }
        let plain = layout(text)
        return plain.utf8.contains { $0 == UInt8(ascii: ".") || $0 == UInt8(ascii: "e") } ? plain : plain + ".0"
    }

    /// Moves the decimal point of a text such as `-1.5e-07` to where it belongs.
    private static func layout(_ text: String) -> String {
        let isNegative = text.hasPrefix("-")
        guard let mark = text.firstIndex(of: "e"), let exponent = Int(text[text.index(after: mark)...]) else {
            return text
        }
        let mantissa = text[..<mark].drop { $0 == "-" }
        var digits = mantissa.filter { $0 != "." }
        let wholeDigits = mantissa.prefix { $0 != "." }.count
        while digits.count > 1, digits.last == "0" { digits.removeLast() }
        // The number is 0.digits × 10^point.
        let point = wholeDigits + exponent
        let body: String
        if point > 21 || point < -5 {
            let sign = point - 1 < 0 ? "-" : "+"
            let rest = digits.dropFirst()
            body = "\(digits.prefix(1))\(rest.isEmpty ? "" : ".")\(rest)e\(sign)\(abs(point - 1))"
        } else if point <= 0 {
            body = "0." + String(repeating: "0", count: -point) + digits
        } else if digits.count <= point {
            body = digits + String(repeating: "0", count: point - digits.count)
        } else {
            body = "\(digits.prefix(point)).\(digits.dropFirst(point))"
        }
        return isNegative ? "-" + body : body
    }
}

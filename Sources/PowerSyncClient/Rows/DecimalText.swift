import Foundation

/// A decimal number as text, with all of its digits: `-12.50`, `1e-7`.
struct DecimalText {
    private let text: String
    /// The digits without zeros in front and behind.
    private let digits: Substring.UTF8View
    /// The power of ten of the last of ``digits``.
    private let exponent: Int

    /// Reads a number.
    ///
    /// - Parameter text: Digits, with a sign, a fraction and an exponent if it has them; `nil` for any other text. `Decimal` itself
    ///   ignores what follows a number.
    init?(_ text: String) {
        var rest = text.utf8[...]
        let digits = { (rest: inout Substring.UTF8View) in
            let digits = rest.prefix { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
            rest = rest.dropFirst(digits.count)
            return digits
        }
        let take = { (marks: String, rest: inout Substring.UTF8View) in
            guard let first = rest.first, marks.utf8.contains(first) else { return false }
            rest = rest.dropFirst()
            return true
        }
        _ = take("+-", &rest)
        let whole = digits(&rest)
        let fraction = take(".", &rest) ? digits(&rest) : rest.prefix(0)
        guard whole.count + fraction.count > 0 else { return nil }
        var exponent: Int? = 0
        if take("eE", &rest) {
            let isNegative = rest.first == UInt8(ascii: "-")
            _ = take("+-", &rest)
            let power = digits(&rest)
            guard power.count > 0 else { return nil }
            exponent = Int(String(Substring(power))).map { isNegative ? -$0 : $0 }
        }
        guard rest.isEmpty else { return nil }
        self.text = text
        let zero = UInt8(ascii: "0")
        let all = Substring(String(Substring(whole)) + String(Substring(fraction))).utf8
        let trimmed = all.drop { $0 == zero }
        let trailing = trimmed.reversed().prefix { $0 == zero }.count
        self.digits = trimmed.dropLast(trailing)
        self.exponent = self.digits.isEmpty ? 0 : Self.sum(exponent, trailing - fraction.count)
    }

    /// The number; `nil` when a `Decimal`, which has 38 digits, cannot hold it exactly.
    var decimal: Decimal? {
        guard let decimal = Decimal(string: text, locale: Locale(identifier: "en_US_POSIX")), decimal.isFinite,
            let kept = DecimalText("\(decimal)"), kept.exponent == exponent, kept.digits.elementsEqual(digits)
        else { return nil }
        return decimal
    }

    /// A power of ten, which nothing has when it is too large.
    private static func sum(_ exponent: Int?, _ shift: Int) -> Int {
        guard let (sum, overflows) = exponent?.addingReportingOverflow(shift), !overflows else { return .max }
        return sum
    }
}

import Foundation

/// Decimal numbers as text, which keeps all of their digits: `-12.50`, `1e-7`.
enum DecimalText {
    /// Reads a number.
    ///
    /// - Returns: `nil` for any other text: `Decimal` itself ignores what follows a number.
    static func decimal(_ text: String) -> Decimal? {
        var rest = text.utf8[...]
        let digits = { (rest: inout Substring.UTF8View) in
            let count = rest.prefix { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }.count
            rest = rest.dropFirst(count)
            return count
        }
        let take = { (marks: String, rest: inout Substring.UTF8View) in
            guard let first = rest.first, marks.utf8.contains(first) else { return false }
            rest = rest.dropFirst()
            return true
        }
        _ = take("+-", &rest)
        var count = digits(&rest)
        if take(".", &rest) { count += digits(&rest) }
        guard count > 0 else { return nil }
        if take("eE", &rest) {
            _ = take("+-", &rest)
            guard digits(&rest) > 0 else { return nil }
        }
        guard rest.isEmpty, let decimal = Decimal(string: text, locale: Locale(identifier: "en_US_POSIX")),
            decimal.isFinite
        else { return nil }
        return decimal
    }
}

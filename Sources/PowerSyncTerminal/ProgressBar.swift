/// The text of a progress bar.
///
/// ```
/// [##############················]  46 %  23,412 / 50,050
/// ```
package struct ProgressBar {
    /// The number of cells between the brackets.
    var width = 30

    package init() {}

    /// Draws the bar for a number of things done.
    ///
    /// - Parameters:
    ///   - done: How many are done; values outside 0 … `total` are drawn as the nearest end.
    ///   - total: How many there are; 0 draws an empty bar.
    /// - Returns: The bar, the percentage and both numbers.
    package func text(done: Int, total: Int) -> String {
        let fraction = total > 0 ? min(1, max(0, Double(done) / Double(total))) : 0
        let filled = Int(fraction * Double(width))
        let bar = String(repeating: "#", count: filled) + String(repeating: "·", count: width - filled)
        let percent = String(Int(fraction * 100))
        let padding = String(repeating: " ", count: 3 - percent.count)
        return "[\(bar)] \(padding)\(percent) %  \(done.grouped) / \(total.grouped)"
    }
}

extension Int {
    /// The number with a comma between groups of three digits: `1,234,567`.
    package var grouped: String {
        var digits = Array(String(magnitude))
        var index = digits.count - 3
        while index > 0 {
            digits.insert(",", at: index)
            index -= 3
        }
        return (self < 0 ? "-" : "") + String(digits)
    }
}

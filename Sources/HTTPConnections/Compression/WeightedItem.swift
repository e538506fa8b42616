/// One item of a header such as `Accept` or `Accept-Encoding`.
///
/// ```swift
/// WeightedItem.list("gzip, br;q=0.5")  // gzip with weight 1, br with weight 0.5
/// ```
package struct WeightedItem {
    /// The text before the parameters.
    package var name: Substring
    /// The parameter `q`: 1 when it is missing, 0 when it is not a number.
    package var weight: Double

    /// The items of a header, in order.
    package static func list(_ header: String) -> [WeightedItem] {
        header.split(separator: ",").map { item in
            let parts = item.split(separator: ";").map { $0.trimmingSpaces() }
            var weight = 1.0
            for parameter in parts.dropFirst() where parameter.lowercased().hasPrefix("q=") {
                weight = Double(parameter.dropFirst(2)) ?? 0
            }
            return WeightedItem(name: parts.first ?? "", weight: weight)
        }
    }
}

extension Substring {
    /// The text without spaces and tabs at both ends.
    package func trimmingSpaces() -> Substring {
        var text = self
        while let first = text.first, first == " " || first == "\t" { text.removeFirst() }
        while let last = text.last, last == " " || last == "\t" { text.removeLast() }
        return text
    }
}

extension BinaryInteger {
    /// The number with its noun: `0 rows`, `1 row`, `2 rows`.
    ///
    /// - Parameters:
    ///   - singular: What is counted, as it stands behind 1: `row`, `entry`, `write waits`.
    ///   - plural: The same behind other numbers; with an `s` more by default.
    /// - Returns: Both, in a sentence for people.
    package func counted(_ singular: String, _ plural: String? = nil) -> String {
        "\(self) \(words(singular, plural))"
    }

    /// The words that belong to the number, where it stands somewhere else, or in another form: `1,234` and `rows`.
    ///
    /// - Parameters:
    ///   - singular: The words for 1.
    ///   - plural: The words for other numbers; with an `s` more by default.
    /// - Returns: One of them.
    package func words(_ singular: String, _ plural: String? = nil) -> String {
        self == 1 ? singular : plural ?? "\(singular)s"
    }
}

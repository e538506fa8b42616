extension String {
    /// Whether two texts have the same bytes.
    ///
    /// Swift's `==` takes texts for equal that differ in how they are composed, which keys and names do not. It is asked
    /// first all the same, because it compares words of memory where the text is ASCII.
    func hasSameBytes(as other: String) -> Bool {
        utf8.count == other.utf8.count && self == other && utf8.elementsEqual(other.utf8)
    }
}

extension String {
    /// The text, or its beginning when it is longer: clients choose names, and an answer may quote one for each write.
    func shortened(to count: Int = 100) -> String {
        guard let end = unicodeScalars.index(startIndex, offsetBy: count, limitedBy: endIndex), end < endIndex else {
            return self
        }
        return self[..<end] + "…"
    }
}

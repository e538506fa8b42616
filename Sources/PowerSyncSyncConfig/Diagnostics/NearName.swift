/// Finds the known name that is nearest to a misspelled one.
package enum NearName {
    /// The name that is most like a misspelt one.
    ///
    /// - Parameters:
    ///   - name: The misspelt name.
    ///   - candidates: The names there are.
    /// - Returns: The nearest name, unless it differs in more than a third of its letters.
    static func of(_ name: String, among candidates: some Sequence<String>) -> String? {
        let letters = Array(name.lowercased().unicodeScalars)
        guard !letters.isEmpty, letters.count <= 64 else { return nil }
        var best: (name: String, distance: Int)?
        for candidate in candidates.prefix(maximumCandidates) where candidate.unicodeScalars.count <= 64 {
            let distance = distance(letters, Array(candidate.lowercased().unicodeScalars))
            if distance <= max(1, letters.count / 3), best.map({ distance < $0.distance }) ?? true {
                best = (candidate, distance)
            }
        }
        return best?.name
    }

    /// A hint that proposes the nearest name.
    package static func hint(for name: String, among candidates: some Sequence<String>) -> String? {
        of(name, among: candidates).map { "Did you mean “\($0)”?" }
    }

    /// How many names are compared.
    private static let maximumCandidates = 500

    /// The number of letters to insert, remove, replace, or swap with their neighbour.
    private static func distance(_ lhs: [Unicode.Scalar], _ rhs: [Unicode.Scalar]) -> Int {
        var beforeLast: [Int] = []
        var last = Array(0...rhs.count)
        for row in 1..<(lhs.count + 1) {
            var current = [row]
            for column in 1..<(rhs.count + 1) {
                let isSame = lhs[row - 1] == rhs[column - 1]
                var cost = min(last[column] + 1, current[column - 1] + 1, last[column - 1] + (isSame ? 0 : 1))
                if row > 1, column > 1, lhs[row - 1] == rhs[column - 2], lhs[row - 2] == rhs[column - 1] {
                    cost = min(cost, beforeLast[column - 2] + 1)
                }
                current.append(cost)
            }
            beforeLast = last
            last = current
        }
        return last[rhs.count]
    }
}

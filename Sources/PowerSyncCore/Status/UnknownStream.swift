import PowerSyncProtocol

/// A stream that was asked for, and that the service does not have.
///
/// The service does not say so: it leaves the stream out of the list of its checkpoint.
package struct UnknownStream: Sendable, Hashable {
    /// The name that was asked for.
    package let name: String
    /// The streams that the checkpoint lists, in its order: those that clients get without subscribing, and those that were
    /// asked for under their right name.
    package let knownNames: [String]
    /// Those of them that may have been meant, the nearest first.
    package let similarNames: [String]

    /// Creates the answer of a checkpoint.
    init(name: String, among streams: [StreamDescription]) {
        self.name = name
        knownNames = streams.map(\.name)
        similarNames = SimilarNames.of(name, among: knownNames)
    }

    /// The message for people.
    package var message: String {
        let question = similarNames.map { "'\($0)'" }.joined(separator: " or ")
        return "The service has no sync stream named '\(name)', so nothing is synced for it."
            + (question.isEmpty ? "" : " Did you mean \(question)?")
    }
}

/// Finds names that a mistyped one may stand for.
enum SimilarNames {
    /// The most names to find.
    static let limit = 3
    /// Longer names are not compared.
    private static let longest = 64
    /// How many names are compared at most.
    private static let mostNames = 1_000

    /// The names that differ from a name by few letters, the nearest first.
    ///
    /// Upper and lower case do not count. A third of the letters may differ, at least one.
    ///
    /// - Complexity: O(number of names), up to 1,000.
    static func of(_ name: String, among names: [String]) -> [String] {
        let letters = Array(name.lowercased().unicodeScalars)
        guard letters.count <= longest else { return [] }
        let tolerance = max(1, letters.count / 3)
        var found: [(name: String, distance: Int)] = []
        for candidate in names.prefix(mostNames) where !candidate.utf8.elementsEqual(name.utf8) {
            let other = Array(candidate.lowercased().unicodeScalars)
            guard other.count <= longest, abs(other.count - letters.count) <= tolerance else { continue }
            let distance = distance(letters, other)
            if distance <= tolerance { found.append((candidate, distance)) }
        }
        // Stable: of equally near names, the one that is listed first.
        let sorted = found.enumerated().sorted { ($0.element.distance, $0.offset) < ($1.element.distance, $1.offset) }
        return sorted.prefix(limit).map(\.element.name)
    }

    /// How many letters have to be inserted, removed, replaced or swapped with their neighbour.
    private static func distance(_ a: [Unicode.Scalar], _ b: [Unicode.Scalar]) -> Int {
        // Distances between the first letters of `a`, up to two, one and no rows back, and those of `b`.
        var (second, last) = ([Int](), Array(0...b.count))
        for row in 0..<a.count {
            var current = [row + 1]
            for column in 0..<b.count {
                let replaced = last[column] + (a[row] == b[column] ? 0 : 1)
                var best = min(replaced, last[column + 1] + 1, current[column] + 1)
                if row > 0, column > 0, a[row] == b[column - 1], a[row - 1] == b[column] {
                    best = min(best, second[column - 1] + 1)
                }
                current.append(best)
            }
            (second, last) = (last, current)
        }
        return last[b.count]
    }
}

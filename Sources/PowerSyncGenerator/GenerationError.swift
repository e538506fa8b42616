/// Why no Swift code is made of a sync config and a schema.
struct GenerationError: Error, Sendable, CustomStringConvertible {
    /// Everything that is wrong: a sentence each, which names table, column or stream and says what to do.
    let problems: [String]

    /// Creates an error.
    init(_ problems: [String]) {
        self.problems = problems
    }

    /// The problems, a line each.
    var description: String { problems.joined(separator: "\n") }
}

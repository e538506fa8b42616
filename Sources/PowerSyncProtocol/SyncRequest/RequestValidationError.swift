/// Why the body of a sync request is not acceptable.
///
/// Services answer with status 400.
package struct RequestValidationError: Error, Sendable, Hashable {
    /// One thing that is wrong.
    package struct Problem: Sendable, Hashable {
        /// The field, `streams.subscriptions[0].parameters` for example; empty for the body as a whole.
        package let path: String
        /// What the field has to be.
        package let message: String
    }

    /// The number of problems that are listed at most.
    package static let maximumProblemCount = 20

    /// What is wrong, in the order of the fields.
    ///
    /// At least one.
    package let problems: [Problem]

    /// One sentence per problem, for ``ErrorEnvelope/validationFailed(_:)``.
    package var messages: [String] {
        problems.map { $0.path.isEmpty ? $0.message : "\($0.path): \($0.message)" }
    }
}

extension RequestValidationError: CustomStringConvertible {
    package var description: String { "invalid sync request: " + messages.joined(separator: "; ") }
}

/// Something that the demo claims did not happen.
struct DemoFailure: Error, CustomStringConvertible {
    /// What was expected, and what was seen instead.
    let description: String

    /// Creates a failure.
    init(_ description: String) {
        self.description = description
    }
}

/// Fails the demo unless a condition holds.
///
/// - Parameters:
///   - condition: What the demo claims.
///   - message: What was seen instead.
/// - Throws: ``DemoFailure`` with the message.
func expect(_ condition: Bool, _ message: @autoclosure () -> String) throws(DemoFailure) {
    guard condition else { throw DemoFailure(message()) }
}

/// Runs an operation that must end within a time.
///
/// - Parameters:
///   - limit: How long the operation may take; it is cancelled then.
///   - what: What is waited for, for the message.
///   - operation: What has to end in time.
/// - Returns: What the operation returns.
/// - Throws: ``DemoFailure`` when it takes too long, or the operation's error.
func within<Result: Sendable>(
    _ limit: Duration,
    _ what: String,
    _ operation: @escaping @Sendable () async throws -> Result
) async throws -> Result {
    try await withThrowingTaskGroup(of: Result?.self) { group in
        group.addTask { try await operation() }
        group.addTask {
            try await Task.sleep(for: limit)
            return nil
        }
        defer { group.cancelAll() }
        guard let first = try await group.next(), let result = first else {
            throw DemoFailure("\(what) did not happen within \(limit.components.seconds) seconds")
        }
        return result
    }
}

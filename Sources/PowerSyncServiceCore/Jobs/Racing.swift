/// Waits for what comes first of two operations, and cancels the other one.
///
/// - Parameters:
///   - first: An operation that ends soon when it is cancelled.
///   - second: Another one.
/// - Returns: The result of the one that has ended first, when both have ended.
/// - Throws: What that one has thrown.
package func firstOf<Result: Sendable>(
    _ first: @escaping @Sendable () async throws -> Result,
    or second: @escaping @Sendable () async throws -> Result
) async throws -> Result {
    try await withThrowingTaskGroup(of: Result.self) { group in
        defer { group.cancelAll() }
        group.addTask { try await first() }
        group.addTask { try await second() }
        guard let result = try await group.next() else { throw CancellationError() }
        return result
    }
}

/// Calls an operation, and cancels it when it takes too long.
///
/// - Parameters:
///   - limit: The time that it may take.
///   - clock: Measures the time.
///   - failure: The error of an operation that takes longer. It is thrown when the operation has ended.
///   - operation: Ends soon when it is cancelled.
/// - Returns: The result of `operation`.
/// - Throws: What `operation` throws, or `failure`.
package func withTimeout<Result: Sendable>(
    _ limit: Duration,
    clock: any Clock<Duration>,
    throwing failure: any Error,
    _ operation: @escaping @Sendable () async throws -> Result
) async throws -> Result {
    try await firstOf(operation) {
        try await clock.sleep(for: limit)
        throw failure
    }
}

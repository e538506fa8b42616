/// Knows when something that failed is worth trying again before its delay is over.
package protocol RetryOccasions: Sendable {
    /// How many occasions there have been.
    var count: UInt64 { get }

    /// Waits for an occasion, in the delay after a failure.
    ///
    /// - Parameters:
    ///   - attempt: What has failed.
    ///   - count: How many occasions there had been when it was tried: one that came since is not missed.
    /// - Throws: `CancellationError`
    func wait(toRetry attempt: RetriedAttempt, after count: UInt64) async throws
}

/// What a connection tries again when it has failed.
package enum RetriedAttempt: Sendable, Hashable {
    /// Opening the connection, and reading its lines.
    case download
    /// Uploading local writes.
    case upload
}

extension SyncContext {
    /// How many occasions for retries there have been; to be read before each attempt.
    var retryOccasions: UInt64 { environment.retries?.count ?? 0 }

    /// Waits after a failure.
    ///
    /// - Parameters:
    ///   - delay: The longest time.
    ///   - attempt: What has failed.
    ///   - count: How many occasions for retries there had been when it was tried.
    /// - Throws: `CancellationError`
    func wait(_ delay: Duration, toRetry attempt: RetriedAttempt, after count: UInt64) async throws {
        guard let retries = environment.retries else { return try await clock.sleep(for: delay) }
        try await withThrowingTaskGroup { tasks in
            defer { tasks.cancelAll() }
            tasks.addTask { [clock] in try await clock.sleep(for: delay) }
            tasks.addTask { try await retries.wait(toRetry: attempt, after: count) }
            try await tasks.next()
        }
    }
}

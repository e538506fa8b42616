extension Task where Success == Never, Failure == Never {
    /// Runs a body to its end, even if this task is or becomes cancelled, and waits for it.
    ///
    /// For what must not be half done: taking back what a cancelled call began, or several steps that only make sense
    /// together. The body does not see the cancellation, and so neither does what it calls; task-local values it does see.
    ///
    /// - Parameter body: What is done. The waiters of this task wait for it, too: it should be short.
    /// - Returns: What the body returns.
    /// - Throws: What the body throws.
    package static func ignoringCancellation<Value: Sendable>(
        _ body: @escaping @Sendable () async throws -> Value
    ) async throws -> Value {
        try await Task<Value, any Error> { try await body() }.value
    }

    /// Runs a body that does not throw to its end, even if this task is or becomes cancelled, and waits for it.
    ///
    /// - Parameter body: What is done.
    /// - Returns: What the body returns.
    package static func ignoringCancellation<Value: Sendable>(
        _ body: @escaping @Sendable () async -> Value
    ) async -> Value {
        await Task<Value, Never> { await body() }.value
    }
}

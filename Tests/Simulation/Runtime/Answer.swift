/// What one task waits for and something else gives, once: a value or an error.
///
/// `@unchecked`: the simulation has one thread.
final class Answer<Value: Sendable>: @unchecked Sendable {
    private var result: Result<Value, any Error>?
    private var continuation: CheckedContinuation<Value, any Error>?

    /// Whether it was given.
    var isGiven: Bool { result != nil }

    /// Gives it, unless it was given before.
    func give(_ result: Result<Value, any Error>) {
        guard self.result == nil else { return }
        self.result = result
        continuation?.resume(with: result)
        continuation = nil
    }

    /// Waits for it.
    ///
    /// - Throws: The error that was given, or `CancellationError`.
    func value() async throws -> Value {
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                if let result { continuation.resume(with: result) } else { self.continuation = continuation }
            }
        } onCancel: {
            give(.failure(CancellationError()))
        }
    }
}

import NIOConcurrencyHelpers

/// Tells that a file was written to, by whichever process.
///
/// A watch that has told something may be silent until it is armed again, so that a writer that never pauses costs as
/// little as one that writes once.
final class FileWatch: Sendable {
    private let path: String
    private let kernel: NIOLockedValueBox<KernelWatch?>

    /// One element after any number of writes since the watch was last armed.
    ///
    /// Finishes with ``cancel()``.
    let changes: AsyncStream<Void>
    private let signal: AsyncStream<Void>.Continuation

    /// Creates a watch that is not armed yet; `nil` where the system does not offer this.
    ///
    /// - Parameter path: The file, which may come and go.
    init?(path: String) {
        let (changes, signal) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        guard let kernel = KernelWatch(onChange: { signal.yield() }) else { return nil }
        self.path = path
        self.kernel = NIOLockedValueBox(kernel)
        self.changes = changes
        self.signal = signal
    }

    /// Asks for the next write.
    ///
    /// What was written before may be told or not.
    ///
    /// - Returns: Whether the system will tell.
    @discardableResult
    func arm() -> Bool {
        // Under the lock, so that the descriptor is not closed meanwhile.
        kernel.withLockedValue { $0?.arm(path) } ?? false
    }

    /// Stops watching.
    ///
    /// Idempotent.
    func cancel() {
        kernel.withLockedValue { kernel in
            kernel?.cancel()
            kernel = nil
        }
        signal.finish()
    }

    deinit {
        cancel()
    }
}

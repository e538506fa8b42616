import Synchronization

/// The newest checkpoint that a session has not looked at.
///
/// One task puts, one takes. A slow session finds only the newest checkpoint, and can look without waiting while it is
/// sending data.
final class CheckpointMailbox: Sendable {
    private struct State {
        var checkpoint: StorageCheckpoint?
        var isFinished = false
    }

    private let state = Mutex(State())
    private let signal = ChangeSignal()

    /// Replaces what has not been taken.
    func put(_ checkpoint: StorageCheckpoint) {
        state.withLock { $0.checkpoint = checkpoint }
        signal.advance()
    }

    /// Whether another stream has become active, so that what this one holds may be deleted at any time.
    var isFinished: Bool { state.withLock(\.isFinished) }

    /// No more checkpoints follow, and the last one is void: another stream has become active.
    func finish() {
        state.withLock { $0 = State(checkpoint: nil, isFinished: true) }
        signal.advance()
    }

    /// Takes the checkpoint, if there is one.
    func takeIfAvailable() -> StorageCheckpoint? {
        state.withLock { state in
            defer { state.checkpoint = nil }
            return state.checkpoint
        }
    }

    /// Waits for a checkpoint and takes it.
    ///
    /// - Returns: `nil` when none follows.
    /// - Throws: `CancellationError` when the task is cancelled.
    func take() async throws -> StorageCheckpoint? {
        while true {
            let seen = signal.version
            if let checkpoint = takeIfAvailable() { return checkpoint }
            if state.withLock({ $0.isFinished }) { return nil }
            try await signal.wait(after: seen)
        }
    }
}

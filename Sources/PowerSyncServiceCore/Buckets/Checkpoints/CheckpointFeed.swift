import NIOConcurrencyHelpers

/// The newest checkpoint of the stream that is served, for any number of readers in this process.
///
/// Every storage owns one: it is set when the storage is opened, and after every commit. Readers follow it through a
/// ``CheckpointSequence`` (docs/service.md "Checkpoints").
package final class CheckpointFeed: Sendable {
    private let latest: NIOLockedValueBox<StorageCheckpoint?>
    /// Advanced after every published checkpoint.
    package let signal = ChangeSignal()

    /// Creates a feed.
    ///
    /// - Parameter checkpoint: The checkpoint of the active stream, if there is one.
    package init(_ checkpoint: StorageCheckpoint? = nil) {
        latest = NIOLockedValueBox(checkpoint)
    }

    /// The newest checkpoint; `nil` before the first activation.
    package var current: StorageCheckpoint? { latest.withLockedValue { $0 } }

    /// Publishes a checkpoint of the active stream.
    ///
    /// A checkpoint of a stream or a config that is not newer than what was published is ignored: it arrived late.
    package func publish(_ checkpoint: StorageCheckpoint) {
        let isNews = latest.withLockedValue { latest in
            if let latest {
                if checkpoint.serving == latest.serving, !checkpoint.advances(over: latest) { return false }
                if checkpoint.serving < latest.serving { return false }
            }
            latest = checkpoint
            return true
        }
        if isNews { signal.advance() }
    }

    /// The checkpoints of a stream with one of its configs, beginning with the current one.
    package func checkpoints(of serving: ServedConfigID) -> CheckpointSequence {
        CheckpointSequence(feed: self, serving: serving)
    }

    /// The newest checkpoint of a stream that advances over one, or `nil` when another stream or config is active.
    fileprivate func next(
        of serving: ServedConfigID,
        after last: StorageCheckpoint?
    ) async throws -> StorageCheckpoint? {
        while true {
            let seen = signal.version
            guard let current, current.serving == serving else { return nil }
            guard let last else { return current }
            if current.advances(over: last) { return current }
            try await signal.wait(after: seen)
        }
    }
}

/// The checkpoints of one stream, with latest-value semantics: a slow consumer skips what lies between.
///
/// The first element is the current checkpoint. The sequence ends when another stream or another config of it
/// becomes active.
package struct CheckpointSequence: AsyncSequence, Sendable {
    package typealias Element = StorageCheckpoint

    fileprivate let feed: CheckpointFeed
    fileprivate let serving: ServedConfigID

    /// Remembers what one consumer has seen.
    package struct Iterator: AsyncIteratorProtocol {
        fileprivate let sequence: CheckpointSequence
        fileprivate var last: StorageCheckpoint?

        /// Waits for a checkpoint that advances over the last one.
        ///
        /// - Returns: `nil` when another stream has become active.
        /// - Throws: `CancellationError` when the task is cancelled while waiting.
        package mutating func next() async throws -> StorageCheckpoint? {
            let next = try await sequence.feed.next(of: sequence.serving, after: last)
            if let next { last = next }
            return next
        }
    }

    package func makeAsyncIterator() -> Iterator {
        Iterator(sequence: self)
    }
}

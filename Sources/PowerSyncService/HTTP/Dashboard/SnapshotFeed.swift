import Foundation
import Logging
import NIOConcurrencyHelpers
import NIOCore
import PowerSyncServiceCore
import ServiceLifecycle

/// Takes a snapshot a second for all watchers together, and none while there is no watcher.
final class SnapshotFeed: Service {
    /// A subscriber of snapshots, which counts until it leaves.
    ///
    /// The last reference to a watcher leaves, too: a response that is never written is dropped, and no code is left
    /// that could do it.
    final class Watcher: Sendable {
        private let feed: SnapshotFeed
        private let seen = NIOLockedValueBox<UInt64>(0)
        private let isStopped = NIOLockedValueBox(false)
        private let hasLeft = NIOLockedValueBox(false)

        fileprivate init(_ feed: SnapshotFeed) {
            self.feed = feed
        }

        deinit { leave() }

        /// Counts no longer; does nothing the second time.
        func leave() {
            let isFirst = hasLeft.withLockedValue { hasLeft in
                defer { hasLeft = true }
                return !hasLeft
            }
            if isFirst { feed.leave() }
        }

        /// Ends the wait for a snapshot.
        func stop() {
            isStopped.withLockedValue { $0 = true }
            feed.changed.advance()
        }

        /// Waits for a snapshot that this watcher has not seen; a slow watcher misses some.
        ///
        /// - Returns: The snapshot as a server-sent event, or that there is none; `nil` after ``stop()``, and when the
        ///   service ends.
        /// - Throws: `CancellationError` when the task is cancelled.
        func next() async throws -> ByteBuffer? {
            while true {
                let version = feed.changed.version
                let (isStopped, event) = feed.state.withLockedValue { ($0.isStopped, $0.latest) }
                if isStopped || self.isStopped.withLockedValue(\.self) { return nil }
                if let event, event.number > seen.withLockedValue(\.self) {
                    seen.withLockedValue { $0 = event.number }
                    return event.bytes
                }
                try await feed.changed.wait(after: version)
            }
        }
    }

    private struct Event {
        /// Counted from 1.
        var number: UInt64
        var bytes: ByteBuffer
    }

    private struct State {
        var watchers = 0
        var count: UInt64 = 0
        var latest: Event?
        var isStopped = false
    }

    /// The event instead of a snapshot: the reason is in the log only, as it may name secrets.
    private static let failure = ByteBuffer(
        string: "data: {\"error\":\"The service cannot look at its storage; its log says why\"}\n\n"
    )

    /// The time between two snapshots.
    static let interval = Duration.seconds(1)

    private let clock: any Clock<Duration>
    private let logger: Logger
    private let take: @Sendable () async throws -> ServiceSnapshot
    private let state = NIOLockedValueBox(State())
    /// Advanced when there is another snapshot, and when a watcher comes.
    private let changed = ChangeSignal()

    /// Creates a feed.
    ///
    /// - Parameters:
    ///   - clock: Measures the pauses.
    ///   - logger: Gets errors.
    ///   - take: Takes a snapshot.
    init(
        clock: any Clock<Duration>,
        logger: Logger,
        take: @escaping @Sendable () async throws -> ServiceSnapshot
    ) {
        self.clock = clock
        self.logger = logger
        self.take = take
    }

    /// The count of snapshots that were taken or failed.
    var count: UInt64 { state.withLockedValue(\.count) }

    /// The count of watchers.
    var watcherCount: Int { state.withLockedValue(\.watchers) }

    /// Begins to watch.
    func watch() -> Watcher {
        state.withLockedValue { $0.watchers += 1 }
        changed.advance()
        return Watcher(self)
    }

    private func leave() {
        state.withLockedValue { state in
            state.watchers -= 1
            // The next watcher does not get an old snapshot.
            if state.watchers == 0 { state.latest = nil }
        }
    }

    /// Takes snapshots until shutdown or cancellation.
    func run() async throws {
        defer {
            state.withLockedValue { $0.isStopped = true }
            changed.advance()
        }
        try await PeriodicJob(every: Self.interval, clock: clock, startingWith: nil as String?) { problem in
            try await self.waitForWatcher()
            problem = try await self.publish(lastProblem: problem)
        }.run()
    }

    private func waitForWatcher() async throws {
        while true {
            let version = changed.version
            if watcherCount > 0 { return }
            try await changed.wait(after: version)
        }
    }

    /// Takes a snapshot.
    ///
    /// - Parameter lastProblem: What has been logged already.
    /// - Returns: Why it could not be taken.
    /// - Throws: `CancellationError`.
    private func publish(lastProblem: String?) async throws -> String? {
        do {
            let snapshot = try await take()
            var bytes = ByteBuffer(string: "data: ")
            bytes.writeBytes(try JSONEncoder.forAnswers.encode(snapshot))
            bytes.writeString("\n\n")
            publish(bytes)
            return nil
        } catch {
            if error is CancellationError || Task.isCancelled { throw CancellationError() }
            let problem = "\(error)"
            if problem != lastProblem {
                logger.error("The dashboard could not look at the service", metadata: [LogKey.error: "\(problem)"])
            }
            publish(Self.failure)
            return problem
        }
    }

    private func publish(_ bytes: ByteBuffer) {
        state.withLockedValue { state in
            state.count += 1
            if state.watchers > 0 { state.latest = Event(number: state.count, bytes: bytes) }
        }
        changed.advance()
    }
}

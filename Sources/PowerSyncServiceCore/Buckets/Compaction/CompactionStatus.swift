import NIOConcurrencyHelpers

/// When the storage was compacted last by this process, and what that has done, for operators.
package final class CompactionStatus: Sendable {
    /// A run that has ended.
    package struct Run: Sendable, Equatable {
        /// When it ended, in seconds since 1970.
        package var endedAt: Double
        /// What it has done; `nil` for one that failed.
        package var result: CompactionResult?
        /// Why it failed.
        package var error: String?
    }

    private struct State {
        var isRunning = false
        var last: Run?
    }

    private let state = NIOLockedValueBox(State())
    private let now: @Sendable () -> Double

    /// Nothing has been compacted.
    ///
    /// - Parameter now: The seconds since 1970.
    package init(now: @escaping @Sendable () -> Double = { Timing().seconds }) {
        self.now = now
    }

    /// Whether a run is going on.
    package var isRunning: Bool { state.withLockedValue(\.isRunning) }

    /// The run that has ended last.
    package var last: Run? { state.withLockedValue(\.last) }

    /// A run begins.
    func didStart() {
        state.withLockedValue { $0.isRunning = true }
    }

    /// The run has ended.
    func didEnd(_ result: CompactionResult?, error: String? = nil) {
        let run = Run(endedAt: now(), result: result, error: error)
        state.withLockedValue { $0 = State(last: run) }
    }
}

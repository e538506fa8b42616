import Foundation
import NIOConcurrencyHelpers
import PowerSyncClient
import PowerSyncSQLite

/// A coalescing flag that says "look at the attachments".
typealias SyncTrigger = CoalescingTrigger<SyncReason>

/// Why to look at the attachments, from the weakest to the strongest reason.
enum SyncReason: Int, Comparable, Sendable {
    /// A transfer has ended: the next one may begin, without a look.
    case transferEnded
    /// Rows have changed, or the interval has passed.
    case routine
    /// The service can be reached again, or the app asks: what failed is worth another attempt at once.
    case hope

    static func < (lhs: SyncReason, rhs: SyncReason) -> Bool {
        lhs.rawValue < rhs.rawValue
    }
}

/// Transfers attachments from one start to the next stop (docs/attachments.md "Transfers").
///
/// ```
///  timer ─────────┐                                                  ┌─► attempt ─► commit ─┐
///  active rows ───┼─► trigger ──throttle──► look ─► schedule ─limit──┼─► attempt ─► commit ─┼─► ended: next
///  connectivity ──┤     (coalescing)         ▲                       └─► …                  │
///  app ───────────┘                          └── a wait after a failure is over ◄───────────┘
/// ```
///
/// Each attempt is a task of its own, so that one that ignores cancellation can be left behind. What such a task finds out is thrown away:
/// results are written only before the end.
final class TransferRun: Sendable {
    /// How far the run is.
    enum Phase {
        /// Attempts begin, and their results are written.
        case running
        /// No attempt begins any more, and none begins to write its result.
        case ending
        /// No result is written any more.
        case ended
    }

    struct State {
        var phase = Phase.running
        var schedule: TransferSchedule
        var backoff: TransferBackoff
        /// How many looks were hopeful.
        var hopefulLooks = 0
        var tasks: [ExactText: LeavableTask<Void>] = [:]
        /// Where the files are that waited for their upload at the last look, in lower case.
        var unsentPaths: Set<String> = []
        /// When the first of the attachments that failed may be tried again.
        var nextRetry: Duration?
        /// Whether the table cannot be watched any more: its database was closed.
        var isWatchOver = false
        /// Whether parts of downloads are of no use any more.
        var discardsParts = false
    }

    /// How long a failed look at the table waits.
    static let waitAfterFailedLook = Duration.seconds(1)

    let context: TransferContext
    let interval: Duration?
    private let trigger: SyncTrigger
    let wakes = SyncTrigger()
    /// Held while a row is written.
    let writing = AsyncLock()
    let state: NIOLockedValueBox<State>

    /// Creates a run.
    ///
    /// - Parameters:
    ///   - context: What transfers need.
    ///   - interval: The time between two looks without a reason; `nil` for none.
    ///   - trigger: Causes looks.
    init(context: TransferContext, interval: Duration?, trigger: SyncTrigger) {
        self.context = context
        self.interval = interval
        self.trigger = trigger
        state = NIOLockedValueBox(
            State(
                schedule: TransferSchedule(limit: context.options.maxConcurrentTransfers),
                backoff: TransferBackoff(syncInterval: interval)
            )
        )
    }

    /// Transfers until the task is cancelled or the database is closed.
    func run() async {
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await self.forwardTriggers() }
            group.addTask { await self.tick() }
            group.addTask { await self.followActiveRows() }
            await dispatch()
            group.cancelAll()
        }
        cancelAttempts()
    }

    /// Cancels the attempts; no other one begins.
    ///
    /// - Parameter discardsParts: Whether attempts that end later remove what they have downloaded.
    func cancelAttempts(discardsParts: Bool = false) {
        let tasks = state.withLockedValue { state in
            if discardsParts { state.discardsParts = true }
            // With the list of attempts, or a look that is still running begins an attempt that is not cancelled.
            if state.phase == .running { state.phase = .ending }
            return Array(state.tasks.values)
        }
        // What the app does in a cancellation may call the queue.
        for task in tasks { task.cancel() }
    }

    /// Waits until the attempts have returned that run now.
    ///
    /// - Throws: `CancellationError`
    func attemptsEnd() async throws {
        for task in state.withLockedValue({ $0.tasks.values }) { try await task.end() }
    }

    /// Ends the run: when it returns, no result is written any more, whatever attempts are left.
    ///
    /// It waits for a row that is being written, and for nothing of the app's.
    func end() async {
        await writing.withLockIgnoringCancellation {
            state.withLockedValue { $0.phase = .ended }
        }
    }

    /// Begins no attempt any more.
    ///
    /// - Returns: The attempts that run, which the caller cancels outside of its locks.
    func pause() -> [LeavableTask<Void>] {
        state.withLockedValue { state in
            state.schedule.isPaused = true
            return Array(state.tasks.values)
        }
    }

    /// Begins attempts again.
    func resume() {
        state.withLockedValue { $0.schedule.isPaused = false }
        wakes.fire(.routine)
    }

    /// Replaces the ids that go first.
    func prioritize(_ ids: [String]) {
        state.withLockedValue { $0.schedule.prioritize(ids) }
    }
}

// Triggers.
extension TransferRun {
    private func forwardTriggers() async {
        while let reason = try? await trigger.wait() {
            wakes.fire(reason)
            guard (try? await context.clock.sleep(for: context.options.throttle)) != nil else { return }
        }
    }

    private func tick() async {
        guard let interval else { return }
        while (try? await context.clock.sleep(for: interval)) != nil {
            trigger.fire(.routine)
        }
    }

    private func followActiveRows() async {
        while !Task.isCancelled {
            do {
                for try await _ in try await context.service.watchActiveAttachments() { trigger.fire(.routine) }
                // The database was closed, which the next look finds.
                state.withLockedValue { $0.isWatchOver = true }
                return trigger.fire(.routine)
            } catch {
                guard !Task.isCancelled else { return }
                context.log(.error, "Watching the attachments failed: \(error.localizedDescription)")
                guard (try? await context.clock.sleep(for: TransferRun.waitAfterFailedLook)) != nil else { return }
            }
        }
    }
}

import Foundation
import Synchronization

@testable import PowerSyncService

/// A clock that a test moves by hand.
///
/// ```swift
/// let clock = ManualClock()
/// async let done: Void = clock.sleep(for: .seconds(20))
/// await clock.nextTimerScheduled()
/// clock.advance(by: .seconds(20))
/// try await done
/// ```
final class ManualClock: Clock, Sendable {
    struct Instant: InstantProtocol {
        var offset: Duration
        func advanced(by duration: Duration) -> Instant { Instant(offset: offset + duration) }
        func duration(to other: Instant) -> Duration { other.offset - offset }
        static func < (lhs: Instant, rhs: Instant) -> Bool { lhs.offset < rhs.offset }
    }

    private struct Timer {
        var id: UInt64
        var deadline: Instant
        var continuation: CheckedContinuation<Void, any Error>
    }

    private struct State {
        var now = Instant(offset: .zero)
        var nextID: UInt64 = 0
        var timers: [Timer] = []
        /// Timers that were scheduled and not waited for yet.
        var scheduled = 0
        var observers: [CheckedContinuation<Void, Never>] = []
    }

    private let state = Mutex(State())

    var now: Instant { state.withLock { $0.now } }
    var minimumResolution: Duration { .zero }

    func sleep(until deadline: Instant, tolerance: Duration?) async throws {
        let id = state.withLock { state in
            state.nextID += 1
            return state.nextID
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
                enum Outcome { case done, cancelled, scheduled([CheckedContinuation<Void, Never>]) }
                let outcome = state.withLock { state -> Outcome in
                    if Task.isCancelled { return .cancelled }
                    if deadline <= state.now { return .done }
                    state.timers.append(Timer(id: id, deadline: deadline, continuation: continuation))
                    if state.observers.isEmpty { state.scheduled += 1 }
                    defer { state.observers = [] }
                    return .scheduled(state.observers)
                }
                switch outcome {
                case .done: continuation.resume()
                case .cancelled: continuation.resume(throwing: CancellationError())
                case .scheduled(let observers): for observer in observers { observer.resume() }
                }
            }
        } onCancel: {
            let timer = state.withLock { state -> Timer? in
                guard let index = state.timers.firstIndex(where: { $0.id == id }) else { return nil }
                return state.timers.remove(at: index)
            }
            timer?.continuation.resume(throwing: CancellationError())
        }
    }

    /// Waits until a task sleeps; every sleep is waited for once.
    func nextTimerScheduled() async {
        await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
            let isScheduled = state.withLock { state in
                if state.scheduled > 0 {
                    state.scheduled -= 1
                    return true
                }
                state.observers.append(continuation)
                return false
            }
            if isScheduled { continuation.resume() }
        }
    }

    /// Waits until a task sleeps that is to be woken exactly this much later.
    ///
    /// Returns at once when one does. Not for tests that also use ``nextTimerScheduled()``.
    func timerScheduled(in delay: Duration) async {
        var isScheduled = false
        while !isScheduled {
            await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
                isScheduled = state.withLock { state in
                    let deadline = state.now.advanced(by: delay)
                    if state.timers.contains(where: { $0.deadline == deadline }) { return true }
                    state.observers.append(continuation)
                    return false
                }
                if isScheduled { continuation.resume() }
            }
        }
    }

    /// Moves the time, and wakes every task whose deadline has come.
    func advance(by duration: Duration) {
        let due = state.withLock { state in
            state.now = state.now.advanced(by: duration)
            let now = state.now
            defer { state.timers.removeAll { $0.deadline <= now } }
            return state.timers.filter { $0.deadline <= now }.sorted { $0.deadline < $1.deadline }
        }
        for timer in due { timer.continuation.resume() }
    }
}

extension ManualClock {
    /// The wall-clock time at the beginning.
    static let start = Date(timeIntervalSince1970: 1_767_225_700)

    /// The wall-clock time.
    var date: Date { Self.start.addingTimeInterval(now.offset / .seconds(1)) }

    /// Time that passes only when the clock is moved; keepalives every 20 s.
    var timing: Timing { Timing(clock: self, now: { self.date }, random: { 0.5 }) }
}

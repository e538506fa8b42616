import Foundation
import Hummingbird
import PowerSyncProtocol
import PowerSyncServiceCore
import Synchronization

/// What health checks are told (docs/service.md "Requests").
final class Probes: Sendable {
    /// The three questions.
    enum Question: String, CaseIterable, Sendable {
        case startup, liveness, readiness
    }

    /// Without a touch for this long, the process does not count as alive.
    ///
    /// In seconds.
    static let livenessLimit = 10.0

    private struct State {
        var isStarted = false
        var touchedAt: Date
    }

    private let state: Mutex<State>
    private let now: @Sendable () -> Date

    /// Creates the probes of a process that is starting.
    init(now: @escaping @Sendable () -> Date) {
        self.now = now
        state = Mutex(State(touchedAt: now()))
    }

    /// Everything runs: the listener, the storage, and replication, which has something to serve.
    func didStart() {
        state.withLock { $0.isStarted = true }
    }

    /// The process ends.
    func didStop() {
        state.withLock { $0.isStarted = false }
    }

    /// Replication has made progress, or has found that there is nothing to do.
    func touch() {
        state.withLock { $0.touchedAt = now() }
    }

    /// The answer to a health check.
    func response(to question: Question) -> Response {
        let (isStarted, touchedAt) = state.withLock { ($0.isStarted, $0.touchedAt) }
        let isHealthy =
            switch question {
            case .startup, .readiness: isStarted
            case .liveness: now().timeIntervalSince(touchedAt) < Self.livenessLimit
            }
        let format = Date.ISO8601FormatStyle(includingFractionalSeconds: true)
        return Response(
            status: isHealthy ? .ok : .badRequest,
            json: [
                "ready": .bool(isStarted), "started": .bool(isStarted),
                "touched_at": .string(touchedAt.formatted(format)),
            ]
        )
    }
}

import Foundation
import Hummingbird
import NIOConcurrencyHelpers
import PowerSyncProtocol
import PowerSyncServiceCore

/// The state that answers health checks: startup, readiness, liveness (docs/service.md "Requests").
final class Probes: Sendable {
    /// The three questions.
    enum Question: String, CaseIterable, Sendable {
        case startup, liveness, readiness
    }

    /// Without a touch for this long, the process does not count as alive.
    static let livenessLimit = Duration.seconds(10)

    /// The reasons for which a service that runs is not ready.
    enum Problem: String, Hashable, Sendable {
        /// Database files are damaged or gone: writes would be lost with the process.
        case files = "A database file of the service is gone or was replaced, cut short or made read-only"
        /// The storage cannot be written: clients get no new checkpoints.
        case storage = "The bucket storage cannot be written"
    }

    private struct State {
        var isStarted = false
        /// The time of the wall clock at the last touch, which is only shown.
        var touchedAt: Date
        /// How long the process had lived at the last touch, which is what counts: setting the wall clock does not change it.
        var age = Duration.zero
        var problems: Set<Problem> = []
        /// What is said of each table that is left out, by the stream that leaves it out.
        var obstacles: [ReplicationStreamID: [TableObstacle]] = [:]
        /// Since when the source cannot be read; `nil` while it can.
        var sourceFailsSince: Date?

        var isReady: Bool { isStarted && problems.isEmpty }
    }

    private let state: NIOLockedValueBox<State>
    private let now: @Sendable () -> Date
    private let stopwatch: Stopwatch
    private let copies: @Sendable () -> [ServiceSnapshot.Copy]

    /// Creates the probes of a process that is starting.
    ///
    /// - Parameters:
    ///   - timing: The clocks.
    ///   - copies: The tables that are being copied, which is said and does not matter otherwise.
    init(_ timing: Timing, copies: @escaping @Sendable () -> [ServiceSnapshot.Copy] = { [] }) {
        self.copies = copies
        now = timing.now
        stopwatch = Stopwatch(timing.clock)
        state = NIOLockedValueBox(State(touchedAt: timing.now()))
    }

    /// Everything runs: the listener, the storage, and replication, which has something to serve.
    func didStart() {
        state.withLockedValue { $0.isStarted = true }
    }

    /// The process ends.
    func didStop() {
        state.withLockedValue { $0.isStarted = false }
    }

    /// Replication has made progress, or has found that there is nothing to do.
    func touch() {
        state.withLockedValue { ($0.touchedAt, $0.age) = (now(), stopwatch.elapsed) }
    }

    /// There is a problem.
    ///
    /// - Returns: Whether it is a new one.
    @discardableResult
    func found(_ problem: Problem) -> Bool {
        state.withLockedValue { $0.problems.insert(problem).inserted }
    }

    /// There is no such problem, or no longer.
    ///
    /// - Returns: Whether there was one.
    @discardableResult
    func solved(_ problem: Problem) -> Bool {
        state.withLockedValue { $0.problems.remove(problem) != nil }
    }

    /// Whether there is a problem.
    func has(_ problem: Problem) -> Bool {
        state.withLockedValue { $0.problems.contains(problem) }
    }

    /// All problems that there are.
    var problems: Set<Problem> { state.withLockedValue { $0.problems } }

    /// These tables are left out of a stream: the process is as ready as any other, and says so all the same.
    func leavesOut(_ obstacles: [TableObstacle], of stream: ReplicationStreamID) {
        state.withLockedValue { $0.obstacles[stream] = obstacles.isEmpty ? nil : obstacles }
    }

    /// The source cannot be read, or it can again: the process is as ready as any other, as clients get what there is, and says so all
    /// the same.
    ///
    /// - Parameter date: Since when it cannot be read; `nil` for one that can.
    func sourceFails(since date: Date?) {
        state.withLockedValue { $0.sourceFailsSince = date }
    }

    /// What is said of the tables that are left out, each once.
    var leftOut: [String] { Self.leftOut(state.withLockedValue { $0 }) }

    private static func leftOut(_ state: State) -> [String] {
        Set(state.obstacles.values.joined().map(\.message)).sorted()
    }

    /// The answer to a health check.
    func response(to question: Question) -> Response {
        let state = state.withLockedValue { $0 }
        let isHealthy =
            switch question {
            case .startup: state.isStarted
            case .readiness: state.isReady
            case .liveness: stopwatch.elapsed - state.age < Self.livenessLimit
            }
        return Response(status: isHealthy ? .ok : .badRequest, json: body)
    }

    /// What each answer says besides yes or no.
    var body: JSONObject {
        let state = state.withLockedValue { $0 }
        let format = Date.ISO8601FormatStyle(includingFractionalSeconds: true)
        var json: JSONObject = [
            "ready": .bool(state.isReady), "started": .bool(state.isStarted),
            "touched_at": .string(state.touchedAt.formatted(format)),
        ]
        if !state.problems.isEmpty {
            json["problems"] = .array(state.problems.map(\.rawValue).sorted().map { .string($0) })
        }
        if let since = state.sourceFailsSince { json["source_fails_since"] = .string(since.formatted(format)) }
        let leftOut = Self.leftOut(state)
        if !leftOut.isEmpty { json["left_out"] = .array(leftOut.map { .string($0) }) }
        let copies = copies()
        if !copies.isEmpty {
            json["copying"] = .array(
                copies.map { copy in
                    var json: JSONObject = [
                        "table": .string(copy.table), "rows": .integer(Int64(copy.rows)),
                        "copied_tables": .integer(Int64(copy.copiedTables)), "tables": .integer(Int64(copy.tables)),
                    ]
                    if let count = copy.estimatedRows { json["estimated_rows"] = .integer(count) }
                    return .object(json)
                }
            )
        }
        return json
    }
}

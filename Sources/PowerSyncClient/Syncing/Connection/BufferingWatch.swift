import Foundation
import NIOConcurrencyHelpers
import PowerSyncProtocol

/// Notices that something between the service and the client, a proxy most likely, collects lines instead of passing
/// them on; then says so in the log, and in the activity for as long as it lasts.
///
/// One for all streams of a connection, of which one at a time is open. Only over HTTP there is something to notice: what
/// goes through a WebSocket are frames of an upgraded connection, which no proxy collects, and answers to keepalives show
/// that it does not.
final class BufferingWatch: Sendable {
    /// The time in which the first line follows the head of a response.
    ///
    /// The service sends a keepalive every 20 s, plus or minus 10 %, whatever else it does.
    static let firstLineLimit = Duration.seconds(25)

    private struct State {
        var machine = StateMachine()
        /// Since when there is a suspicion.
        var since: Date?
        /// Who has passed the last response on.
        var via: String?
    }

    private let context: SyncContext
    private let isOverHTTP: Bool
    private let state = NIOLockedValueBox(State())

    init(context: SyncContext) {
        self.context = context
        isOverHTTP = context.options.transport == .http
    }

    /// The service has accepted a request.
    ///
    /// - Parameter via: Who has passed its answer on, if somebody says so.
    func streamOpened(via: String?) {
        perform { state in
            state.via = via
            return state.machine.streamOpened()
        }
    }

    /// Lines have arrived, or bytes that complete none.
    ///
    /// - Parameters:
    ///   - lines: The lines.
    ///   - wait: How long they were waited for.
    func received(_ lines: [ReceivedLine], after wait: Duration) {
        let keepalives = lines.compactMap { line in
            if case .keepalive(let seconds) = line.line { seconds } else { nil }
        }
        perform { $0.machine.received(keepalives: keepalives, at: context.clock.now, after: wait) }
    }

    /// Runs `body`, which waits for the first bytes of a stream, and speaks up when they do not come.
    func watchForFirstLine<Result>(_ body: () async throws -> Result) async throws -> Result {
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            defer { tasks.cancelAll() }
            tasks.addTask {
                guard (try? await self.context.clock.sleepAwake(for: Self.firstLineLimit)) != nil else { return }
                self.perform { $0.machine.firstLineIsLate() }
            }
            return try await body()
        }
    }

    /// The service is given up, because nothing has arrived for too long.
    ///
    /// - Returns: Whether a stream was open.
    func serviceFellSilent() -> Bool {
        let isOpen = state.withLockedValue { $0.machine.isStreamOpen }
        perform { $0.machine.streamFellSilent() }
        return isOpen
    }

    /// The stream has ended in another way.
    func streamEnded() {
        state.withLockedValue { $0.machine.streamEnded() }
    }

    private func perform(_ event: (inout State) -> StateMachine.Action?) {
        let now = context.environment.now()
        let (action, since, via) = state.withLockedValue { state in
            let action = event(&state)
            switch action {
            case .warn: state.since = now
            case .clear: state.since = nil
            case .show, nil: break
            }
            return (action, state.since ?? now, state.via)
        }
        guard isOverHTTP else { return }
        switch action {
        case .warn(let sign):
            context.log(.warning, warning(sign, via: via))
            context.report { activity, _ in activity.streamBuffered(via: via, since: since) }
        case .show:
            context.report { activity, _ in activity.streamBuffered(via: via, since: since) }
        case .clear:
            context.log(.info, "The lines of the sync stream arrive in time again.")
            context.report { activity, _ in activity.streamFlows() }
        case nil: break
        }
    }

    private func warning(_ sign: StateMachine.Sign, via: String?) -> String {
        let symptom =
            switch sign {
            case .noFirstLine:
                "The sync stream is open, but nothing has arrived for \(Self.firstLineLimit) after its head."
            case .silence:
                "The sync stream opens, but falls silent each time."
            case .bursts:
                "The lines of the sync stream arrive late and several at once."
            }
        let proxy = via.map { ", perhaps \"\($0)\", which has passed the response on" } ?? ""
        return """
            \(symptom) The service sends a line at least every 20 seconds, so something in between seems to collect \
            what it sends: a proxy that buffers responses\(proxy). Switch buffering off there for /sync/stream, or connect \
            with SyncClientConfiguration(transport: .webSocket).
            """
    }
}

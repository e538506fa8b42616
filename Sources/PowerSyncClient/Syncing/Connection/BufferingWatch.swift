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

    /// Since when there is a suspicion, and what has passed the last response on, beside what tells whether there is one.
    private typealias State = (machine: StateMachine, since: Date?, via: String?)

    private let context: SyncContext
    private let isOverHTTP: Bool
    private let state = NIOLockedValueBox<State>((StateMachine(), nil, nil))

    init(context: SyncContext) {
        self.context = context
        isOverHTTP = context.options.transport == .http
    }

    /// The service has accepted a request.
    ///
    /// - Parameter via: The proxy that has passed its answer on, if the answer names one.
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
            context.log(.info, "The lines of the sync service arrive in time again.")
            context.report { activity, _ in activity.streamFlows() }
        case nil: break
        }
    }

    private func warning(_ sign: StateMachine.Sign, via: String?) -> String {
        let symptom =
            switch sign {
            case .noFirstLine:
                "The connection is open, but nothing has arrived for \(Self.firstLineLimit) after its head."
            case .silence:
                "The connection opens, but falls silent each time."
            case .bursts:
                "The lines of the sync service arrive late and several at once."
            }
        let proxy = via.map { ", perhaps \"\($0)\", which has passed the response on" } ?? ""
        return """
            \(symptom) The service sends a line at least every 20 seconds, so something in between seems to collect \
            what it sends: a proxy that buffers responses\(proxy). Switch buffering off there for /sync/stream, or connect \
            with SyncClientConfiguration(transport: .webSocket).
            """
    }
}

extension BufferingWatch {
    /// Tells from when things arrive whether something on the way collects them.
    ///
    /// The service sends a line at least every 22 seconds, a keepalive if there is nothing else, and each keepalive says
    /// for how long the token is still valid. Three signs contradict that:
    ///
    /// ```
    ///  no first line   response head ── 25 s, not a byte ──▶
    ///  silence         lines ── 40 s, not a byte ──▶ new stream: lines ── 40 s, not a byte ──▶
    ///  bursts          ── 10 s or more, not a byte ──▶ two keepalives that were sent 10 s or more apart, at once; twice
    /// ```
    ///
    /// A suspicion outlives the stream, because the next one opens as well as the one before. It ends when keepalives
    /// come in the rhythm in which they are sent. A device that slept, and a database that was busy, see one burst.
    struct StateMachine: Sendable {
        /// What contradicts the rhythm of the service.
        enum Sign: Sendable, Hashable {
            /// The response has begun, and nothing followed.
            case noFirstLine
            /// Streams fell silent, one after the other.
            case silence
            /// Lines came late and together.
            case bursts
        }

        /// What to do.
        enum Action: Sendable, Hashable {
            /// Tell of a suspicion, and show it.
            case warn(Sign)
            /// Show that the suspicion of an earlier stream still stands.
            case show
            /// The suspicion was wrong, or the cause is gone.
            case clear
        }

        private typealias Keepalive = (tokenExpiresIn: Int32, arrival: Duration)

        /// What is known of the stream that is open.
        private struct Stream {
            var hasReceived = false
            var lastKeepalive: Keepalive?
            /// When the last silence ended; `nil` when its burst was counted.
            var silenceEnd: Duration?
            var bursts = 0
        }

        /// A silence that could be noticed: half the time between two keepalives.
        private static let silence = Duration.seconds(10)
        /// What arrives within this time after a silence arrives together.
        private static let burst = Duration.seconds(5)
        /// What rounding and an ordinary network add to the time between two keepalives.
        private static let tolerance = Duration.seconds(3)
        /// The bursts, and the silent streams, that are needed for a suspicion.
        private static let limit = 2

        private var stream: Stream?
        private var silentStreams = 0
        private var isSuspicious = false
    }
}

extension BufferingWatch.StateMachine {
    /// Whether there is a stream.
    var isStreamOpen: Bool { stream != nil }

    /// The service has accepted a request.
    mutating func streamOpened() -> Action? {
        stream = Stream()
        return isSuspicious ? .show : nil
    }

    /// Something has arrived, whether or not it completes a line.
    ///
    /// - Parameters:
    ///   - keepalives: The times for which the token is valid, in seconds.
    ///   - now: When.
    ///   - wait: How long it was waited for.
    /// - Returns: What to do.
    mutating func received(keepalives: [Int32], at now: Duration, after wait: Duration) -> Action? {
        guard var stream else { return nil }
        stream.hasReceived = true
        if wait >= Self.silence { stream.silenceEnd = now }
        var action: Action?
        for tokenExpiresIn in keepalives {
            let keepalive = (tokenExpiresIn: tokenExpiresIn, arrival: now)
            if let last = stream.lastKeepalive { action = compare(keepalive, with: last, of: &stream) ?? action }
            stream.lastKeepalive = keepalive
        }
        self.stream = stream
        return action
    }

    /// The time for the first line is over.
    mutating func firstLineIsLate() -> Action? {
        guard stream?.hasReceived == false else { return nil }
        return suspect(.noFirstLine)
    }

    /// The stream, if there is one, was given up, because nothing has arrived for too long.
    mutating func streamFellSilent() -> Action? {
        guard stream != nil else { return nil }
        stream = nil
        silentStreams += 1
        return silentStreams >= Self.limit ? suspect(.silence) : nil
    }

    /// The stream has ended in another way.
    mutating func streamEnded() {
        stream = nil
    }

    private mutating func suspect(_ sign: Sign) -> Action {
        defer { isSuspicious = true }
        return isSuspicious ? .show : .warn(sign)
    }

    private mutating func compare(_ keepalive: Keepalive, with last: Keepalive, of stream: inout Stream) -> Action? {
        let sent = Duration.seconds(Int64(last.tokenExpiresIn) - Int64(keepalive.tokenExpiresIn))
        let arrived = keepalive.arrival - last.arrival
        if let end = stream.silenceEnd, last.arrival >= end, keepalive.arrival - end <= Self.burst,
            sent - arrived >= Self.silence
        {
            stream.bursts += 1
            // One burst, however many keepalives are in it.
            stream.silenceEnd = nil
            return stream.bursts >= Self.limit ? suspect(.bursts) : nil
        }
        // A service whose number stands still says nothing about when it was sent.
        let difference = sent == .zero ? .zero : sent - arrived
        guard arrived >= Self.silence, difference >= .zero - Self.tolerance, difference <= Self.tolerance else {
            return nil
        }
        stream.bursts = 0
        silentStreams = 0
        defer { isSuspicious = false }
        return isSuspicious ? .clear : nil
    }
}

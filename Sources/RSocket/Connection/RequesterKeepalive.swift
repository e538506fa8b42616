/// The requester's side of the keepalives: when to send one, and when the responder is taken for dead
/// (docs/protocol.md "WebSocket").
///
/// Anything of a message that arrives is a sign of life, also a part of one that takes long. All times are durations
/// since a common start, on a monotonic clock.
///
/// ```
/// interval 20 s, silence limit 30 s
///   0   open
///  20   send     an answer at 20.1 moves the end from 30 to 50.1
///  40   send     nothing comes
///  50.1 dead
/// ```
///
/// When the process was suspended, the responder could not be heard: then a KEEPALIVE is sent at once, and the responder has as long
/// to answer it as it has any other, 10 s here.
package struct RequesterKeepalive: Sendable, Hashable {
    /// What a timer does.
    package enum Action: Sendable, Hashable {
        /// It was too early: wait until ``RequesterKeepalive/deadline``.
        case wait
        /// Send a KEEPALIVE that asks for an answer.
        case send
        /// Close: the responder is dead.
        case close
    }

    /// A timer that is later than this shows that the process was suspended meanwhile: 5 s.
    ///
    /// One that had to wait for a processor is less late.
    package static let suspension = Duration.seconds(5)

    /// The least time between two signs of life for a part of a message to count: 1 s.
    package static let partInterval = Duration.seconds(1)

    private let interval: Duration
    private let silenceLimit: Duration
    private var sendTime: Duration
    private var silenceEnd: Duration

    /// Starts.
    ///
    /// - Parameters:
    ///   - interval: The time between two KEEPALIVE frames.
    ///   - silenceLimit: The time without any part of a message after which the responder is taken for dead.
    ///   - now: The time.
    package init(interval: Duration, silenceLimit: Duration, startingAt now: Duration) {
        self.interval = interval
        self.silenceLimit = silenceLimit
        sendTime = now + interval
        silenceEnd = now + silenceLimit
    }

    /// How long the responder has to answer a KEEPALIVE, if it was heard right after the one before.
    private var answerTime: Duration { silenceLimit > interval ? silenceLimit - interval : silenceLimit }

    /// When the timer is due.
    package var deadline: Duration { min(sendTime, silenceEnd) }

    /// A message of any kind has arrived.
    package mutating func messageReceived(at now: Duration) {
        silenceEnd = now + silenceLimit
    }

    /// Bytes have arrived that belong to a message, and do not complete it.
    ///
    /// - Returns: Whether they count: not if the last sign of life is less than ``partInterval`` old.
    package mutating func partReceived(at now: Duration) -> Bool {
        guard now + silenceLimit - silenceEnd >= Self.partInterval else { return false }
        messageReceived(at: now)
        return true
    }

    /// The timer has fired, or any time has come.
    ///
    /// KEEPALIVE frames that were missed, because the process was suspended, are made up for by one.
    package mutating func timerFired(at now: Duration) -> Action {
        if now - deadline >= Self.suspension {
            sendTime = now + interval
            silenceEnd = max(silenceEnd, now + answerTime)
            return .send
        }
        if now >= silenceEnd { return .close }
        guard now >= sendTime else { return .wait }
        sendTime = now + interval
        return .send
    }
}

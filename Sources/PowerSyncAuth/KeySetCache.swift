/// What is known of a remote key set, and when to ask for it again (docs/service.md "Authentication").
///
/// Nothing is asked for without need: the checks of tokens drive it. Times are durations since some moment.
///
/// | What is known | A check of a token |
/// | --- | --- |
/// | nothing, or it is an hour old | asks, and waits for the answer if no other source has the key |
/// | it is 5 minutes old, or the last answer was an error | asks, and goes on with what is known |
/// | it is newer | goes on; if no key of any source has signed the token, asks |
///
/// Asking is limited: ten times, then once a minute; the more often, the longer the pause in between.
package struct KeySetCache: Sendable {
    /// What a check of a token does.
    package enum Step: Equatable, Sendable {
        /// It goes on with what is known.
        case goOn
        /// It waits for the answer that is on its way.
        case wait
    }

    static let refreshedAfter = Duration.seconds(300)
    static let droppedAfter = Duration.seconds(3600)
    private static let capacity = 10.0
    private static let refillInterval = 60.0

    package private(set) var keys: [VerifyingKey] = []
    /// Keys of the set that are not used.
    package private(set) var leftOut: [LeftOutKey] = []
    /// Why the last request failed; `nil` after an answer.
    package private(set) var failure: AuthorizationError?
    /// Whether a request is on its way, or to be sent.
    package private(set) var isAsking = false
    private var answeredAt: Duration?
    private var askedAt: Duration?
    /// How many requests are left, as of `askedAt`.
    private var level = capacity

    package init() {}

    /// A token is to be checked.
    package mutating func check(at now: Duration) -> Step {
        if let answeredAt, now - answeredAt >= Self.droppedAfter {
            (keys, leftOut) = ([], [])
            self.answeredAt = nil
        }
        let isOld = askedAt.map { now - $0 >= Self.refreshedAfter } ?? true
        if isOld || failure != nil { ask(at: now) }
        return answeredAt == nil && isAsking ? .wait : .goOn
    }

    /// No key of any source has signed a token.
    package mutating func keyWasMissing(at now: Duration) {
        ask(at: now)
    }

    /// The set has been fetched.
    package mutating func didReceive(_ keys: [VerifyingKey], leftOut: [LeftOutKey] = [], at now: Duration) {
        (self.keys, self.leftOut, failure, answeredAt, isAsking) = (keys, leftOut, nil, now, false)
    }

    /// The set could not be fetched; what is known stays.
    package mutating func didFail(_ failure: AuthorizationError) {
        (self.failure, isAsking) = (failure, false)
    }

    private mutating func ask(at now: Duration) {
        guard !isAsking else { return }
        if let askedAt {
            let elapsed = (now - askedAt) / .seconds(1)
            let filled = min(Self.capacity, level + elapsed / Self.refillInterval)
            let used = (Self.capacity - filled) / Self.capacity
            guard filled >= 1, elapsed >= used * used * Self.refillInterval else { return }
            level = filled
        }
        level -= 1
        (askedAt, isAsking) = (now, true)
    }
}

import PowerSyncProtocol

/// How many subscriptions a sync request lists (docs/client-sync.md "Too many subscriptions").
///
/// Two limits always hold: ``maximumCount`` and ``maximumBodyBytes``. A third one is learned: when a service refuses a request because
/// of its subscriptions, the next request leaves out half of those without a handle.
struct SubscriptionLimit: Sendable, Equatable {
    /// The most subscriptions of a request.
    static let maximumCount = 1_000
    /// The most bytes of a request's body: 900 KiB.
    ///
    /// Services take 1 MiB at least.
    static let maximumBodyBytes = 900 << 10
    /// How long a learned limit holds at least, in seconds: an hour.
    private static let lifetime: Int64 = 3_600

    private struct Learned: Equatable {
        /// The most subscriptions of a request, those with a handle among them.
        var count: Int
        /// From when on the limit may be forgotten.
        var end: SyncInstant
    }

    private var learned: Learned?

    /// The most subscriptions of a request.
    ///
    /// Subscriptions with a handle are subject to ``maximumCount`` only.
    var count: Int { min(learned?.count ?? Self.maximumCount, Self.maximumCount) }

    /// Notes how many subscriptions a request may list for the next hour.
    mutating func learn(_ count: Int, at now: SyncInstant) {
        learned = Learned(count: count, end: now.adding(seconds: Self.lifetime))
    }

    /// Forgets a limit that was learned an hour ago, or later than now: the clock was set back.
    mutating func streamBegins(at now: SyncInstant) {
        guard let end = learned?.end, end <= now || end > now.adding(seconds: Self.lifetime) else { return }
        learned = nil
    }
}

extension StreamSubscription {
    /// How many bytes the subscription needs in the body of a request, with the comma.
    var requestBytes: Int {
        let frame = #"{"stream":"","parameters":,"override_priority":null},"#.utf8.count
        let name = key.name.utf8.reduce(0) { count, byte in
            switch byte {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"): count + 2
            case ..<0x20: count + 6
            default: count + 1
            }
        }
        return frame + name + key.parametersText.utf8.count
    }
}

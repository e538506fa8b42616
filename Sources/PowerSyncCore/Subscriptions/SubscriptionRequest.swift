import PowerSyncProtocol

/// The streams part of a sync request, with the rows it was made from.
struct SubscriptionRequest: Sendable {
    /// Whether default streams are wanted.
    let includesDefaults: Bool
    /// The explicit subscriptions; the service refers to them by their index here.
    let subscriptions: [StreamSubscription]
    /// The explicit subscriptions that have no room in the request.
    let leftOut: [StreamSubscription]
    /// How many of ``subscriptions`` the application holds a handle of.
    let heldCount: Int

    /// Creates a request of subscriptions in their order.
    init(
        includesDefaults: Bool = true,
        subscriptions: [StreamSubscription],
        leftOut: [StreamSubscription] = [],
        heldCount: Int = 0
    ) {
        self.includesDefaults = includesDefaults
        self.subscriptions = subscriptions
        self.leftOut = leftOut
        self.heldCount = heldCount
    }

    /// Chooses subscriptions for a request.
    ///
    /// Subscriptions with a handle come first. The others follow by the time when they had one last, the latest first.
    ///
    /// - Parameters:
    ///   - includesDefaults: Whether default streams are wanted.
    ///   - rows: The explicit subscriptions, by id.
    ///   - held: The streams for which the application holds a handle.
    ///   - limit: How many subscriptions there may be.
    ///   - otherBytes: How many bytes the body has without subscriptions.
    init(
        includesDefaults: Bool,
        _ rows: [StreamSubscription],
        held: Set<StreamKey>,
        limit: SubscriptionLimit,
        otherBytes: Int
    ) {
        let isHeld = rows.map { held.contains($0.key) }
        let heldRows = zip(rows, isHeld).compactMap { $1 ? $0 : nil }
        let others = zip(rows, isHeld).compactMap { $1 ? nil : (row: $0, lastHeld: $0.lastHeld) }
            .sorted { ($1.lastHeld, $0.row.id) < ($0.lastHeld, $1.row.id) }
            .map(\.row)
        var (chosen, leftOut) = ([StreamSubscription](), [StreamSubscription]())
        var bytes = 0
        func choose(_ rows: [StreamSubscription], upTo count: Int, otherBytes: Int) {
            for row in rows {
                let size = row.requestBytes
                if chosen.count < count, otherBytes + bytes + size <= SubscriptionLimit.maximumBodyBytes {
                    chosen.append(row)
                    bytes += size
                } else {
                    leftOut.append(row)
                }
            }
        }
        // Not beside the buckets: those of a subscription that is left out are gone with the next checkpoint, and so would be the reason
        // to leave it out.
        choose(heldRows, upTo: SubscriptionLimit.maximumCount, otherBytes: 0)
        let heldCount = chosen.count
        choose(others, upTo: limit.count, otherBytes: otherBytes)
        self.init(
            includesDefaults: includesDefaults,
            subscriptions: chosen,
            leftOut: leftOut,
            heldCount: heldCount
        )
    }

    /// The ids of the rows, in the order of the request.
    var ids: [Int64] { subscriptions.map(\.id) }

    /// How many subscriptions the next request may have when a service has refused this one; `nil` when it has none that could be left
    /// out.
    var smallerCount: Int? {
        let others = subscriptions.count - heldCount
        return others > 0 ? heldCount + others / 2 : nil
    }

    /// This request with the rows of another one, if a service would see no difference but the order.
    ///
    /// The order stays, because the service refers to it. Parameters are compared as canonical text.
    ///
    /// - Returns: `nil` when there is a difference.
    func confirmed(by other: SubscriptionRequest) -> SubscriptionRequest? {
        guard includesDefaults == other.includesDefaults, subscriptions.count == other.subscriptions.count else {
            return nil
        }
        if zip(subscriptions, other.subscriptions).allSatisfy({ $0.isRequestedLike($1) }) { return other }
        let rows = Dictionary(other.subscriptions.map { ($0.key, $0) }, uniquingKeysWith: { first, _ in first })
        var confirmed: [StreamSubscription] = []
        for subscription in subscriptions {
            guard let row = rows[subscription.key], row.isRequestedLike(subscription) else { return nil }
            confirmed.append(row)
        }
        return SubscriptionRequest(
            includesDefaults: includesDefaults,
            subscriptions: confirmed,
            leftOut: other.leftOut,
            heldCount: other.heldCount
        )
    }

    /// The part of the request's body.
    var streams: StreamingSyncRequest.Streams {
        StreamingSyncRequest.Streams(
            includeDefaults: includesDefaults,
            subscriptions: subscriptions.map {
                .init(
                    stream: $0.key.name,
                    parameters: $0.key.parameters,
                    overridePriority: $0.priorityOverride
                )
            }
        )
    }
}

extension StreamSubscription {
    fileprivate func isRequestedLike(_ other: StreamSubscription) -> Bool {
        key == other.key && priorityOverride == other.priorityOverride
    }

    /// When the application held a handle last: when the subscription was renewed last.
    fileprivate var lastHeld: SyncInstant {
        guard let expiresAt, let timeToLive else { return SyncInstant(microseconds: .min) }
        // Other writers may have stored a lifetime that does not fit in microseconds.
        return expiresAt.adding(seconds: -min(max(timeToLive, 0), StreamSubscriptions.maximumTimeToLive))
    }
}

import PowerSyncProtocol

/// The streams part of a sync request, with the rows it was made from.
struct SubscriptionRequest: Sendable {
    /// Whether default streams are wanted.
    let includesDefaults: Bool
    /// The explicit subscriptions; the service refers to them by their index here.
    let subscriptions: [StreamSubscription]

    /// The ids of the rows, in the order of the request.
    var ids: [Int64] { subscriptions.map(\.id) }

    /// Whether a service would see no difference.
    ///
    /// Parameters are compared as canonical text.
    func isEquivalent(to other: SubscriptionRequest) -> Bool {
        includesDefaults == other.includesDefaults
            && subscriptions.elementsEqual(other.subscriptions) {
                $0.key == $1.key && $0.priorityOverride == $1.priorityOverride
            }
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

package import PowerSyncProtocol

/// What a client gets at one checkpoint: the buckets, of which this is a collection, and the subscriptions without.
package struct FoundBuckets: Sendable, Equatable {
    /// The buckets in the order of the plan, each once.
    package var buckets: [ResolvedBucket]
    /// The streams that the client is subscribed to, with the errors of subscriptions.
    package var streams: [StreamDescription]
    /// The subscriptions that get nothing because of the limits, in the order of the request; each is among the errors of its stream.
    package var refusals: [RefusedSubscription]

    /// Creates what was found.
    package init(
        buckets: [ResolvedBucket] = [],
        streams: [StreamDescription],
        refusals: [RefusedSubscription] = []
    ) {
        self.buckets = buckets
        self.streams = streams
        self.refusals = refusals
    }
}

extension FoundBuckets: RandomAccessCollection {
    package var startIndex: Int { buckets.startIndex }
    package var endIndex: Int { buckets.endIndex }
    package subscript(position: Int) -> ResolvedBucket { buckets[position] }
}

/// A subscription that the limits of a connection have no room for.
package struct RefusedSubscription: Sendable, Hashable {
    /// Its place in the request.
    package var index: Int
    /// The name of its stream.
    package var stream: String
    /// What would be too much.
    package var error: BucketLimitError

    /// What the client is told.
    var streamError: StreamError {
        StreamError(
            subject: .subscription(index),
            message: "\(error)\(error.largestShare). Unsubscribe from what is not needed."
        )
    }
}

extension [StreamDescription] {
    /// Adds the errors of subscriptions to their streams, in the order of the request.
    mutating func add(_ refusals: [RefusedSubscription]) {
        for refusal in refusals {
            let index = firstIndex { $0.name.utf8.elementsEqual(refusal.stream.utf8) }
            if let index { self[index].errors.append(refusal.streamError) }
        }
        guard !refusals.isEmpty else { return }
        for index in indices { self[index].errors.sort { $0.subject.place < $1.subject.place } }
    }
}

extension StreamError.Subject {
    /// The place among the errors of a stream: that of the request, and behind it what clients get without subscribing.
    fileprivate var place: Int {
        if case .subscription(let index) = self { index } else { .max }
    }
}

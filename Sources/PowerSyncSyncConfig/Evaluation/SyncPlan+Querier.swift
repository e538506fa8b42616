import PowerSyncProtocol

extension SyncPlan {
    /// Prepares finding the buckets of a client.
    ///
    /// A query whose request values cannot be evaluated gives a subscription no buckets, and is reported in
    /// ``BucketQuerier/streams``; the other queries of the stream work. So is each
    /// subscription behind the first ``BucketLimits/maximumSubscriptions``. Subscriptions to unknown streams are ignored.
    ///
    /// - Parameters:
    ///   - request: What the client asks for.
    ///   - bucketPrefix: What all bucket names start with, for example `1#`.
    /// - Returns: What finds the buckets at each checkpoint.
    package func querier(for request: SyncPlanRequest, bucketPrefix: String) -> BucketQuerier {
        var descriptions: [StreamDescription] = []
        var queriers: [PreparedQuerier] = []
        var refusals: [RefusedSubscription] = []
        let count = request.streams.subscriptions.count
        var evaluation = RequestEvaluation(
            auth: JSONNode(.object(request.tokenPayload)),
            connection: JSONNode(.object(request.parameters))
        )
        for stream in streams {
            let subscriptions = Subscription.all(to: stream, in: request, streamIndex: descriptions.count)
            guard !subscriptions.isEmpty else { continue }
            var description = StreamDescription(name: stream.name, isDefault: stream.isSubscribedByDefault)
            for subscription in subscriptions {
                if case .subscription(let index) = subscription.reason, index >= BucketLimits.maximumSubscriptions {
                    let error = BucketLimitError(limit: .subscriptions(count: count))
                    refusals.append(RefusedSubscription(index: index, stream: stream.name, error: error))
                    continue
                }
                evaluation.begin(subscription.parameters.map { JSONNode(.object($0)) })
                for querier in stream.queriers {
                    do throws(EvaluationError) {
                        queriers += try prepare(querier, of: stream, for: subscription, &evaluation)
                    } catch {
                        description.note(error, of: subscription)
                    }
                }
            }
            descriptions.append(description)
        }
        refusals.sort { $0.index < $1.index }
        descriptions.add(refusals)
        return BucketQuerier(
            streams: descriptions,
            queriers: queriers,
            refusals: refusals,
            bucketPrefix: bucketPrefix
        )
    }

    /// One of the ways to the buckets of a stream; none when it never gives one.
    private func prepare(
        _ querier: Querier,
        of stream: Stream,
        for subscription: Subscription,
        _ evaluation: inout RequestEvaluation
    ) throws(EvaluationError) -> [PreparedQuerier] {
        let prepared = try PreparedQuerier(
            querier,
            of: self,
            stream: stream,
            priority: subscription.overridePriority ?? Priority(querier.priority ?? stream.priority),
            reason: subscription.reason,
            evaluation: &evaluation
        )
        return prepared.map { [$0] } ?? []
    }
}

extension StreamDescription {
    /// Reports that a query gives a subscription no buckets: each reason once.
    fileprivate mutating func note(_ error: EvaluationError, of subscription: Subscription) {
        let error = StreamError(
            subject: subscription.subject,
            message: "Error evaluating bucket ids: \(error)"
        )
        if !errors.contains(error) { errors.append(error) }
    }
}

/// One subscription of a client to a stream.
private struct Subscription {
    /// The parameters; `nil` for the default subscription.
    var parameters: JSONObject?
    /// The priority of its buckets; `nil` for that of the stream.
    var overridePriority: Priority?
    /// Why the client gets its buckets.
    var reason: BucketReason

    /// The subscription as the subject of an error.
    var subject: StreamError.Subject {
        switch reason {
        case .defaultStream: .defaultSubscription
        case .subscription(let index): .subscription(index)
        }
    }

    /// All subscriptions of a request to a stream: the explicit ones, then the default one.
    ///
    /// The reason of the default one refers to `streamIndex`, the position of the stream in the reply.
    static func all(to stream: SyncPlan.Stream, in request: SyncPlanRequest, streamIndex: Int) -> [Subscription] {
        var all: [Subscription] = []
        for (index, subscription) in request.streams.subscriptions.enumerated()
        where subscription.stream.utf8.elementsEqual(stream.name.utf8) {
            all.append(
                Subscription(
                    parameters: subscription.parameters ?? JSONObject(),
                    overridePriority: subscription.overridePriority,
                    reason: .subscription(index)
                )
            )
        }
        if stream.isSubscribedByDefault, request.streams.includeDefaults {
            all.append(Subscription(parameters: nil, reason: .defaultStream(streamIndex)))
        }
        return all
    }
}

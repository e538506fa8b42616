import PowerSyncProtocol

extension TrackedCheckpoint {
    /// What the service says about subscriptions that it could not evaluate, for the log.
    ///
    /// Without those that it has no room for, which may be many.
    var streamErrors: [String] {
        streams.flatMap { stream in
            stream.errors.compactMap { error in
                guard error.refusedPosition == nil else { return nil }
                switch error.subject {
                case .defaultSubscription:
                    return "Default subscription of stream \(stream.name) has errors: \(error.message)"
                case .subscription(let index):
                    guard let subscription = association.requestedSubscription(at: index) else { return nil }
                    return "Subscription of stream \(subscription.key) has errors: \(error.message)"
                }
            }
        }
    }
}

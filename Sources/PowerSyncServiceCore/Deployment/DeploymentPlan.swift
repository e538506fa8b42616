package import PowerSyncSyncConfig

/// What deploying a sync config does with each stream (docs/service.md "What a deployment keeps"): said before and after.
package struct DeploymentPlan: Sendable {
    /// What becomes of the streams: those of the new config in its order, then those that are not in it.
    package let streams: [PlanContinuation.StreamChange]
    /// Why all tables of the config are read, also for streams that are the same; `nil` when what is the same is kept.
    package let everythingIsRead: Reason?

    /// Why everything is read: the whole list.
    package enum Reason: String, Sendable, CaseIterable {
        /// No config is served that could be continued.
        case nothingIsServed = "no sync config is served yet"
        /// The stream that is served has lost the source's history.
        case historyIsLost = "the history of the source was lost, and its tables are being read anyway"
        /// An option of the config is another one.
        case optionChanged = "an option that changes the values of all rows is another one"
        /// No part of the served config is in the new one.
        case nothingIsKept = "no query of the sync config is one of the config that is served"
        /// An operator has asked for it.
        case requested = "an operator has asked for it"
    }

    /// Compares a config with what is replicated.
    ///
    /// - Parameters:
    ///   - plan: The new config as it was compiled.
    ///   - streams: What the storage has.
    package init(_ plan: SyncPlan, among streams: [ReplicationStream]) {
        let served = streams.last { $0.state.isServed }
        let continuation = PlanContinuation(of: plan, after: served?.plan ?? .empty, number: 2)
        let reason: Reason? =
            if let served {
                if served.state != .active {
                    .historyIsLost
                } else if served.plan.valueOptions != plan.valueOptions {
                    .optionChanged
                } else {
                    continuation.keepsParts ? nil : .nothingIsKept
                }
            } else {
                .nothingIsServed
            }
        self.init(continuation.streams, everythingIsRead: reason, plan: plan)
    }

    private init(_ changes: [PlanContinuation.StreamChange], everythingIsRead reason: Reason?, plan: SyncPlan) {
        everythingIsRead = reason
        guard let reason else {
            streams = changes
            return
        }
        streams = changes.map { change in
            guard change.outcome == .kept else { return change }
            var change = change
            change.outcome = .read
            change.reason = reason.rawValue
            change.tables = plan.tables(of: change.stream)
            return change
        }
    }
}

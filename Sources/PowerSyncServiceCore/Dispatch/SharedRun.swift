import NIOConcurrencyHelpers

/// A run of operations that several sessions send; see ``SharedRuns``.
///
/// While it is kept for those who come later, the limit of what is kept holds. Later it is in memory for those who still
/// send it, who may be clients that take nothing any more, each with the run of another checkpoint. So the budget counts it
/// then: once, whoever sends it, and until the last one has done so or has ended.
final class SharedRun: Sendable {
    /// What is sent.
    let run: EncodedRun

    private struct State {
        /// Counts the run when it is not kept any longer.
        var share: ReadAheadBudget.Share?
        var senders: [ObjectIdentifier: ReadAheadBudget.Share] = [:]
    }

    private let budget: ReadAheadBudget
    private let state = NIOLockedValueBox(State())

    /// Shares a run that is kept.
    init(_ run: EncodedRun, budget: ReadAheadBudget) {
        self.run = run
        self.budget = budget
    }

    /// A stream begins to send it.
    func isBeingSent(by sender: ReadAheadBudget.Share) {
        // It has time from now on.
        sender.add(0)
        state.withLockedValue { $0.senders[ObjectIdentifier(sender)] = sender }
    }

    /// A stream has sent it, or has ended.
    func wasSent(by sender: ReadAheadBudget.Share) {
        state.withLockedValue { $0.senders[ObjectIdentifier(sender)] = nil }
    }

    /// Nobody who comes later finds it.
    func isKeptNoLonger() {
        let share = budget.share()
        share.add(run.byteCount)
        state.withLockedValue { $0.share = share }
        endStalledWhenItIsWanted(share)
    }

    private func endStalledWhenItIsWanted(_ share: ReadAheadBudget.Share) {
        share.whenStalled { [weak self] in self?.endStalled() }
    }

    private func endStalled() {
        let (share, senders) = state.withLockedValue { ($0.share, $0.senders.values) }
        for sender in senders { sender.endIfStalled() }
        // Those who take something now may stop later.
        if let share { endStalledWhenItIsWanted(share) }
    }
}

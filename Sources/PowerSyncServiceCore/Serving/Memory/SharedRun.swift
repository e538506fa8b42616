import NIOConcurrencyHelpers

/// A run of operations that several sessions send; see ``SharedRuns``.
///
/// While it is kept for those who come later, the limit of what is kept holds. Later it is in memory for those who still
/// send it, who may be clients that take nothing any more, each with the run of another checkpoint. So the budget counts it
/// then: once, whoever sends it, and until the network has taken the last line from the last one, or that one has ended.
final class SharedRun: Sendable {
    /// A stream that sends the run: it has done so, or has ended, when nobody holds this any more.
    final class Sending: Sendable {
        private let run: SharedRun
        private let share: ReadAheadBudget.Share

        fileprivate init(_ run: SharedRun, by share: ReadAheadBudget.Share) {
            (self.run, self.share) = (run, share)
            // It has time from now on.
            share.add(0)
            run.begins(self, by: share)
        }

        deinit { run.state.withLockedValue { $0.senders[ObjectIdentifier(self)] = nil } }
    }

    fileprivate struct State {
        /// Counts the run when it is not kept any longer.
        var share: ReadAheadBudget.Share?
        var senders: [ObjectIdentifier: ReadAheadBudget.Share] = [:]
    }

    /// The lines.
    let content: EncodedRun
    private let budget: ReadAheadBudget
    fileprivate let state = NIOLockedValueBox(State())

    /// Shares a run that is kept.
    init(_ content: EncodedRun, budget: ReadAheadBudget) {
        self.content = content
        self.budget = budget
    }

    /// A stream begins to send it.
    func makeSending(by share: ReadAheadBudget.Share) -> Sending { Sending(self, by: share) }

    /// Nobody who comes later finds it.
    func isKeptNoLonger() {
        let share = budget.share()
        share.add(content.byteCount)
        state.withLockedValue { $0.share = share }
        endStalledWhenItIsWanted(share)
    }

    private func begins(_ sending: Sending, by sender: ReadAheadBudget.Share) {
        let share = state.withLockedValue { state in
            state.senders[ObjectIdentifier(sending)] = sender
            return state.share
        }
        // All who sent it before may have been told to end.
        if let share { endStalledWhenItIsWanted(share) }
    }

    private func endStalledWhenItIsWanted(_ share: ReadAheadBudget.Share) {
        share.whenStalled { [weak self] in self?.endStalled() }
    }

    private func endStalled() {
        let (share, senders) = state.withLockedValue { ($0.share, Array($0.senders.values)) }
        let goingOn = senders.filter { !$0.endIfStalled() }
        // Those who take something now keep the run, and may stop later.
        if let share, !goingOn.isEmpty { endStalledWhenItIsWanted(share) }
    }
}

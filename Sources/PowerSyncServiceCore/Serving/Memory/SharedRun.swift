import NIOConcurrencyHelpers

/// A run of operations that several sessions send; see ``SharedRuns``.
///
/// While the run is kept for later sessions, it counts in ``LineMemory/shared``. Once it is dropped, it stays in memory
/// for the streams that still send it, whose clients may have stopped reading, each at the run of another checkpoint.
/// So it has an account of its own from then on: it counts once, however many streams send it, until the network has
/// taken its last line from the last of them, or that stream has ended.
final class SharedRun: Sendable {
    /// The registration of a stream that sends the run.
    ///
    /// It ends with its last reference, which a batch of lines in the queue of the response holds: that is when the
    /// network has taken the last line of the run, or the stream has ended.
    final class Sender: Sendable {
        private let run: SharedRun
        private let account: LineMemory.Account

        fileprivate init(of run: SharedRun, _ account: LineMemory.Account) {
            (self.run, self.account) = (run, account)
            // The client is not stalled before it could take anything.
            account.add(0)
            run.begins(self, account)
        }

        deinit { run.state.withLockedValue { $0.senders[ObjectIdentifier(self)] = nil } }
    }

    fileprivate struct State {
        /// The account of the run; `nil` while it is kept.
        var account: LineMemory.Account?
        /// The accounts of the streams that send it.
        var senders: [ObjectIdentifier: LineMemory.Account] = [:]
    }

    /// The lines.
    let content: EncodedRun
    private let memory: LineMemory
    fileprivate let state = NIOLockedValueBox(State())

    /// Creates a run that is kept.
    init(_ content: EncodedRun, in memory: LineMemory) {
        self.content = content
        self.memory = memory
    }

    /// Registers a stream that begins to send the run.
    func makeSender(_ account: LineMemory.Account) -> Sender { Sender(of: self, account) }

    /// Counts the run in an account of its own: later sessions do not find it any more.
    func isKeptNoLonger() {
        let account = memory.openAccount()
        account.add(content.byteCount)
        state.withLockedValue { $0.account = account }
        endStalledSenders(of: account)
    }

    private func begins(_ sender: Sender, _ account: LineMemory.Account) {
        let own = state.withLockedValue { state in
            state.senders[ObjectIdentifier(sender)] = account
            return state.account
        }
        // All earlier senders may have been told to end.
        if let own { endStalledSenders(of: own) }
    }

    /// Ends the senders whose clients have stopped reading, when the memory of the run is wanted.
    private func endStalledSenders(of account: LineMemory.Account) {
        account.whenStalled { [weak self] in self?.endStalledSenders() }
    }

    private func endStalledSenders() {
        let (account, senders) = state.withLockedValue { ($0.account, Array($0.senders.values)) }
        let goingOn = senders.filter { !$0.endIfStalled() }
        // Those whose clients read keep the run in memory, and may stall later.
        if let account, !goingOn.isEmpty { endStalledSenders(of: account) }
    }
}

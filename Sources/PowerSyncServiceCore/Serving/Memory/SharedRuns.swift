import NIOConcurrencyHelpers
import PowerSyncProtocol

/// Runs of operations that several sessions want, read and encoded once (docs/service.md "Fan-out").
///
/// The first session that asks makes a run, those that ask meanwhile wait for it, and those that ask soon after find it. What is
/// not kept for others any longer counts in the budget while it is sent; see ``SharedRun``.
package final class SharedRuns: Sendable {
    /// What a run has.
    struct Key: Hashable, Sendable {
        /// The checkpoint that is read at.
        let checkpoint: StorageCheckpoint
        private let buckets: [BucketName]
        private let after: [OpID]
        private let encoding: SyncSession.Encoding

        /// Names a run.
        ///
        /// - Parameters:
        ///   - positions: The buckets, each with the op id to continue after.
        ///   - checkpoint: The checkpoint that is read at.
        ///   - encoding: How its lines are encoded.
        init(
            _ positions: [StreamingSyncRequest.BucketPosition],
            at checkpoint: StorageCheckpoint,
            as encoding: SyncSession.Encoding
        ) {
            self.checkpoint = checkpoint
            self.encoding = encoding
            buckets = positions.map(\.name)
            after = positions.map(\.after)
        }
    }

    fileprivate enum Entry {
        /// Somebody makes it; the signal is advanced when that has ended.
        case beingMade(ChangeSignal)
        case made(SharedRun, byteCount: Int)
    }

    fileprivate enum Answer {
        case make(ChangeSignal)
        case wait(ChangeSignal)
        case found(SharedRun)
    }

    fileprivate struct State {
        var entries: [Key: Entry] = [:]
        /// The runs that were made, the oldest first.
        var order: [Key] = []
        var byteCount = 0
        var madeCount = 0
    }

    /// The most bytes of lines that are kept for those who come later: 32 MiB.
    static let maximumBytes = 32 * 1024 * 1024

    private let state = NIOLockedValueBox(State())

    /// Creates an empty collection.
    package init() {}

    /// The bytes of the lines that are kept.
    package var byteCount: Int { state.withLockedValue(\.byteCount) }

    /// How many runs have been made so far.
    package var madeCount: Int { state.withLockedValue(\.madeCount) }

    /// Finds a run, or makes it.
    ///
    /// - Parameters:
    ///   - key: What the run has.
    ///   - budget: Counts the run when it is kept no longer.
    ///   - make: Makes it; called by one session at a time. When there is no room for it (`nil`), that fails, or is cancelled,
    ///     another one tries.
    /// - Returns: The run, which shares its bytes with those of others; `nil` when there was no room to make it.
    /// - Throws: What `make` throws, or `CancellationError`.
    func run(
        for key: Key,
        budget: ReadAheadBudget,
        _ make: () async throws -> EncodedRun?
    ) async throws -> SharedRun? {
        while true {
            switch state.withLockedValue({ $0.begin(key) }) {
            case .found(let run): return run
            case .wait(let end): try await end.wait(after: 0)
            case .make(let end):
                defer { end.advance() }
                let run: SharedRun?
                do {
                    run = try await make().map { SharedRun($0, budget: budget) }
                } catch {
                    state.withLockedValue { $0.entries[key] = nil }
                    throw error
                }
                let dropped = state.withLockedValue { $0.keep(run, for: key) }
                for run in dropped { run.isKeptNoLonger() }
                return run
            }
        }
    }

    /// Lets go of runs of other checkpoints; who sends them keeps their bytes.
    func forget(before checkpoint: StorageCheckpoint) {
        let dropped = state.withLockedValue { state in
            defer { state.order.removeAll { $0.checkpoint != checkpoint } }
            return state.order.filter { $0.checkpoint != checkpoint }.compactMap { state.remove($0) }
        }
        for run in dropped { run.isKeptNoLonger() }
    }
}

extension SharedRuns.State {
    fileprivate mutating func begin(_ key: SharedRuns.Key) -> SharedRuns.Answer {
        switch entries[key] {
        case .made(let run, _): return .found(run)
        case .beingMade(let end): return .wait(end)
        case nil:
            let end = ChangeSignal()
            entries[key] = .beingMade(end)
            return .make(end)
        }
    }

    /// Keeps a run that was made, if there is one, and room for it.
    ///
    /// - Returns: What is kept no longer: the oldest ones that there is no room for, or the run itself.
    fileprivate mutating func keep(_ run: SharedRun?, for key: SharedRuns.Key) -> [SharedRun] {
        entries[key] = nil
        guard let run else { return [] }
        madeCount += 1
        let size = run.content.byteCount
        guard size <= SharedRuns.maximumBytes else { return [run] }
        entries[key] = .made(run, byteCount: size)
        order.append(key)
        byteCount += size
        var dropped: [SharedRun] = []
        while byteCount > SharedRuns.maximumBytes {
            if let oldest = remove(order.removeFirst()) { dropped.append(oldest) }
        }
        return dropped
    }

    fileprivate mutating func remove(_ key: SharedRuns.Key) -> SharedRun? {
        guard case .made(let run, let size) = entries[key] else { return nil }
        entries[key] = nil
        byteCount -= size
        return run
    }
}

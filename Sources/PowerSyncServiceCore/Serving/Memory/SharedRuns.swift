import NIOConcurrencyHelpers
import PowerSyncProtocol

/// Runs of operations that several sessions want, read and encoded once (docs/service.md "Fan-out").
///
/// The first session that asks for a run makes it, those that ask meanwhile wait for it, and later ones find it for as
/// long as it is kept: until the next checkpoint, and within ``LineMemory/shared``. A run that is not kept any longer
/// counts in an account of its own while it is sent; see ``SharedRun``.
package final class SharedRuns: Sendable {
    /// The identity of a run: buckets, positions, checkpoint and encoding.
    struct Key: Hashable, Sendable {
        /// The checkpoint that is read at.
        let checkpoint: StorageCheckpoint
        private let buckets: [BucketName]
        private let after: [OpID]
        private let encoding: SyncSession.Encoding

        /// Creates the key of a run.
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
        /// A session makes it; the signal is advanced when that has ended.
        case beingMade(ChangeSignal)
        case made(SharedRun)
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
        var madeCount = 0
        let cache: LineMemory.Cache
    }

    private let memory: LineMemory
    private let state: NIOLockedValueBox<State>

    /// Creates an empty collection.
    ///
    /// - Parameter memory: Counts the runs: kept ones in ``LineMemory/shared``, others in accounts.
    package init(in memory: LineMemory) {
        self.memory = memory
        state = NIOLockedValueBox(State(cache: memory.shared))
    }

    /// The number of runs that have been made so far.
    package var madeCount: Int { state.withLockedValue(\.madeCount) }

    /// Finds a run, or makes it.
    ///
    /// - Parameters:
    ///   - key: The identity of the run.
    ///   - make: Makes the run; called by one session at a time. If it returns `nil`, because there is no room, or
    ///     throws, the next session that waits for the run calls its own.
    /// - Returns: The run, whose bytes all sessions share; `nil` when there was no room to make it.
    /// - Throws: What `make` throws, or `CancellationError`.
    func run(
        for key: Key,
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
                    run = try await make().map { SharedRun($0, in: memory) }
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

    /// Drops the runs of other checkpoints; the streams that send them keep them in memory.
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
        case .made(let run): return .found(run)
        case .beingMade(let end): return .wait(end)
        case nil:
            let end = ChangeSignal()
            entries[key] = .beingMade(end)
            return .make(end)
        }
    }

    /// Keeps a run that was made, if there is one, and it fits.
    ///
    /// - Returns: The runs that are not kept any longer: the oldest ones, or the run itself.
    fileprivate mutating func keep(_ run: SharedRun?, for key: SharedRuns.Key) -> [SharedRun] {
        entries[key] = nil
        guard let run else { return [] }
        madeCount += 1
        let size = run.content.byteCount
        guard size <= cache.limit else { return [run] }
        entries[key] = .made(run)
        order.append(key)
        cache.add(size)
        var dropped: [SharedRun] = []
        while cache.byteCount > cache.limit {
            if let oldest = remove(order.removeFirst()) { dropped.append(oldest) }
        }
        return dropped
    }

    fileprivate mutating func remove(_ key: SharedRuns.Key) -> SharedRun? {
        guard case .made(let run) = entries[key] else { return nil }
        entries[key] = nil
        cache.remove(run.content.byteCount)
        return run
    }
}

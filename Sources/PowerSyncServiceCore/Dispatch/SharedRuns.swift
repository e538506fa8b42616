import PowerSyncProtocol
import Synchronization

/// Runs of operations that several sessions want, read and encoded once (docs/service.md "Fan-out").
///
/// The first session that asks makes a run, those that ask meanwhile wait for it, and those that ask soon after find it.
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
        /// Somebody makes it; these sessions wait.
        case beingMade([UInt64: CheckedContinuation<Void, any Error>])
        case made(EncodedRun, byteCount: Int)
    }

    fileprivate enum Answer {
        case make
        case wait
        case found(EncodedRun)
    }

    fileprivate struct State {
        var entries: [Key: Entry] = [:]
        /// The runs that were made, the oldest first.
        var order: [Key] = []
        var byteCount = 0
        var lastWaiter: UInt64 = 0
        var madeCount = 0
    }

    /// The most bytes of lines that are kept for those who come later: 32 MiB.
    static let maximumBytes = 32 * 1024 * 1024

    private let state = Mutex(State())

    /// Creates an empty collection.
    package init() {}

    /// The bytes of the lines that are kept.
    package var byteCount: Int { state.withLock(\.byteCount) }

    /// How many runs have been made so far.
    package var madeCount: Int { state.withLock(\.madeCount) }

    /// Finds a run, or makes it.
    ///
    /// - Parameters:
    ///   - key: What the run has.
    ///   - make: Makes it; called by one session at a time. When that fails, or is cancelled, another one tries.
    /// - Returns: The run, which shares its bytes with those of others.
    /// - Throws: What `make` throws, or `CancellationError`.
    func run(for key: Key, _ make: () async throws -> EncodedRun) async throws -> EncodedRun {
        while true {
            switch state.withLock({ $0.begin(key) }) {
            case .found(let run): return run
            case .wait: try await wait(for: key)
            case .make:
                do {
                    let run = try await make()
                    finish(key, run)
                    return run
                } catch {
                    finish(key, nil)
                    throw error
                }
            }
        }
    }

    /// Lets go of runs of other checkpoints; who sends them keeps their bytes.
    func forget(before checkpoint: StorageCheckpoint) {
        state.withLock { state in
            guard state.order.contains(where: { $0.checkpoint != checkpoint }) else { return }
            let old = state.order.filter { $0.checkpoint != checkpoint }
            for key in old { state.remove(key) }
            state.order.removeAll { $0.checkpoint != checkpoint }
        }
    }

    private func finish(_ key: Key, _ run: EncodedRun?) {
        let waiters = state.withLock { state -> [CheckedContinuation<Void, any Error>] in
            guard case .beingMade(let waiters) = state.entries.removeValue(forKey: key) else { return [] }
            if let run { state.keep(run, for: key) }
            return Array(waiters.values)
        }
        for waiter in waiters { waiter.resume() }
    }

    /// Waits until a run is made, or its maker has failed.
    private func wait(for key: Key) async throws {
        let id = state.withLock { state in
            state.lastWaiter += 1
            return state.lastWaiter
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
                let isDone = state.withLock { state in
                    // The handler may have run already; then nobody else would resume the continuation.
                    guard !Task.isCancelled, case .beingMade(var waiters) = state.entries[key] else { return true }
                    state.entries[key] = nil
                    waiters[id] = continuation
                    state.entries[key] = .beingMade(waiters)
                    return false
                }
                if isDone { continuation.resume() }
            }
            try Task.checkCancellation()
        } onCancel: {
            let waiter = state.withLock { state -> CheckedContinuation<Void, any Error>? in
                guard case .beingMade(var waiters) = state.entries[key] else { return nil }
                defer { state.entries[key] = .beingMade(waiters) }
                return waiters.removeValue(forKey: id)
            }
            waiter?.resume(throwing: CancellationError())
        }
    }
}

extension SharedRuns.State {
    fileprivate mutating func begin(_ key: SharedRuns.Key) -> SharedRuns.Answer {
        switch entries[key] {
        case .made(let run, _): return .found(run)
        case .beingMade: return .wait
        case nil:
            entries[key] = .beingMade([:])
            return .make
        }
    }

    /// Keeps a run that was made, and lets go of the oldest ones that there is no room for.
    fileprivate mutating func keep(_ run: EncodedRun, for key: SharedRuns.Key) {
        madeCount += 1
        let size = run.byteCount
        guard size <= SharedRuns.maximumBytes else { return }
        entries[key] = .made(run, byteCount: size)
        order.append(key)
        byteCount += size
        while byteCount > SharedRuns.maximumBytes { remove(order.removeFirst()) }
    }

    fileprivate mutating func remove(_ key: SharedRuns.Key) {
        guard case .made(_, let size) = entries[key] else { return }
        entries[key] = nil
        byteCount -= size
    }
}

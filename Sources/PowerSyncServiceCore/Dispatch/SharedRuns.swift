import NIOConcurrencyHelpers
import PowerSyncProtocol

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
        /// Somebody makes it; the signal is advanced when that has ended.
        case beingMade(ChangeSignal)
        case made(EncodedRun, byteCount: Int)
    }

    fileprivate enum Answer {
        case make(ChangeSignal)
        case wait(ChangeSignal)
        case found(EncodedRun)
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
    ///   - make: Makes it; called by one session at a time. When that fails, or is cancelled, another one tries.
    /// - Returns: The run, which shares its bytes with those of others.
    /// - Throws: What `make` throws, or `CancellationError`.
    func run(for key: Key, _ make: () async throws -> EncodedRun) async throws -> EncodedRun {
        while true {
            switch state.withLockedValue({ $0.begin(key) }) {
            case .found(let run): return run
            case .wait(let end): try await end.wait(after: 0)
            case .make(let end):
                defer { end.advance() }
                do {
                    let run = try await make()
                    state.withLockedValue { $0.end(key, run) }
                    return run
                } catch {
                    state.withLockedValue { $0.end(key, nil) }
                    throw error
                }
            }
        }
    }

    /// Lets go of runs of other checkpoints; who sends them keeps their bytes.
    func forget(before checkpoint: StorageCheckpoint) {
        state.withLockedValue { state in
            for key in state.order where key.checkpoint != checkpoint { state.remove(key) }
            state.order.removeAll { $0.checkpoint != checkpoint }
        }
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

    /// A run is made, or could not be made.
    fileprivate mutating func end(_ key: SharedRuns.Key, _ run: EncodedRun?) {
        entries[key] = nil
        if let run { keep(run, for: key) }
    }

    /// Keeps a run that was made, and lets go of the oldest ones that there is no room for.
    private mutating func keep(_ run: EncodedRun, for key: SharedRuns.Key) {
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

import PowerSyncProtocol

// The news of sessions (docs/service.md "Fan-out"). A session is in one of these states:
//
//                add                      take, if its buckets may be others
//                 │                         ┌──────────────────────────────┐
//                 ▼                         │                              ▼
//   resolving: every commit is kept ──settle(interest)──► settled: commits that concern the interest are added up
//                 ▲                                                        │ awaitAny(after:)
//                 └───────────────── take ◄── overdue: any commit ◄────────┘
//
// While a session resolves, its buckets are not known: commits are kept as they are, and filtered when the session
// settles. No commit is lost in between, because a session is on the board before it reads anything, and reads at the
// newest checkpoint.
//
// A write checkpoint wakes a session in any state. One that is overdue, or has not settled since it took something,
// could not use what it took: whatever wakes it, it is told that everything may have changed.

/// The state of the dispatcher for one stream: its sessions, and the changes that each has not taken yet; no I/O.
struct DispatchBoard: Sendable {
    fileprivate struct Entry {
        /// The user whose write checkpoints the session announces.
        var userKey: [UInt8]
        /// The changes that the session has not taken.
        var pending: CheckpointNews.Scope?
        /// The commits since the session began to look up its buckets; `nil` when it has them.
        var missed: [CommitChanges]?
    }

    private struct User {
        var sessions: Set<SessionID> = []
        /// The positions at which write checkpoints become visible.
        var expected: [LSN] = []
    }

    /// The most commits that are kept for a session that looks up its buckets; after more, its scope is everything.
    static let maximumMissed = 16
    /// The most positions that are remembered for a user; of more, the last one counts.
    static let maximumExpected = 16

    /// The stream.
    let streamID: ReplicationStreamID
    /// The checkpoint that was published last.
    private(set) var newest: StorageCheckpoint?
    private var entries: [SessionID: Entry] = [:]
    /// By the bytes of their keys.
    private var users: [[UInt8]: User] = [:]
    private var index = InterestIndex()
    /// The sessions that are finding their buckets.
    private var resolving: Set<SessionID> = []
    /// The sessions that any checkpoint concerns.
    private var overdue: Set<SessionID> = []
    /// The users with positions in `expected`.
    private var awaiting: Set<[UInt8]> = []

    /// Creates a board without sessions.
    init(streamID: ReplicationStreamID) {
        self.streamID = streamID
    }

    /// The number of sessions.
    var count: Int { entries.count }

    /// All sessions.
    var sessions: [SessionID] { Array(entries.keys) }

    /// Whether the board has no trace of any session.
    var isEmpty: Bool {
        entries.isEmpty && users.isEmpty && index.isEmpty && resolving.isEmpty && overdue.isEmpty && awaiting.isEmpty
    }

    /// Whether a session is on the board.
    func contains(_ session: SessionID) -> Bool { entries[session] != nil }

    /// Whether a session can take something.
    func hasNews(_ session: SessionID) -> Bool { newest != nil && entries[session]?.pending != nil }

    /// Whether more than one session wants a bucket.
    func isShared(_ bucket: BucketName) -> Bool { index[bucket].count > 1 }

    // MARK: Sessions

    /// Adds a session, which will be told of the newest checkpoint first.
    mutating func add(_ session: SessionID, userKey: String) {
        let userKey = Array(userKey.utf8)
        entries[session] = Entry(userKey: userKey, pending: .unknown, missed: [])
        users[userKey, default: User()].sessions.insert(session)
        resolving.insert(session)
    }

    /// Removes a session; what it has not taken is void.
    mutating func remove(_ session: SessionID) {
        guard let entry = entries.removeValue(forKey: session) else { return }
        index.remove(session)
        resolving.remove(session)
        overdue.remove(session)
        users[entry.userKey]?.sessions.remove(session)
        if users[entry.userKey]?.sessions.isEmpty == true {
            users[entry.userKey] = nil
            awaiting.remove(entry.userKey)
        }
    }

    /// Takes the changes that a session has not taken.
    ///
    /// If its buckets may have changed, it has to find them at the checkpoint and to ``settle(_:of:)``. If it cannot,
    /// or if it asks for any checkpoint, the next scope is everything: the changes that it took are not kept.
    ///
    /// - Returns: `nil` when there is nothing.
    mutating func take(_ session: SessionID) -> CheckpointNews? {
        guard let newest, let pending = entries[session]?.pending else { return nil }
        // A write checkpoint may wake it before a commit does, also at the checkpoint that it could not use.
        let hasLostNews = overdue.remove(session) != nil || entries[session]?.missed != nil
        let scope = hasLostNews ? CheckpointNews.Scope.unknown : pending
        entries[session]?.pending = nil
        if scope.mayHaveOtherBuckets {
            entries[session]?.missed = []
            resolving.insert(session)
        }
        return CheckpointNews(checkpoint: newest, scope: scope)
    }

    /// A session knows its buckets, at the checkpoint that it took.
    mutating func settle(_ interest: Interest, of session: SessionID) {
        guard var entry = entries[session], let missed = entry.missed else { return }
        entry.missed = nil
        resolving.remove(session)
        if index[session] != interest { index.update(interest, of: session) }
        for commit in missed {
            var scope = entry.pending ?? CheckpointNews.Scope()
            if scope.add(commit, for: interest) { entry.pending = scope }
        }
        entries[session] = entry
    }

    /// A session cannot go on without a checkpoint later than one, whatever has changed until then.
    ///
    /// A write checkpoint may still wake it at the same one.
    mutating func awaitAny(_ session: SessionID, after checkpoint: StorageCheckpoint) {
        guard entries[session] != nil else { return }
        if let newest, newest.advances(over: checkpoint) {
            entries[session]?.pending = .unknown
        } else {
            overdue.insert(session)
        }
    }

    // MARK: Write checkpoints

    /// A write checkpoint of a user becomes visible at a position.
    ///
    /// - Returns: The sessions that have news because the position has been reached already.
    mutating func expectWriteCheckpoint(of userKey: String, at position: LSN) -> [SessionID] {
        let userKey = Array(userKey.utf8)
        guard users[userKey] != nil else { return [] }
        if let newest, newest.lsn >= position { return announceWriteCheckpoint(of: userKey) }
        awaiting.insert(userKey)
        if users[userKey]?.expected.count == Self.maximumExpected { users[userKey]?.expected.removeLast() }
        users[userKey]?.expected.append(position)
        return []
    }

    /// A write checkpoint of any user may have become visible, or wait for a position that this process does not know.
    ///
    /// - Returns: All sessions.
    mutating func announceWriteCheckpoints() -> [SessionID] { users.keys.flatMap { announceWriteCheckpoint(of: $0) } }

    private mutating func announceWriteCheckpoint(of userKey: [UInt8]) -> [SessionID] {
        let sessions = users[userKey]?.sessions ?? []
        for session in sessions { entries[session]?.add { $0.hasWriteCheckpoint = true } }
        return Array(sessions)
    }

    private mutating func announceWriteCheckpoints(upTo position: LSN) -> [SessionID] {
        var concerned: [SessionID] = []
        for userKey in awaiting {
            guard var user = users[userKey] else { continue }
            let count = user.expected.count
            user.expected.removeAll { $0 <= position }
            guard user.expected.count < count else { continue }
            if user.expected.isEmpty { awaiting.remove(userKey) }
            users[userKey] = user
            concerned += announceWriteCheckpoint(of: userKey)
        }
        return concerned
    }

    // MARK: Commits

    /// The changed buckets that sessions have, and those of them that exactly one session has.
    func wantedBuckets(of changes: CheckpointChanges) -> (all: [BucketName], unshared: [BucketName]) {
        guard case .known(let buckets, _) = changes else { return ([], []) }
        let all = buckets.filter { !index[$0].isEmpty }
        return (Array(all), all.filter { !isShared($0) })
    }

    /// A checkpoint that advances over the newest one is there.
    ///
    /// - Parameters:
    ///   - checkpoint: The checkpoint.
    ///   - commit: What differs from ``newest``; `nil` when that was not looked for, as there were no sessions.
    /// - Returns: The sessions that can take something now because of it; a session may be named more than once.
    mutating func publish(_ checkpoint: StorageCheckpoint, _ commit: CommitChanges?) -> [SessionID] {
        // A session may have come since.
        let commit = commit ?? CommitChanges(changes: .unknown)
        // The first checkpoint is news for all sessions.
        var concerned = newest == nil ? sessions : []
        newest = checkpoint
        for session in resolving { entries[session]?.keep(commit) }
        for session in overdue { entries[session]?.pending = .unknown }
        concerned += overdue
        overdue = []
        concerned += announceWriteCheckpoints(upTo: checkpoint.lsn)

        switch commit.changes {
        case .unknown:
            for session in sessions where !resolving.contains(session) {
                entries[session]?.pending = .unknown
                concerned.append(session)
            }
        case .known(let buckets, let lookups):
            for bucket in buckets {
                for session in index[bucket] where !resolving.contains(session) {
                    entries[session]?.add { $0.add(bucket, commit) }
                    concerned.append(session)
                }
            }
            for lookup in lookups {
                for session in index[lookup] where !resolving.contains(session) {
                    entries[session]?.add { $0.hasOtherLookups = true }
                    concerned.append(session)
                }
                for session in index[writeCheckpoint: lookup] where !resolving.contains(session) {
                    entries[session]?.add { $0.hasWriteCheckpoint = true }
                    concerned.append(session)
                }
            }
        }
        return concerned
    }
}

extension DispatchBoard.Entry {
    /// Adds to the changes that the session has not taken.
    fileprivate mutating func add(_ change: (inout CheckpointNews.Scope) -> Void) {
        var scope = pending ?? CheckpointNews.Scope()
        pending = nil
        change(&scope)
        pending = scope
    }

    /// Keeps a commit until the session knows its buckets.
    fileprivate mutating func keep(_ commit: CommitChanges) {
        guard let count = missed?.count else { return }
        if count < DispatchBoard.maximumMissed {
            missed?.append(commit)
        } else {
            missed = [CommitChanges(changes: .unknown)]
        }
    }
}

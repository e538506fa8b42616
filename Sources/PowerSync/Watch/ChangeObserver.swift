import GRDB
import Synchronization

/// Tells one watch that what it reads has changed.
///
/// The region is unknown until the first result has been fetched; until then every change counts. Views need no
/// treatment of their own: a region names the tables behind them, and their triggers write to those.
final class ChangeObserver: TransactionObserver, Sendable {
    private struct State {
        /// What the watch reads; `nil` when that is not known yet.
        var region: DatabaseRegion? {
            didSet { readsOfTables = [:] }
        }
        /// Whether the region has anything of a table, by the table's name.
        ///
        /// GRDB asks several times for each statement and watch; comparing regions takes twenty times longer.
        private var readsOfTables: [String: Bool] = [:]
        /// Whether the open transaction has changed the region.
        var isChanged = false
        /// Whether the writer tells us of its changes.
        var isRegistered = false
        /// Whether a fetch has begun before that.
        var mayHaveMissedChanges = false

        /// Whether events of a kind may change the region.
        mutating func isAffected(byEventsOfKind kind: DatabaseEventKind) -> Bool {
            guard let region else { return true }
            let table = kind.tableName
            var reads = readsOfTables[table]
            if reads == nil {
                reads = region.isModified(byEventsOfKind: .insert(tableName: table))
                readsOfTables[table] = reads
            }
            guard reads == true, case .update = kind else { return reads == true }
            return region.isModified(byEventsOfKind: kind)
        }
    }

    private let state = Mutex(State())
    private let signal: AsyncStream<Void>.Continuation
    private let onFinish: @Sendable () -> Void

    /// "Look again": one element after any number of commits.
    ///
    /// Finishes when the database is closed.
    let signals: AsyncStream<Void>

    /// Creates an observer that observes nothing yet.
    ///
    /// - Parameter onFinish: Called when the database is closed.
    init(onFinish: @escaping @Sendable () -> Void) {
        self.onFinish = onFinish
        (signals, signal) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    }

    /// Starts observing a writer, when its queue comes to it.
    ///
    /// The caller need not wait: see ``willFetch()``.
    func register(with writer: any DatabaseWriter) {
        writer.asyncWriteWithoutTransaction { [weak self] db in
            guard let self else { return }
            db.add(transactionObserver: self, extent: .observerLifetime)
            let mayHaveMissedChanges = state.withLock { state in
                state.isRegistered = true
                return state.mayHaveMissedChanges
            }
            if mayHaveMissedChanges { announce() }
        }
    }

    /// A fetch begins.
    ///
    /// If commits are not observed yet, a signal will follow when they are: one may slip in between.
    func willFetch() {
        state.withLock { state in
            if !state.isRegistered { state.mayHaveMissedChanges = true }
        }
    }

    /// Sets what the watch reads.
    ///
    /// When that has changed, a transaction that is open right now may have written to the new region unnoticed. Its
    /// commit then counts as a change in any case.
    func track(_ region: DatabaseRegion) {
        state.withLock { state in
            guard state.region != region else { return }
            state.isChanged = state.isChanged || state.region != nil
            state.region = region
        }
    }

    /// Sends a signal.
    func announce() {
        signal.yield()
    }

    /// Ends ``signals``.
    func finish() {
        signal.finish()
        onFinish()
    }

    func observes(eventsOfKind eventKind: DatabaseEventKind) -> Bool {
        state.withLock { $0.isAffected(byEventsOfKind: eventKind) }
    }

    func databaseDidChange() {
        didChange()
    }

    func databaseDidChange(with event: DatabaseEvent) {
        let isAffected = state.withLock { $0.region?.isModified(by: event) ?? true }
        if isAffected { didChange() }
    }

    private func didChange() {
        state.withLock { $0.isChanged = true }
        stopObservingDatabaseChangesUntilNextTransaction()
    }

    func databaseDidCommit(_ db: Database) {
        let isChanged = state.withLock { state in
            defer { state.isChanged = false }
            return state.isChanged
        }
        if isChanged { announce() }
    }

    func databaseDidRollback(_ db: Database) {
        state.withLock { $0.isChanged = false }
    }
}

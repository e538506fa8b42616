import GRDB
import NIOConcurrencyHelpers

/// Everybody who hears of the commits to one database.
///
/// What the database's own writer commits is learned from GRDB and told to those whom it concerns; see ``ChangeLedger``.
/// What other writers of the file commit is announced by ``announceAll()``.
final class ChangeHub: Sendable {
    private typealias Signal = AsyncStream<Void>.Continuation

    private struct Listeners {
        var ledger = ChangeLedger()
        weak var observer: CommitObserver?
        var nextID: UInt64 = 0
        var uploadQueue: [UInt64: Signal] = [:]
        /// Called after each commit of our own writer.
        var onCommit: (@Sendable () -> Void)?
        var isFinished = false
    }

    private let listeners = NIOLockedValueBox(Listeners())

    /// Observes the writer.
    ///
    /// Call it when the database is opened, before anybody writes.
    func observe(_ db: Database) {
        let observer = CommitObserver.observe(db, for: self)
        listeners.withLockedValue { $0.observer = observer }
    }

    /// Stops observing a writer that goes on without us.
    func stopObserving(_ db: Database) {
        let observer = listeners.withLockedValue { $0.observer }
        observer?.stop(db)
    }

    /// Registers what is called after each commit of our own writer, on its thread.
    func onCommit(_ action: @escaping @Sendable () -> Void) {
        listeners.withLockedValue { $0.onCommit = action }
    }

    /// The commits of our own writer that a reader sees which begins now, or has just begun.
    var seenCommits: SeenCommits {
        listeners.withLockedValue { $0.ledger.seenCommits }
    }

    /// Adds a listener.
    ///
    /// It is finished at once if the database is closed. If the database is open, have ``confirmListeners(_:)`` called on
    /// the writer, soon.
    ///
    /// - Parameters:
    ///   - listener: The listener.
    ///   - interests: What it wants to hear of; `nil` if that is not known yet: then it hears of everything.
    func add(_ listener: ChangeListener, interests: [ChangeInterest]? = nil) {
        let isFinished = listeners.withLockedValue { listeners in
            if !listeners.isFinished { listeners.ledger.add(listener, interests) }
            return listeners.isFinished
        }
        if isFinished { listener.finish() }
    }

    /// Removes a listener.
    func remove(_ listener: ChangeListener) {
        listeners.withLockedValue { $0.ledger.remove(listener) }
    }

    /// Sets what is of interest to a listener.
    ///
    /// When that has changed, the listener hears of everything once more: it may have missed something.
    func track(_ interests: [ChangeInterest], for listener: ChangeListener) {
        let mustLookAgain = listeners.withLockedValue { $0.ledger.track(interests, for: listener) }
        if mustLookAgain { listener.hear(.anything) }
    }

    /// Makes sure that listeners hear of deletions by statements that were prepared before they were added.
    ///
    /// - Parameter db: The writer, outside a transaction.
    func confirmListeners(_ db: Database) {
        let observer = listeners.withLockedValue { $0.observer }
        observer?.forgetPreparedDeletes(db)
        listeners.withLockedValue { $0.ledger.confirmListeners() }
    }

    /// One element after each commit that appended to the upload queue; several commits may share one.
    ///
    /// Finishes when the database is closed. The database need not be open.
    func uploadQueueChanges() -> AsyncStream<Void> {
        let (stream, signal) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let id: UInt64? = listeners.withLockedValue { listeners in
            guard !listeners.isFinished else { return nil }
            listeners.nextID += 1
            listeners.uploadQueue[listeners.nextID] = signal
            return listeners.nextID
        }
        if let id {
            signal.onTermination = { [weak self] _ in
                self?.removeUploadSignal(id)
            }
        } else {
            signal.finish()
        }
        return stream
    }

    private func removeUploadSignal(_ id: UInt64) {
        // The signal goes away outside the lock.
        _ = listeners.withLockedValue { $0.uploadQueue.removeValue(forKey: id) }
    }

    /// Anything may have changed: another connection has committed, or the schema was replaced.
    func announceAll() {
        let (all, signals) = listeners.withLockedValue { ($0.ledger.listeners, Array($0.uploadQueue.values)) }
        all.forEach { $0.hear(.anything) }
        signals.forEach { $0.yield() }
    }

    /// The database is open.
    func announceOpening() {
        let all = listeners.withLockedValue { $0.ledger.listeners }
        for listener in all where listener.hearsOfOpening { listener.hear(.anything) }
    }

    /// Another connection has written to tables, and committed.
    func announce(_ tables: Set<String>) {
        let (news, signals) = listeners.withLockedValue { listeners in
            let signals = tables.contains(ChangeLedger.uploadQueue) ? Array(listeners.uploadQueue.values) : []
            return (listeners.ledger.news(ofOthers: tables), signals)
        }
        news.forEach { listener, news in listener.hear(news) }
        signals.forEach { $0.yield() }
    }

    /// The database is closed: every stream ends, and later ones are empty.
    func finish() {
        let (all, signals) = listeners.withLockedValue { listeners in
            defer {
                listeners.isFinished = true
                listeners.ledger.removeAll()
                listeners.uploadQueue = [:]
                listeners.onCommit = nil
            }
            return (listeners.ledger.listeners, Array(listeners.uploadQueue.values))
        }
        all.forEach { $0.finish() }
        signals.forEach { $0.finish() }
    }
}

// What GRDB tells, through ``CommitObserver``.
extension ChangeHub {
    /// See ``ChangeLedger/observes(_:)``.
    func observes(_ kind: DatabaseEventKind) -> Bool {
        listeners.withLockedValue { $0.ledger.observes(kind) }
    }

    /// See ``ChangeLedger/didChange(_:table:)``.
    func didChange(_ operation: ChangeKind.Operation, table: String) {
        listeners.withLockedValue { $0.ledger.didChange(operation, table: table) }
    }

    /// Tables were written to in the open transaction where GRDB cannot see it; `nil` when it may be any.
    func didWrite(_ tables: [String]?) {
        listeners.withLockedValue { listeners in
            if let tables { listeners.ledger.announce(tables) } else { listeners.ledger.announceAnything() }
        }
    }

    /// Whether our own writer has begun to commit, and not said how it ended.
    var awaitsEndOfCommit: Bool { listeners.withLockedValue { $0.ledger.isCommitting } }

    /// Our own writer is about to commit.
    func willCommit() {
        listeners.withLockedValue { $0.ledger.willCommit() }
    }

    /// Our own writer has committed.
    func didCommit() {
        let (commit, signals, onCommit) = listeners.withLockedValue { listeners in
            let commit = listeners.ledger.commit()
            let signals = commit.appendedToUploadQueue ? Array(listeners.uploadQueue.values) : []
            return (commit, signals, listeners.onCommit)
        }
        commit.news.forEach { listener, news in listener.hear(news) }
        signals.forEach { $0.yield() }
        onCommit?()
    }

    /// Our own writer has rolled back.
    func didRollBack() {
        listeners.withLockedValue { $0.ledger.rollBack() }
    }
}

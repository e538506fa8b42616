import Synchronization

/// Everybody who hears of the commits to one database.
///
/// ``ChangeObserver``s and ``commitObserver`` learn of the commits of this database's own writer from GRDB. What other
/// writers of the file commit is announced by ``announceAll()``.
final class ChangeHub: Sendable {
    private typealias Signal = AsyncStream<Void>.Continuation

    private struct Listeners {
        var nextID: UInt64 = 0
        var queries: [ObjectIdentifier: ChangeObserver] = [:]
        var uploadQueue: [UInt64: Signal] = [:]
        /// Called after each commit of our own writer.
        var onCommit: (@Sendable () -> Void)?
        var isFinished = false
    }

    private let listeners = Mutex(Listeners())

    /// What GRDB tells of each commit.
    ///
    /// Registered with the writer when the database is opened.
    let commitObserver = CommitObserver()

    /// Creates a hub without listeners.
    init() {
        commitObserver.report(to: self)
    }

    /// Registers what is called after each commit of our own writer, on its thread.
    func onCommit(_ action: @escaping @Sendable () -> Void) {
        listeners.withLock { $0.onCommit = action }
    }

    /// Adds an observer for the announcements of this hub.
    ///
    /// It is finished at once if the database is closed.
    func add(_ observer: ChangeObserver) {
        let isFinished = listeners.withLock { listeners in
            if !listeners.isFinished { listeners.queries[ObjectIdentifier(observer)] = observer }
            return listeners.isFinished
        }
        if isFinished { observer.finish() }
    }

    /// Removes an observer.
    func remove(_ observer: ChangeObserver) {
        listeners.withLock { $0.queries[ObjectIdentifier(observer)] = nil }
    }

    /// One element after each commit that appended to the upload queue; several commits may share one.
    ///
    /// Finishes when the database is closed. The database need not be open.
    func uploadQueueChanges() -> AsyncStream<Void> {
        let (stream, signal) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let id: UInt64? = listeners.withLock { listeners in
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
        _ = listeners.withLock { $0.uploadQueue.removeValue(forKey: id) }
    }

    /// Our own writer has committed.
    func didCommit(appendingToUploadQueue: Bool) {
        let (signals, onCommit) = listeners.withLock { listeners in
            (appendingToUploadQueue ? Array(listeners.uploadQueue.values) : [], listeners.onCommit)
        }
        signals.forEach { $0.yield() }
        onCommit?()
    }

    /// Anything may have changed: another connection has committed, or the schema was replaced.
    func announceAll() {
        let (queries, signals) = listeners.withLock { ($0.queries.values, Array($0.uploadQueue.values)) }
        queries.forEach { $0.announce() }
        signals.forEach { $0.yield() }
    }

    /// The database is closed: every stream ends, and later ones are empty.
    func finish() {
        let (queries, signals) = listeners.withLock { listeners in
            defer {
                listeners.isFinished = true
                listeners.queries = [:]
                listeners.uploadQueue = [:]
                listeners.onCommit = nil
            }
            return (listeners.queries.values, Array(listeners.uploadQueue.values))
        }
        queries.forEach { $0.finish() }
        signals.forEach { $0.finish() }
    }
}

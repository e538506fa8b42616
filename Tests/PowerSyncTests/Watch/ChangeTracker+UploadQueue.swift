@testable import PowerSyncClient

extension ChangeTracker {
    /// One element after each commit that appended to the upload queue; several commits may share one.
    ///
    /// Finishes when the database is closed. The database need not be open.
    func uploadQueueChanges() -> AsyncStream<Void> {
        let entries = AppendedEntries(self)
        return AsyncStream { await entries.next() }
    }
}

extension LocalDatabase {
    /// One element after each commit that appended to the upload queue.
    func uploadQueueChanges() -> AsyncStream<Void> { changes.uploadQueueChanges() }
}

/// Listens as long as it is kept.
private final class AppendedEntries: Sendable {
    private let tracker: ChangeTracker
    private let listener = ChangeListener()

    init(_ tracker: ChangeTracker) {
        self.tracker = tracker
        tracker.add(listener, interest: .appendedEntries)
    }

    deinit {
        tracker.remove(listener)
    }

    func next() async -> Void? {
        var signals = listener.signals.makeAsyncIterator()
        return await signals.next()
    }
}

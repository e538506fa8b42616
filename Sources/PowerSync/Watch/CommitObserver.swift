import GRDB
import Synchronization

/// Tells a ``ChangeHub`` of each commit, and whether it appended to the upload queue.
///
/// Local writes reach the queue's table through a virtual table; the engine announces them before the commit.
final class CommitObserver: TransactionObserver, Sendable {
    private static let uploadQueue = "ps_crud"

    private struct State {
        var hasAppended = false
        weak var hub: ChangeHub?
    }

    private let state = Mutex(State())

    /// Connects the observer, once.
    func report(to hub: ChangeHub) {
        state.withLock { $0.hub = hub }
    }

    func observes(eventsOfKind eventKind: DatabaseEventKind) -> Bool {
        guard case .insert(tableName: CommitObserver.uploadQueue) = eventKind else { return false }
        return true
    }

    func databaseDidChange() {
        state.withLock { $0.hasAppended = true }
        stopObservingDatabaseChangesUntilNextTransaction()
    }

    func databaseDidChange(with event: DatabaseEvent) {
        guard event.tableName == CommitObserver.uploadQueue else { return }
        state.withLock { $0.hasAppended = true }
        stopObservingDatabaseChangesUntilNextTransaction()
    }

    func databaseDidCommit(_ db: Database) {
        let (hub, hasAppended) = state.withLock { state in
            defer { state.hasAppended = false }
            return (state.hub, state.hasAppended)
        }
        hub?.didCommit(appendingToUploadQueue: hasAppended)
    }

    func databaseDidRollback(_ db: Database) {
        state.withLock { $0.hasAppended = false }
    }
}

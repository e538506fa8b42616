import GRDB
import NIOConcurrencyHelpers
import PowerSyncCore

/// Tells a ``ChangeHub`` what GRDB tells of the writer's statements and transactions, and what the engine tells of its own.
///
/// There is one for each database, and not one for each watch: GRDB asks every observer about every statement.
///
/// What `notifyChanges(in:)` announces reaches an observer as "something has changed". The engine names the tables before
/// it calls that; for other callers any table may have changed.
final class CommitObserver: TransactionObserver, AnnouncementObserver, Sendable {
    private let hub: ChangeHub
    /// Whether the engine is calling `notifyChanges(in:)`, for tables that it has named.
    private let isAnnounced = NIOLockedValueBox(false)

    private init(hub: ChangeHub) {
        self.hub = hub
    }

    /// Observes a writer until ``stop(_:)``, or as long as it lives.
    static func observe(_ db: Database, for hub: ChangeHub) -> CommitObserver {
        let observer = CommitObserver(hub: hub)
        db.add(transactionObserver: observer, extent: .databaseLifetime)
        Announcement.add(observer, db)
        return observer
    }

    /// Stops observing the writer.
    func stop(_ db: Database) {
        Announcement.remove(self, db)
        db.remove(transactionObserver: self)
    }

    /// Makes GRDB prepare cached `DELETE` statements again; it does so whenever an observer is added.
    func forgetPreparedDeletes(_ db: Database) {
        db.remove(transactionObserver: self)
        db.add(transactionObserver: self, extent: .databaseLifetime)
    }

    func willAnnounce(_ tables: [String]?) {
        isAnnounced.withLockedValue { $0 = true }
        hub.didWrite(tables)
    }

    func didAnnounce() {
        isAnnounced.withLockedValue { $0 = false }
    }

    var awaitsEndOfCommit: Bool { hub.awaitsEndOfCommit }

    func observes(eventsOfKind eventKind: DatabaseEventKind) -> Bool {
        hub.observes(eventKind)
    }

    func databaseDidChange() {
        guard !isAnnounced.withLockedValue({ $0 }) else { return }
        hub.didWrite(nil)
    }

    func databaseDidChange(with event: DatabaseEvent) {
        let operation: ChangeKind.Operation =
            switch event.kind {
            case .insert: .insert
            case .update: .update
            case .delete: .delete
            }
        hub.didChange(operation, table: event.tableName)
    }

    func databaseWillCommit() {
        hub.willCommit()
    }

    func databaseDidCommit(_ db: Database) {
        hub.didCommit()
    }

    func databaseDidRollback(_ db: Database) {
        hub.didRollBack()
    }
}

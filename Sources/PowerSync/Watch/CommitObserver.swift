import GRDB

/// Tells a ``ChangeHub`` what GRDB tells of the writer's statements and transactions.
///
/// There is one for each database, and not one for each watch: GRDB asks every observer about every statement.
///
/// What `notifyChanges(in:)` announces reaches an observer as "something has changed", after GRDB has asked for the kinds
/// of changes one by one, until the observer was interested. To know all of them there is a second observer, registered
/// before this one: it is asked the same, and is never interested.
final class CommitObserver: TransactionObserver, Sendable {
    private let hub: ChangeHub
    private let kinds: KindObserver

    private init(hub: ChangeHub) {
        self.hub = hub
        kinds = KindObserver(hub: hub)
    }

    /// Observes a writer until ``stop(_:)``, or as long as it lives.
    static func observe(_ db: Database, for hub: ChangeHub) -> CommitObserver {
        let observer = CommitObserver(hub: hub)
        db.add(transactionObserver: observer.kinds, extent: .databaseLifetime)
        db.add(transactionObserver: observer, extent: .databaseLifetime)
        return observer
    }

    /// Stops observing the writer.
    func stop(_ db: Database) {
        db.remove(transactionObserver: kinds)
        db.remove(transactionObserver: self)
    }

    /// Makes GRDB prepare cached `DELETE` statements again; it does so whenever an observer is added.
    func forgetPreparedDeletes(_ db: Database) {
        db.remove(transactionObserver: self)
        db.add(transactionObserver: self, extent: .databaseLifetime)
    }

    func observes(eventsOfKind eventKind: DatabaseEventKind) -> Bool {
        hub.mustReport(eventKind)
    }

    func databaseDidChange() {
        hub.didAnnounce()
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

    func databaseDidCommit(_ db: Database) {
        hub.didCommit()
    }

    func databaseDidRollback(_ db: Database) {
        hub.didRollBack()
    }
}

/// Tells a ``ChangeHub`` the kinds of changes that GRDB asks for.
private final class KindObserver: TransactionObserver, Sendable {
    private let hub: ChangeHub

    init(hub: ChangeHub) {
        self.hub = hub
    }

    func observes(eventsOfKind eventKind: DatabaseEventKind) -> Bool {
        hub.willExecute(eventKind)
        return false
    }

    func databaseDidChange(with event: DatabaseEvent) {}
    func databaseDidCommit(_ db: Database) {}
    func databaseDidRollback(_ db: Database) {}
}

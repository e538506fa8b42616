import GRDB

/// Counts announcements for some tables.
///
/// `@unchecked Sendable`: called on the writer's queue only, and read when it is idle.
final class ChangeCounter: TransactionObserver, @unchecked Sendable {
    private let tables: Set<String>
    private(set) var changes = 0

    init(tables: Set<String>) {
        self.tables = tables
    }

    func observes(eventsOfKind eventKind: DatabaseEventKind) -> Bool { tables.contains(eventKind.tableName) }
    func databaseDidChange() { changes += 1 }
    func databaseDidChange(with event: DatabaseEvent) { changes += 1 }
    func databaseDidCommit(_ db: Database) {}
    func databaseDidRollback(_ db: Database) {}
}

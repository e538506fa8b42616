import GRDB

/// The listeners of tables of one connection that were written to where GRDB cannot see it: observers, and `powersync_update_hooks`.
///
/// Part of ``ConnectionState``, which says why one thread at a time is here.
final class Announcements {
    private struct WeakObserver {
        weak var observer: (any AnnouncementObserver)?
    }

    /// The tables that change, once `powersync_update_hooks('install')` was called.
    var tableChanges: TableChanges?
    private var observers: [WeakObserver] = []

    /// Adds an observer without keeping it alive.
    func add(_ observer: any AnnouncementObserver) {
        observers.removeAll { $0.observer == nil }
        observers.append(WeakObserver(observer: observer))
    }

    /// Removes an observer.
    func remove(_ observer: any AnnouncementObserver) {
        observers.removeAll { $0.observer == nil || $0.observer === observer }
    }

    /// Tells all observers, GRDB's included, of tables that were written to.
    ///
    /// - Parameters:
    ///   - db: The connection, inside a transaction.
    ///   - tables: Their names; `nil` when any table may have been written to.
    ///   - region: The same for GRDB.
    /// - Throws: GRDB's `DatabaseError`.
    func tell(_ db: Database, tables: [String]?, region: DatabaseRegion) throws {
        try note(db, tables: tables)
        let observers = observers.compactMap(\.observer)
        observers.forEach { $0.willAnnounce(tables) }
        defer { observers.forEach { $0.didAnnounce() } }
        try db.notifyChanges(in: region)
    }

    /// Has `powersync_update_hooks` report tables.
    ///
    /// - Parameters:
    ///   - db: The connection.
    ///   - tables: Their names; `nil` when any table may have been written to: then all of them are reported.
    /// - Throws: GRDB's `DatabaseError`.
    func note(_ db: Database, tables: [String]?) throws {
        guard let tableChanges else { return }
        tableChanges.add(try tables ?? String.fetchAll(db, sql: "SELECT name FROM sqlite_master WHERE type = 'table'"))
    }

    /// Whether an observer was told that a commit begins, and not how it ended.
    var awaitsEndOfCommit: Bool { observers.contains { $0.observer?.awaitsEndOfCommit == true } }
}

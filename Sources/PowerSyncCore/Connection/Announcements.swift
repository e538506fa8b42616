package import GRDB

/// Learns the names of tables that the engine has written to where GRDB cannot see it.
///
/// GRDB's observers are told of such writes by `notifyChanges(in:)`, and all that reaches them is that something of
/// interest to them has changed. Observers that need the names register here as well.
package protocol AnnouncementObserver: AnyObject {
    /// The engine has written to tables, and GRDB's observers are told next.
    ///
    /// Called on the writer, inside the transaction.
    ///
    /// - Parameter tables: Their names in SQLite; `nil` when any table may have been written to.
    func willAnnounce(_ tables: [String]?)

    /// GRDB's observers have been told.
    func didAnnounce()

    /// Whether GRDB has told that a commit begins, and not how it ended.
    var awaitsEndOfCommit: Bool { get }
}

/// The listeners of tables of one connection that were written to where GRDB cannot see it: observers, and `powersync_update_hooks`.
///
/// Part of ``ConnectionState``, which says why one thread at a time is here. A connection without our SQL functions has none: there
/// the engine never writes.
package final class Announcements {
    private struct WeakObserver {
        weak var observer: (any AnnouncementObserver)?
    }

    /// The tables that change, once `powersync_update_hooks('install')` was called.
    var tableChanges: TableChanges?
    private var observers: [WeakObserver] = []

    /// Adds an observer to a connection, which does not keep it alive.
    package static func add(_ db: Database, _ observer: any AnnouncementObserver) {
        guard let listeners = of(db) else { return }
        listeners.observers.removeAll { $0.observer == nil }
        listeners.observers.append(WeakObserver(observer: observer))
    }

    /// Removes an observer from a connection.
    package static func remove(_ db: Database, _ observer: any AnnouncementObserver) {
        of(db)?.observers.removeAll { $0.observer == nil || $0.observer === observer }
    }

    /// Tells all observers of a connection, GRDB's included, that tables were written to.
    ///
    /// - Parameters:
    ///   - db: The writer, inside a transaction.
    ///   - tables: Their names in SQLite; `nil` when any table may have been written to.
    ///   - region: The same for GRDB.
    /// - Throws: GRDB's `DatabaseError`.
    package static func tell(_ db: Database, _ tables: [String]?, in region: DatabaseRegion) throws {
        guard let listeners = of(db) else { return try db.notifyChanges(in: region) }
        try listeners.tell(db, tables, in: region)
    }

    /// Tells all observers, GRDB's included, as the function above.
    func tell(_ db: Database, _ tables: [String]?, in region: DatabaseRegion) throws {
        if let tableChanges {
            tableChanges.add(
                try tables ?? String.fetchAll(db, sql: "SELECT name FROM sqlite_master WHERE type = 'table'")
            )
        }
        let observers = observers.compactMap(\.observer)
        observers.forEach { $0.willAnnounce(tables) }
        defer { observers.forEach { $0.didAnnounce() } }
        try db.notifyChanges(in: region)
    }

    /// Has `powersync_update_hooks` report a table of the engine that was written to where no hook sees it.
    ///
    /// Observers are not told: these tables change with every line of the service.
    ///
    /// - Parameters:
    ///   - db: The writer, inside a transaction.
    ///   - table: Its name.
    static func note(_ db: Database, _ table: String) {
        of(db)?.tableChanges?.add([table])
    }

    /// Whether SQLite has committed something of which GRDB has not told its observers.
    ///
    /// Ask when a statement has failed, and may have been committed nevertheless, or before it is left.
    package static func hasUntoldCommit(_ db: Database) -> Bool {
        guard !db.isInsideTransaction, let listeners = of(db) else { return false }
        return listeners.observers.contains { $0.observer?.awaitsEndOfCommit == true }
    }

    private static func of(_ db: Database) -> Announcements? {
        unsafe db.sqliteConnection.flatMap(ConnectionState.find)?.announcements
    }
}

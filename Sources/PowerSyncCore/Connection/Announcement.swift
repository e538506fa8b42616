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

package enum Announcement {
    /// Adds an observer to a connection, which does not keep it alive.
    ///
    /// Does nothing on a connection without our SQL functions: there the engine never writes.
    package static func add(_ db: Database, _ observer: any AnnouncementObserver) {
        state(of: db)?.announcements.add(observer)
    }

    /// Removes an observer from a connection.
    package static func remove(_ db: Database, _ observer: any AnnouncementObserver) {
        state(of: db)?.announcements.remove(observer)
    }

    /// Tells all observers of a connection, GRDB's included, that tables were written to.
    ///
    /// - Parameters:
    ///   - db: The writer, inside a transaction.
    ///   - tables: Their names in SQLite; `nil` when any table may have been written to.
    ///   - region: The same for GRDB.
    /// - Throws: GRDB's `DatabaseError`.
    package static func tell(_ db: Database, _ tables: [String]?, in region: DatabaseRegion) throws {
        guard let state = state(of: db) else { return try db.notifyChanges(in: region) }
        try state.announcements.tell(db, tables: tables, region: region)
    }

    /// Whether SQLite has committed something of which GRDB has not told its observers.
    ///
    /// Ask when a statement has failed, and may have been committed nevertheless, or before it is left.
    package static func hasUntoldCommit(_ db: Database) -> Bool {
        guard !db.isInsideTransaction, let state = state(of: db) else { return false }
        return state.announcements.awaitsEndOfCommit
    }

    /// Has `powersync_update_hooks` report tables of the engine that were written to where no hook sees it.
    ///
    /// Observers are not told: these tables change with every line of the service.
    ///
    /// - Parameters:
    ///   - db: The writer, inside a transaction.
    ///   - table: Its name.
    /// - Throws: GRDB's `DatabaseError`.
    static func note(_ db: Database, _ table: String) throws {
        try state(of: db)?.announcements.note(db, tables: [table])
    }

    private static func state(of db: Database) -> ConnectionState? {
        unsafe db.sqliteConnection.flatMap(ConnectionState.find)
    }
}

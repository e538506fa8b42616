package import GRDB
import PowerSyncSQLite

/// The statements of the app that one connection keeps prepared, for as long as GRDB would keep them.
///
/// GRDB forgets its statements when the schema changes, and those that delete rows when an observer comes or goes, because
/// such a statement is compiled differently for observers. Ours are forgotten with them: ``witness`` is a statement in GRDB's
/// cache that deletes rows, and when another one is found in its place, GRDB has forgotten.
package final class AppStatements {
    private static let witnessSQL = "DELETE FROM ps_kv WHERE 0"

    private let handle: OpaquePointer
    private let recent = RecentStatements()
    /// Not kept: GRDB finalises its own before it closes a connection, at a time when nobody else may hold them.
    private weak var witness: Statement?
    private var isCloseAnnounced = false

    init(handle: OpaquePointer) {
        self.handle = handle
    }

    /// The statements of a connection, `nil` when it does not have our SQL functions.
    package static func of(_ db: Database) -> AppStatements? {
        db.sqliteConnection.flatMap(ConnectionState.find)?.appStatements
    }

    /// The statement of a text, prepared anew if it is not kept or is running.
    ///
    /// It may hold the values of an earlier run.
    ///
    /// - Parameters:
    ///   - sql: One statement, byte by byte what is prepared.
    ///   - db: The connection.
    /// - Returns: The statement. Hold it as long as it runs.
    /// - Throws: GRDB's `DatabaseError` when SQLite does not understand the text.
    /// - Complexity: O(`RecentStatements.limit`) when the statement is not kept.
    package func statement(sql: String, _ db: Database) throws -> Statement {
        guard forgetWithGRDB(db) else { return try db.makeStatement(sql: sql) }
        announceClose()
        return try recent.statement(sql: sql, db)
    }

    /// Forgets the statement of a text: after an error, resetting it may not be enough to run it again.
    package func forget(sql: String) {
        recent.forget(sql: sql)
    }

    /// Forgets everything, so that the connection can be closed.
    func close() {
        witness = nil
        recent.forgetAll()
    }

    /// Forgets everything if GRDB has done so.
    ///
    /// - Returns: Whether statements can be kept: not in a file without our tables.
    private func forgetWithGRDB(_ db: Database) -> Bool {
        guard let current = try? db.cachedStatement(sql: Self.witnessSQL) else { return false }
        if current !== witness {
            witness = current
            recent.forgetAll()
        }
        return true
    }

    private func announceClose() {
        guard !isCloseAnnounced else { return }
        isCloseAnnounced = true
        ConnectionEnd.announce(of: handle)
    }
}

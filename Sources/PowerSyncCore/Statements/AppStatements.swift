package import GRDB
import GRDBSQLite

/// The statements of the app that one connection keeps prepared: those that were used last.
///
/// GRDB's own cache keeps every text for ever, which suits the engine's fixed texts. An app may put values into its texts, or
/// write `IN (?, ?, …)` for each number of values; so here the statement that was not used for longest makes room.
///
/// A statement that is in use is held by who uses it, and is finalised when that ends.
///
/// GRDB forgets its statements when the schema changes, and those that delete rows when an observer comes or goes, because
/// such a statement is compiled differently for observers. Ours are forgotten with them: ``witness`` is a statement in GRDB's
/// cache that deletes rows, and when another one is found in its place, GRDB has forgotten.
package final class AppStatements {
    /// How many statements a connection keeps.
    package static let limit = 100
    /// The longest text that is kept, in bytes.
    ///
    /// Preparing a longer one takes little of the time that running it takes.
    package static let longestText = 8_192

    private static let witnessSQL = "DELETE FROM ps_kv WHERE 0"

    private struct Kept {
        let statement: Statement
        var lastUse: UInt64
    }

    private let handle: OpaquePointer
    private var kept: [ExactText: Kept] = [:]
    private var uses: UInt64 = 0
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
    /// - Complexity: O(``limit``) when the statement is not kept.
    package func statement(sql: String, _ db: Database) throws -> Statement {
        guard sql.utf8.count <= Self.longestText, forgetWithGRDB(db) else { return try db.makeStatement(sql: sql) }
        let key = ExactText(sql)
        uses += 1
        if let index = kept.index(forKey: key) {
            kept.values[index].lastUse = uses
            let statement = kept.values[index].statement
            return sqlite3_stmt_busy(statement.sqliteStatement) == 0 ? statement : try db.makeStatement(sql: sql)
        }
        let statement = try db.makeStatement(sql: sql)
        if kept.count >= Self.limit, let oldest = kept.min(by: { $0.value.lastUse < $1.value.lastUse }) {
            forget(oldest.key)
        }
        announceClose()
        kept[key] = Kept(statement: statement, lastUse: uses)
        return statement
    }

    /// Forgets the statement of a text: after an error, resetting it may not be enough to run it again.
    package func forget(sql: String) {
        forget(ExactText(sql))
    }

    /// Forgets everything, so that the connection can be closed.
    func close() {
        forgetAll(witness: nil)
    }

    /// Finalising the last statement of a virtual table disconnects that, which calls ``close()``: so a statement is released
    /// when it is no longer here.
    private func forget(_ key: ExactText) {
        let statement = kept.removeValue(forKey: key)
        withExtendedLifetime(statement) {}
    }

    private func forgetAll(witness next: Statement?) {
        let forgotten = kept
        kept = [:]
        witness = next
        withExtendedLifetime(forgotten) {}
    }

    /// Forgets everything if GRDB has done so.
    ///
    /// - Returns: Whether statements can be kept: not in a file without our tables.
    private func forgetWithGRDB(_ db: Database) -> Bool {
        guard let current = try? db.cachedStatement(sql: Self.witnessSQL) else { return false }
        if current !== witness { forgetAll(witness: current) }
        return true
    }

    private func announceClose() {
        guard !isCloseAnnounced else { return }
        isCloseAnnounced = true
        ConnectionEnd.announce(of: handle)
    }
}

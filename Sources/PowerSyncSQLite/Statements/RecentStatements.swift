package import GRDB
import GRDBSQLite

/// Statements that a connection of GRDB keeps prepared: those that were used last.
///
/// GRDB's own cache keeps every text for ever, which suits fixed texts. An app may put values into its texts, or write
/// `IN (?, ?, …)` for each number of values; so here the statement that was not used for longest makes room.
///
/// A statement that is in use is held by who uses it, and is finalised when that ends. Finalising the last statement of a
/// virtual table disconnects that, and its callback may well call ``forgetAll()``: so a statement is released when it is no
/// longer here.
package final class RecentStatements {
    /// How many statements are kept.
    package static let limit = 100
    /// The longest text that is kept, in bytes.
    ///
    /// Preparing a longer one takes little of the time that running it takes.
    package static let longestText = 8_192

    private struct Kept {
        let statement: Statement
        var lastUse: UInt64
    }

    private var kept: [ExactText: Kept] = [:]
    private var uses: UInt64 = 0

    /// Keeps nothing yet.
    package init() {}

    /// How many statements there are now.
    package var count: Int { kept.count }

    /// The statement of a text, prepared anew if it is not kept or is running.
    ///
    /// It may hold the values of an earlier run.
    ///
    /// - Parameters:
    ///   - sql: One statement, byte by byte what is prepared.
    ///   - db: The connection, always the same.
    /// - Returns: The statement. Hold it as long as it runs.
    /// - Throws: `DatabaseError` when SQLite does not understand the text.
    /// - Complexity: O(``limit``) when the statement is not kept.
    package func statement(sql: String, _ db: Database) throws -> Statement {
        guard sql.utf8.count <= Self.longestText else { return try db.makeStatement(sql: sql) }
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
        kept[key] = Kept(statement: statement, lastUse: uses)
        return statement
    }

    /// Forgets the statement of a text: after an error, resetting it may not be enough to run it again.
    package func forget(sql: String) {
        forget(ExactText(sql))
    }

    /// Forgets everything, so that the connection can be closed.
    package func forgetAll() {
        let forgotten = kept
        kept = [:]
        withExtendedLifetime(forgotten) {}
    }

    private func forget(_ key: ExactText) {
        let statement = kept.removeValue(forKey: key)
        withExtendedLifetime(statement) {}
    }
}

package import GRDB
import GRDBSQLite
import PowerSyncSQLite

/// The statements of the app that one connection keeps prepared, in GRDB's cache.
///
/// GRDB forgets a statement when it has to: after an error, when the schema changes, when an observer comes or goes and the
/// statement deletes rows, and before the connection closes. Otherwise it keeps every text for ever, which suits fixed texts. An
/// app may put values into its texts, or write `IN (?, ?, …)` for each number of values; so when there are ``limit`` texts, GRDB
/// is told to forget all it has, and a new text is the first again.
package final class AppStatements {
    /// How many texts of the app are kept.
    package static let limit = 100
    /// The longest text that is kept, in bytes.
    ///
    /// Preparing a longer one takes little of the time that running it takes.
    package static let longestText = 8_192

    /// The texts in GRDB's cache since it was last told to forget.
    private var texts: Set<ExactText> = []

    /// The statements of a connection, `nil` when it does not have our SQL functions.
    package static func of(_ db: Database) -> AppStatements? {
        unsafe db.sqliteConnection.flatMap(ConnectionState.find)?.appStatements
    }

    /// The statement of a text, prepared anew if it is not kept or is running.
    ///
    /// It may hold the values of an earlier run.
    ///
    /// - Parameters:
    ///   - db: The connection.
    ///   - sql: One statement, byte by byte what is prepared.
    /// - Returns: The statement. Hold it as long as it runs.
    /// - Throws: GRDB's `DatabaseError` when SQLite does not understand the text.
    package func statement(_ db: Database, sql: String) throws -> Statement {
        guard sql.utf8.count <= Self.longestText else { return try db.makeStatement(sql: sql) }
        if !texts.contains(ExactText(sql)) {
            if texts.count >= Self.limit {
                db.clearSchemaCache()
                texts = []
            }
            texts.insert(ExactText(sql))
        }
        let statement = try db.cachedStatement(sql: sql)
        let isUsable = unsafe statement.isPrepared(from: sql) && sqlite3_stmt_busy(statement.sqliteStatement) == 0
        return isUsable ? statement : try db.makeStatement(sql: sql)
    }
}

import GRDB
import PowerSyncSQLite

/// A statement of a transaction that is prepared when it is needed first.
///
/// For what most transactions do not need: even to find a text in GRDB's cache costs as much as to write a row.
final class StatementOnDemand {
    private let db: Database
    private let sql: String
    private var statement: PreparedStatement?

    /// Prepares nothing yet.
    ///
    /// - Parameters:
    ///   - db: The connection, inside a transaction, which ends after the last use of this instance.
    ///   - sql: One statement.
    init(_ db: Database, sql: String) {
        self.db = db
        self.sql = sql
    }

    /// The statement.
    ///
    /// - Throws: `DatabaseError` when SQLite does not understand the text.
    func prepared() throws -> PreparedStatement {
        if let statement { return statement }
        let prepared = try PreparedStatement(db, sql: sql)
        statement = prepared
        return prepared
    }
}

public import GRDB
import PowerSyncSQLite
public import PowerSyncUpload

/// A write of a user, for the closure that decides about it.
///
/// ```swift
/// func mayWrite(_ write: UploadedWrite, _ db: Database) throws -> WriteDecision {
///     guard write.entry.table == "lists" else { return .reject("Clients do not write to \(write.entry.table).") }
///     // Whose the list is, and whose it becomes.
///     guard try write.belongsToUser(by: "owner_id", db) else { return .reject("The list belongs to somebody else.") }
///     return .apply
/// }
/// ```
///
/// A decision that does not look at both, the stored row and the new values, lets users write rows of others or give their own away.
public struct UploadedWrite: Sendable {
    /// Who has sent it.
    public let user: BackendUser
    /// The id of the client's database, if the client has sent one.
    public let clientID: String?
    /// What the client has written.
    public let entry: UploadEntry
    /// The row that `UploadEntry.id` is about.
    let row: TargetRow

    /// The row as it is in the database now, with what earlier writes of the request have made of it.
    ///
    /// Found by its id byte by byte, whatever the type and the collation of the column: another row is never taken for it.
    ///
    /// - Parameter db: The connection that the closure got.
    /// - Returns: The row; `nil` when there is none.
    /// - Throws: `DatabaseError`; an error of the package when the closure has stored another spelling of the id meanwhile, which
    ///   rejects the write.
    public func storedRow(_ db: Database) throws -> Row? {
        guard let id = try row.storedID(db) else { return nil }
        let statement = try db.makeStatement(
            sql: "SELECT * FROM \(SQLText.identifier(entry.table)) WHERE \(row.ids.condition(1))"
        )
        // GRDB's own texts end at a NUL, and SQLite reads the bytes of a blob in the encoding of the database. GRDB is told that
        // there is nothing to bind, and leaves what is bound here.
        statement.setUncheckedArguments(StatementArguments())
        let code = unsafe PreparedStatement(borrowing: statement.sqliteStatement).bind(id, at: 1)
        guard code == 0 else { throw DatabaseError(resultCode: ResultCode(rawValue: code)) }
        return try Row.fetchOne(statement)
    }
}

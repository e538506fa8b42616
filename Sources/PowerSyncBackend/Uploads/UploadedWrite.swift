public import GRDB
import PowerSyncSQLite
public import PowerSyncUpload

/// A write of a user, for the closure that decides about it.
///
/// ```swift
/// { write, db in
///     guard let list = try write.storedRow(db) else { return .apply }
///     return write.user.hasID(list["owner_id"]) ? .apply : .reject("The list belongs to somebody else.")
/// }
/// ```
public struct UploadedWrite: Sendable {
    /// Who has sent it.
    public let user: BackendUser
    /// The id of the client's database, if the client has sent one.
    public let clientID: String?
    /// What the client has written.
    public let entry: UploadEntry
    /// The name of the column that `UploadEntry.id` is about.
    let idColumn: String

    /// The row as it is in the database now, with what earlier writes of the request have made of it.
    ///
    /// - Parameter db: The connection that the closure got.
    /// - Returns: The row; `nil` when there is none.
    /// - Throws: `DatabaseError`.
    public func storedRow(_ db: Database) throws -> Row? {
        let statement = try db.makeStatement(
            sql: "SELECT * FROM \(SQLText.identifier(entry.table)) WHERE \(SQLText.identifier(idColumn)) = ?"
        )
        // GRDB's own texts end at a NUL, and SQLite reads the bytes of a blob in the encoding of the database. GRDB is told that
        // there is nothing to bind, and leaves what is bound here.
        statement.setUncheckedArguments(StatementArguments())
        let code = PreparedStatement(borrowing: statement.sqliteStatement).bind(entry.id, at: 1)
        guard code == 0 else { throw DatabaseError(resultCode: ResultCode(rawValue: code)) }
        return try Row.fetchOne(statement)
    }
}

/// What happens with a write.
///
/// ```swift
/// return write.user.hasID("auditor") ? .reject("Auditors only read.") : .apply
/// ```
public struct WriteDecision: Sendable, Hashable {
    enum Kind: Sendable, Hashable {
        case apply
        case applyValues(JsonParam)
        case done
        case reject(EntryRejection.Code, String)
    }

    let kind: Kind

    /// It is applied as it is.
    public static let apply = WriteDecision(kind: .apply)

    /// It is applied with other values, for example with the owner that the server knows.
    ///
    /// - Parameter values: All columns to write, except for the id. Ignored when a row is deleted.
    /// - Returns: The decision.
    public static func apply(_ values: JsonParam) -> WriteDecision {
        WriteDecision(kind: .applyValues(values))
    }

    /// The closure has done what there was to do, for example in other tables; nothing else is written.
    public static let done = WriteDecision(kind: .done)

    /// It is not applied, now and later.
    ///
    /// What may succeed later is not for a rejection: throw an error, and the client tries again.
    ///
    /// - Parameters:
    ///   - message: Why, for the user of the app.
    ///   - code: Why, for the app.
    /// - Returns: The decision.
    public static func reject(_ message: String, code: EntryRejection.Code = .forbidden) -> WriteDecision {
        WriteDecision(kind: .reject(code, message))
    }
}

public import PowerSyncUpload

/// A write of a user to tables in a database server, for the closure that decides about it.
///
/// ```swift
/// func mayWrite(_ write: ServerWrite) async throws -> WriteDecision {
///     guard write.entry.table == "lists" else { return .reject("Clients do not write to \(write.entry.table).") }
///     // Whose the list is, and whose it becomes.
///     guard try await write.belongsToUser(by: "owner_id") else {
///         return .reject("The list belongs to another user.")
///     }
///     return .apply
/// }
/// ```
///
/// A decision that does not look at both, the stored row and the new values, lets users write rows of others or give their own away.
/// Call its methods one after the other: the connection runs one statement at a time.
public struct ServerWrite: Sendable {
    /// The user who has sent it.
    public let user: BackendUser
    /// The id of the client's database, if the client has sent one.
    public let clientID: String?
    /// What the client has written.
    public let entry: UploadEntry
    let rows: any ServerRows

    /// The row as it is in the database now, with what earlier writes of the request have made of it.
    ///
    /// It is locked until the transaction ends, and found by its id byte by byte: another row is never taken for it.
    ///
    /// - Returns: The row; `nil` when there is none.
    /// - Throws: Errors of the server.
    public func storedRow() async throws -> StoredRow? {
        try await rows.storedRow(entry.id, in: entry.table)
    }

    /// Whether the row is the user's, as it is stored and as the write makes it.
    ///
    /// ```swift
    /// // Whatever the client has written: the owner is the user who is signed in.
    /// var values = write.entry.data ?? [:]
    /// values["owner_id"] = .string(write.user.id)
    /// guard try await write.belongsToUser(by: "owner_id", values: values) else {
    ///     return .reject("The list belongs to another user.")
    /// }
    /// return .apply(values)
    /// ```
    ///
    /// | Write | What has to have the id of the user |
    /// | --- | --- |
    /// | `PUT` of a new row | the new value, which must be there |
    /// | `PUT` or `PATCH` of a stored row | the stored value; the new one, if there is one |
    /// | `DELETE` of a stored row | the stored value |
    /// | `PATCH` or `DELETE` of no row, which does nothing | the new value, if there is one |
    ///
    /// - Parameters:
    ///   - column: The column of the table with the id of the owner.
    ///   - values: The new values, if they are not those that the client has sent.
    /// - Returns: Whether the user owns the row before and after the write. A row without an owner is no user's.
    /// - Throws: Errors of the server; ``UnknownColumn`` when the table has no such column.
    public func belongsToUser(by column: String, values: JsonParam? = nil) async throws -> Bool {
        let stored = try await storedRow()
        if let stored, try !isOwner(of: stored, by: column, in: entry.table) { return false }
        guard entry.op != .delete, let owner = (values ?? entry.data)?[column] else {
            return stored != nil || entry.op != .put
        }
        let text: String
        switch owner {
        case .string(let value): text = value
        case .int(let value): text = String(value)
        default: return false
        }
        // The column may make another user's id of it.
        guard user.hasID(text) else { return false }
        return try await rows.stores(text, in: column, of: entry.table)
    }

    /// Whether a row that the write refers to is there, and the user's.
    ///
    /// ```swift
    /// guard try await write.userOwns(list, in: "lists", by: "owner_id") else {
    ///     return .reject("There is no such list of yours.")
    /// }
    /// ```
    ///
    /// - Parameters:
    ///   - id: The id of the row.
    ///   - table: The table, whose ids are in a column of the same name as in the table of the write. Clients need not be able to write
    ///     to it.
    ///   - column: The column of the table with the id of the owner.
    /// - Returns: Whether there is a row with exactly this id that has the user as its owner.
    /// - Throws: Errors of the server; ``UnknownTable`` and ``UnknownColumn`` when there is no such table or column; an error that rejects
    ///   the write when the id is another spelling of one that is there.
    public func userOwns(_ id: String, in table: String, by column: String) async throws -> Bool {
        guard let row = try await rows.storedRow(id, in: table) else { return false }
        return try isOwner(of: row, by: column, in: table)
    }

    private func isOwner(of row: StoredRow, by column: String, in table: String) throws -> Bool {
        guard row.hasColumn(column) else { throw UnknownColumn(column: column, table: table) }
        return user.hasID(row[column])
    }
}

/// A rule names a table that is not there, or whose rows are not found by the column of the ids.
public struct UnknownTable: Error, Sendable, Hashable, CustomStringConvertible {
    /// The name of the table.
    public let table: String
    /// The column that would be its primary key.
    public let idColumn: String

    /// A sentence.
    public var description: String { "There is no table “\(table)” with the primary key “\(idColumn)”." }
}

/// A rule names a column that its table does not have.
public struct UnknownColumn: Error, Sendable, Hashable, CustomStringConvertible {
    /// The name of the column.
    public let column: String
    /// The name of the table.
    public let table: String

    /// A sentence.
    public var description: String { "Table “\(table)” has no column “\(column)”." }
}

/// Rows of the transaction that applies a request.
protocol ServerRows: Sendable {
    /// The row of a table with exactly this id.
    ///
    /// - Throws: ``WriteRefusal`` when the table has a row with another spelling of the id; ``UnknownTable``; errors of the server.
    func storedRow(_ id: String, in table: String) async throws -> StoredRow?

    /// Whether a column stores a text as it is.
    ///
    /// - Throws: ``UnknownTable``, ``UnknownColumn``; errors of the server.
    func stores(_ text: String, in column: String, of table: String) async throws -> Bool
}

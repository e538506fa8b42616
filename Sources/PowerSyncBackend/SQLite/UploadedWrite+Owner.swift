public import GRDB
public import PowerSyncUpload

/// Whose a row is.
///
/// Ids of users are compared as texts, byte by byte, whatever the type and the collation of the column. `==` of Swift is not
/// enough: it takes canonically equivalent texts for equal, such as `Kevin` with the letter K and with the sign for kelvin.
extension UploadedWrite {
    /// Whether the row is the user's, as it is stored and as the write makes it.
    ///
    /// ```swift
    /// // Whatever the client has written: the owner is who is signed in.
    /// var values = write.entry.data ?? [:]
    /// values["owner_id"] = .string(write.user.id)
    /// guard try write.belongsToUser(by: "owner_id", values: values, db) else {
    ///     return .reject("The list belongs to somebody else.")
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
    ///   - db: The connection that the closure got.
    /// - Returns: Whether the user owns the row before and after the write. A row without an owner is nobody's.
    /// - Throws: `DatabaseError`, also when the table has no such column.
    public func belongsToUser(by column: String, values: JsonParam? = nil, _ db: Database) throws -> Bool {
        let stored = try row.storedID(db)
        if let stored, try !row.ids.row(stored, has: user.id, in: column, db) { return false }
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
        let affinity = try row.tables.table(entry.table, db).affinity(of: column)
        return try affinity.otherText(of: text, in: entry.table, db) == nil
    }

    /// Whether a row that the write refers to is there, and the user's.
    ///
    /// ```swift
    /// guard try write.userOwns(list, in: "lists", by: "owner_id", db) else {
    ///     return .reject("There is no such list of yours.")
    /// }
    /// ```
    ///
    /// - Parameters:
    ///   - id: The id of the row.
    ///   - table: The table, whose ids are in a column of the same name as in the table of the write.
    ///   - column: The column of the table with the id of the owner.
    ///   - db: The connection that the closure got.
    /// - Returns: Whether there is a row with exactly this id that has the user as its owner.
    /// - Throws: `DatabaseError`, also when the table has no such column; an error that rejects the write when the id is another
    ///   spelling of one that is there.
    public func userOwns(_ id: String, in table: String, by column: String, _ db: Database) throws -> Bool {
        let ids = try row.tables.table(table, db).ids
        guard let stored = try ids.storedID(id, db) else { return false }
        return try ids.row(stored, has: user.id, in: column, db)
    }
}

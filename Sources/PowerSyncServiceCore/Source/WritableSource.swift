package import PowerSyncSyncConfig
package import PowerSyncUpload

/// A source that the service may write to, for development.
package protocol WritableSource: ReplicationSource {
    /// Applies what a client uploads, and wakes the replicator.
    ///
    /// There is no authorisation per row: every caller may write everything.
    ///
    /// - Parameters:
    ///   - upload: The writes, in order.
    ///   - userID: The user that has sent them: clients of several users are told apart.
    /// - Returns: What was applied, and what was not.
    /// - Throws: `UploadFormatError`, or an error of the source; the client sends everything again then.
    func apply(_ upload: UploadRequest, for userID: String) async throws -> UploadResponse

    /// The columns that an upload writes and its tables lack, which is why it would be refused.
    ///
    /// - Parameter upload: The writes.
    /// - Returns: Each column once; none of a table that is not there.
    /// - Throws: An error of the source.
    func missingColumns(for upload: UploadRequest) async throws -> [MissingColumn]

    /// Adds columns to tables: all of them, or none.
    ///
    /// - Parameter columns: What ``missingColumns(for:)`` has found.
    /// - Throws: An error of the source.
    func add(_ columns: [MissingColumn]) async throws

    /// A row as it is now, to say what a sync config makes of a write.
    ///
    /// - Parameters:
    ///   - id: The value of the column `id`.
    ///   - table: The table, as an upload names it.
    /// - Returns: `nil` when there is no such row, or the table cannot be synced.
    /// - Throws: An error of the source.
    func row(_ id: String, of table: String) async throws -> WrittenRow?
}

/// A row that an upload has written.
package struct WrittenRow: Sendable {
    /// Its table, as the sync config finds it.
    package var table: SourceTableName
    /// All of its values, those that the source has filled in among them.
    package var row: SourceRow

    /// Creates a row.
    package init(table: SourceTableName, row: SourceRow) {
        (self.table, self.row) = (table, row)
    }
}

/// A column that an upload writes and its table lacks.
package struct MissingColumn: Sendable, Hashable {
    /// The table.
    package var table: String
    /// What adds the column, with the type of the values that were uploaded: `ALTER TABLE "todos" ADD COLUMN "due" TEXT;`.
    package var statement: String

    /// Creates a column.
    package init(table: String, statement: String) {
        (self.table, self.statement) = (table, statement)
    }
}

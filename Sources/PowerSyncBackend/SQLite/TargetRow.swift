import GRDB

/// The row that a write is about, whether it is there or not.
struct TargetRow: Sendable {
    let ids: IdentityColumn
    let tables: AppTables
    private let id: String
    /// What was found at the time of the stamp.
    private let found: IdentityColumn.StoredID?
    private let stamp: AppTables.Stamp

    /// Checks that rows with an id can be told from all others, and looks for the one with the id.
    ///
    /// - Throws: ``WriteRefusal`` as ``IdentityColumn/storedID(_:_:)`` does, and when the id would be stored as another text;
    ///   `DatabaseError`.
    init(_ id: String, in table: AppTable, _ tables: AppTables, _ db: Database) throws {
        self.id = id
        self.tables = tables
        ids = table.ids
        found = try ids.checkedID(id, db)
        stamp = try tables.stamp(db)
    }

    /// The id of the row as it is stored now; `nil` when there is no such row.
    ///
    /// - Throws: As ``IdentityColumn/storedID(_:_:)``.
    func storedID(_ db: Database) throws -> IdentityColumn.StoredID? {
        try tables.stamp(db) == stamp ? found : ids.storedID(id, db)
    }
}

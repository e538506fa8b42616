import GRDB
import PowerSyncSQLite

/// The synced rows that SQLite changes or deletes with a row that they refer to, by foreign key actions.
///
/// The service still has them, unless it has deleted them as well. So they are evaluated once more after everything else:
/// they come back when the row that they refer to was only replaced, and are set aside when it is gone.
struct DependentRows {
    /// The foreign keys with actions, by the table that they refer to.
    private let keys: [ExactText: [ForeignKey]]
    /// The types of the rows that are in tables, by the names of the tables without case.
    private let types: [ExactText: String]
    private let db: Database
    /// The rows that were found since they were taken.
    private var rows: Set<RowKey> = []

    init(_ db: Database, _ keys: [ForeignKey], types: [ExactText: String]) {
        self.keys = Dictionary(
            grouping: keys.filter { $0.actsOnDelete && types[$0.child] != nil },
            by: \.parent
        )
        self.types = types
        self.db = db
    }

    /// Whether a row of a table may have any.
    func areIn(_ table: RowTable) -> Bool {
        keys[ExactText(ignoringCaseOf: table.name)] != nil
    }

    /// Notes the rows that go with a row, which is about to be deleted or replaced.
    ///
    /// - Complexity: A query for each foreign key that refers to the table, and the same for each row that is found.
    mutating func note(with id: UnsafeRawBufferPointer, in table: String) throws {
        let parent = ExactText(ignoringCaseOf: table)
        for key in keys[parent] ?? [] {
            guard let type = types[key.child] else { continue }
            for row in try unsafe self.rows(type, id, key) where rows.insert(row).inserted {
                try unsafe row.id.withUnsafeBytes { try unsafe note(with: $0, in: key.table) }
            }
        }
    }

    /// Takes out the rows.
    mutating func take() -> [RowKey] {
        defer { rows = [] }
        return rows.sorted { ($0.typeName, $0.idText) < ($1.typeName, $1.idText) }
    }

    private func rows(_ type: String, _ id: UnsafeRawBufferPointer, _ key: ForeignKey) throws -> [RowKey] {
        let find = try PreparedStatement(
            db,
            sql: """
                SELECT child.id FROM main.\(SQLText.identifier(key.parentTable)) AS parent
                CROSS JOIN main.\(SQLText.identifier(key.table)) AS child ON \(key.join()) WHERE parent.id = ?1
                """
        )
        defer { find.reset() }
        try unsafe find.bind(checkedText: id, at: 1, .copied)
        var rows: [RowKey] = []
        while try find.step() {
            guard let id = unsafe find.text(at: 0) else { continue }
            unsafe rows.append(RowKey(type: Array(type.utf8), id: Array(id)))
        }
        return rows
    }
}

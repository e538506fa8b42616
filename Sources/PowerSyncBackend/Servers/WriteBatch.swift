import PowerSyncSQLite

/// Rows of one table that one statement writes.
package struct WriteBatch: Sendable {
    package enum Kind: Sendable {
        case insert, update, delete
    }

    package struct Row: Sendable {
        package let id: String
        /// In the order of the columns; `nil` is `NULL`.
        package let values: [String?]

        fileprivate var size: Int { values.reduce(id.utf8.count) { $0 + ($1?.utf8.count ?? 0) } }
    }

    /// The most rows of a statement.
    private static let rowLimit = 1_000
    /// The most bytes of values in a statement, unless a row has more: 1 MiB.
    private static let byteLimit = 1 << 20

    package let kind: Kind
    package let table: ServerTable
    package let idColumn: ServerColumn
    /// The columns that are set, without the id.
    package let columns: [ServerColumn]
    /// With different ids.
    package private(set) var rows: [Row]
    private var ids: Set<ExactText>
    private var size: Int

    /// A statement for one row.
    init(_ kind: Kind, _ table: ServerTable, _ idColumn: ServerColumn, _ columns: [ServerColumn], _ row: Row) {
        self.kind = kind
        self.table = table
        self.idColumn = idColumn
        self.columns = columns
        rows = [row]
        ids = [ExactText(row.id)]
        size = row.size
    }

    /// Whether the statement writes one of some rows.
    func writes(anyOf ids: Set<ExactText>, of table: ServerTable) -> Bool {
        self.table === table && !self.ids.isDisjoint(with: ids)
    }

    /// Adds a row, if the same statement can write it.
    ///
    /// - Returns: Whether it was added.
    mutating func add(_ row: Row, _ kind: Kind, _ table: ServerTable, _ columns: [ServerColumn]) -> Bool {
        guard self.kind == kind, rows.count < Self.rowLimit, size + row.size <= Self.byteLimit,
            self.table === table, self.columns.elementsEqual(columns, by: ===),
            ids.insert(ExactText(row.id)).inserted
        else { return false }
        rows.append(row)
        size += row.size
        return true
    }
}

import GRDB
import PowerSyncSQLite

/// The rows that constraints of the app refuse, by table and id, with the reason.
///
/// They are in `ps_updated_rows`, so that each complete checkpoint tries them again.
package struct SetAsideRows: Sendable, Equatable {
    /// A row that was set aside.
    package struct Row: Sendable, Hashable {
        /// The type of the row: the table, as the service names it.
        package let table: String
        /// The row's id.
        package let id: String
        /// Why, without values.
        package let reason: String
    }

    private var reasons: [RowKey: String] = [:]

    /// The rows, in the order of table and id.
    package var rows: [Row] {
        reasons.sorted { ($0.key.typeName, $0.key.idText) < ($1.key.typeName, $1.key.idText) }
            .map { Row(table: $0.key.typeName, id: $0.key.idText, reason: $0.value) }
    }

    package var isEmpty: Bool { reasons.isEmpty }
    package var count: Int { reasons.count }

    /// Adds a row.
    mutating func add(_ row: RowKey, _ reason: String) {
        reasons[row] = reason
    }

    /// Adds the rows that a partial checkpoint has set aside.
    mutating func formUnion(_ others: SetAsideRows) {
        reasons.merge(others.reasons) { $1 }
    }

    /// Makes the next complete checkpoint look at the rows again.
    func mark(_ db: Database) throws {
        guard !isEmpty else { return }
        let mark = try PreparedStatement(
            db,
            sql: "INSERT OR IGNORE INTO ps_updated_rows(row_type, row_id) VALUES (?1, ?2)"
        )
        for row in reasons.keys {
            try mark.bind(checkedText: row.type, at: 1)
            try mark.bind(checkedText: row.id, at: 2)
            try mark.run()
        }
    }

    /// What to tell of the rows that were not set aside before, in one message for each table and reason.
    ///
    /// - Parameter earlier: The rows that were set aside before.
    /// - Returns: The messages, without values.
    func report(since earlier: SetAsideRows) -> [String] {
        let added = rows.filter { earlier.reasons[RowKey(type: Array($0.table.utf8), id: Array($0.id.utf8))] == nil }
        let groups = Dictionary(grouping: added) { [$0.table, $0.reason] }
        return groups.sorted { $0.key.lexicographicallyPrecedes($1.key) }.map { group, rows in
            let ids = rows.prefix(Self.namedRows).map { "'\($0.id)'" }.joined(separator: ", ")
            let more = rows.count > Self.namedRows ? " and \(rows.count - Self.namedRows) more" : ""
            return """
                Synced rows of '\(group[0])' are set aside, because the local database refuses them: \(group[1]). \
                Ids: \(ids)\(more). Each complete checkpoint tries them again; the other rows are published.
                """
        }
    }

    private static let namedRows = 5
}

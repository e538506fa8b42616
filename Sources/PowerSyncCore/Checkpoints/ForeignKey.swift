import GRDB
import PowerSyncSQLite

/// A foreign key of a table in the file.
struct ForeignKey: Sendable {
    /// The table that refers, as SQLite spells it.
    let table: String
    /// The table that is referred to, as the foreign key spells it.
    let parentTable: String
    /// The columns of ``table``.
    let columns: [String]
    /// The columns of ``parentTable``, in the same order.
    let parentColumns: [String]
    /// Whether rows are changed or deleted when the row that they refer to is deleted.
    let actsOnDelete: Bool

    /// ``table`` without case.
    var child: ExactText { ExactText(ignoringCaseOf: table) }
    /// ``parentTable`` without case.
    var parent: ExactText { ExactText(ignoringCaseOf: parentTable) }

    /// The foreign keys of all tables.
    static func fetchAll(_ db: Database) throws -> [ForeignKey] {
        let rows = try Row.fetchAll(
            db.cachedStatement(
                sql: """
                    SELECT child.name, key.id, key."table", key."from",
                        coalesce(key."to", (
                            SELECT name FROM pragma_table_info(key."table", 'main') WHERE pk = key.seq + 1
                        )),
                        key.on_delete IN ('CASCADE', 'SET NULL', 'SET DEFAULT')
                    FROM sqlite_master AS child
                    CROSS JOIN pragma_foreign_key_list(child.name, 'main') AS key WHERE child.type = 'table'
                    ORDER BY child.name, key.id, key.seq
                    """
            )
        )
        var keys: [ForeignKey] = []
        var start = rows.startIndex
        while start < rows.endIndex {
            let first = rows[start]
            let (table, number): (String, Int64) = (first[0], first[1])
            let end = rows[start...].firstIndex { $0[0] != table || $0[1] != number } ?? rows.endIndex
            let parts = rows[start..<end]
            keys.append(
                ForeignKey(
                    table: table,
                    parentTable: first[2],
                    columns: parts.map { $0[3] },
                    // Without such a column the foreign key is a mistake, of which SQLite tells when it is used.
                    parentColumns: parts.compactMap { $0[4] },
                    actsOnDelete: first[5]
                )
            )
            start = end
        }
        return keys.filter { $0.columns.count == $0.parentColumns.count }
    }

    /// The names of tables and columns, without values: `list_id of local_todos refers to local_lists`.
    var text: String { "\(columns.joined(separator: ", ")) of \(table) refers to \(parentTable)" }

    /// A condition that holds for a row `child` and the row `parent` that it refers to.
    var join: String {
        zip(columns, parentColumns)
            .map { "parent.\(SQLText.identifier($1)) = child.\(SQLText.identifier($0))" }
            .joined(separator: " AND ")
    }

    /// A query for a column of the rows that refer to nothing.
    func orphans(_ column: String) -> String {
        """
        SELECT DISTINCT child.\(SQLText.identifier(column)) FROM main.\(SQLText.identifier(table)) AS child
        WHERE \(columns.map { "child.\(SQLText.identifier($0)) IS NOT NULL" }.joined(separator: " AND "))
            AND NOT EXISTS (SELECT 1 FROM main.\(SQLText.identifier(parentTable)) AS parent WHERE \(join))
        """
    }
}

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
                        (
                            SELECT name FROM pragma_table_xinfo(key."table", 'main')
                            WHERE iif(key."to" IS NULL, pk = key.seq + 1, name = key."to" COLLATE NOCASE)
                        ),
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

    /// A condition that holds for a row and the row that it refers to.
    func join(child: String = "child", parent: String = "parent") -> String {
        zip(columns, parentColumns)
            .map { "\(parent).\(SQLText.identifier($1)) = \(child).\(SQLText.identifier($0))" }
            .joined(separator: " AND ")
    }

    /// A query for the rows that refer to nothing: their ids, or NULL, and conditions for the rows `row0` that they refer to.
    ///
    /// Values are compared as SQLite compares them for foreign keys, with the affinity and collation of the column that is referred to.
    func parentConditions(hasID: Bool) -> String {
        let pairs = zip(columns, parentColumns).map { (SQLText.identifier($0), SQLText.identifier($1)) }
        let condition = pairs.map { "\(SQLText.literal("row0.\($1) = ")) || quote(child.\($0))" }
        return """
            SELECT DISTINCT \(hasID ? "child.id" : "NULL"), \(condition.joined(separator: " || ' AND ' || "))
            FROM main.\(SQLText.identifier(table)) AS child
            WHERE \(pairs.map { "child.\($0.0) IS NOT NULL" }.joined(separator: " AND ")) AND NOT EXISTS (
                SELECT 1 FROM main.\(SQLText.identifier(parentTable)) AS parent
                WHERE \(pairs.map { "parent.\($1) = +child.\($0)" }.joined(separator: " AND "))
            )
            """
    }
}

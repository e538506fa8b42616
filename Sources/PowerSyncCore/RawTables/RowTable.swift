import GRDB
import PowerSyncSQLite

/// A table in the file that has the rows of one type, with a column `id`.
struct RowTable {
    /// The name in SQLite.
    let name: String
    /// Whether it is one of ours, where all but the id is in the column `data`.
    let isDataTable: Bool
    /// The columns that writing a row sets, of a raw table; `nil` for all.
    var writtenColumns: Set<ExactText>?

    /// Statements that give up the unique values of the row `?1`, which is about to get other values: the first of them that SQLite
    /// does not refuse is enough.
    ///
    /// The row itself stays, and with it what refers to it and the columns that are not synced. For an index over
    /// expressions, all columns that are written again get other values: random ones, or ones that the condition of a partial index
    /// leaves out.
    func surrenders(_ db: Database) throws -> [String] {
        let table = SQLText.identifier(name)
        if isDataTable { return ["UPDATE main.\(table) SET data = '{}' WHERE id = ?1"] }
        let stored = try storedColumns(db)
        let columns = stored.filter { writtenColumns?.contains(ExactText($0)) ?? true }
        let unique = try Set(
            String?.fetchAll(
                db,
                sql: """
                    SELECT part.name FROM pragma_index_list(?1, 'main') AS list
                    CROSS JOIN pragma_index_info(list.name, 'main') AS part WHERE list."unique"
                    UNION SELECT name FROM pragma_table_info(?1, 'main') WHERE pk > 0
                    """,
                arguments: [name]
            )
        )
        let isOfColumns = unique.allSatisfy { $0.map { $0 == "id" || stored.contains($0) } ?? false }
        let random: [String: String] = [
            "integer": "random()", "real": "CAST(random() AS REAL)", "text": "hex(randomblob(16))",
            "blob": "randomblob(16)",
        ]
        let zero: [String: String] = ["integer": "0", "real": "0.0", "text": "''", "blob": "x''"]
        return [(columns.filter { !isOfColumns || unique.contains($0) }, random), (columns, zero)]
            .filter { !$0.0.isEmpty }
            .map { columns, values in
                let assignments = columns.map { column in
                    let name = SQLText.identifier(column)
                    let cases = values.sorted { $0.key < $1.key }.map { "WHEN '\($0.key)' THEN \($0.value)" }
                    return "\(name) = CASE typeof(\(name)) \(cases.joined(separator: " ")) END"
                }
                return "UPDATE main.\(table) SET \(assignments.joined(separator: ", ")) WHERE id = ?1"
            }
    }

    /// The columns besides the id that a statement can set.
    private func storedColumns(_ db: Database) throws -> [String] {
        try String.fetchAll(
            db,
            sql: "SELECT name FROM pragma_table_xinfo(?, 'main') WHERE hidden = 0 AND name <> 'id'",
            arguments: [name]
        )
    }
}

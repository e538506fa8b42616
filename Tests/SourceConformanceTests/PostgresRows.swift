import PowerSyncSyncConfig
import ServiceTestSupport

/// Writes of tests as statements for PostgreSQL.
///
/// All columns are texts.
enum PostgresRows {
    static func createTable(_ name: String, columns: [String]) -> String {
        let rest = columns.dropFirst().map { ", \($0) TEXT" }.joined()
        // Large texts are kept outside of the row as they are.
        let storage = columns.contains("body") ? "ALTER TABLE \(name) ALTER body SET STORAGE EXTERNAL;" : ""
        return "CREATE TABLE \(name) (id TEXT PRIMARY KEY\(rest)); \(storage)"
    }

    static func statement(_ change: TableChange) -> String {
        switch change {
        case .create(let name, let columns): createTable(name, columns: columns)
        case .drop(let name): "DROP TABLE \(name)"
        case .addColumn(let column, let name): "ALTER TABLE \(name) ADD COLUMN \(column) TEXT"
        }
    }

    /// A transaction; what a table that is not there would get is lost.
    static func transaction(_ writes: [RowWrite]) -> String {
        let statements = writes.map { write in
            "IF to_regclass('\(write.table)') IS NOT NULL THEN \(statement(write)); END IF;"
        }
        return "DO $do$ BEGIN \(statements.joined(separator: " ")) END $do$"
    }

    private static func statement(_ write: RowWrite) -> String {
        switch write {
        case .insert(let table, let id, let values):
            let columns = (["id"] + values.keys).joined(separator: ", ")
            let texts = ([literal(.text(id), "id")] + values.map { literal($0.value, $0.key) }).joined(separator: ", ")
            return "INSERT INTO \(table) (\(columns)) VALUES (\(texts)) ON CONFLICT DO NOTHING"
        case .update(let table, let id, let values):
            let assignments = values.map { "\($0.key) = \(literal($0.value, $0.key))" }.joined(separator: ", ")
            let taken = values["id"].map { literal($0, "id") }.map { newID in
                " AND (id = \(newID) OR NOT EXISTS (SELECT FROM \(table) WHERE id = \(newID)))"
            }
            return "UPDATE \(table) SET \(assignments) WHERE id = \(literal(.text(id), "id"))\(taken ?? "")"
        case .delete(let table, let id): return "DELETE FROM \(table) WHERE id = \(literal(.text(id), "id"))"
        case .truncate(let table): return "TRUNCATE \(table)"
        }
    }

    /// A text for a value, another one for every other value.
    ///
    /// A body is large.
    private static func literal(_ value: SQLValue, _ column: String) -> String {
        let text: String
        switch value {
        case .null: return "NULL"
        case .integer(let integer): text = "\(integer)"
        case .real(let number): text = "\(number)"
        case .text(let string): text = string.filter { $0 != "\0" }
        case .blob(let bytes): text = "blob \(bytes)"
        }
        let quoted = "'\(text.split(separator: "'", omittingEmptySubsequences: false).joined(separator: "''"))'"
        return column == "body" ? "\(quoted) || repeat('.', 3000)" : quoted
    }
}

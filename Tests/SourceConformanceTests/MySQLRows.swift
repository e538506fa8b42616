import PowerSyncSyncConfig
import ServiceTestSupport

/// Writes of tests as statements for MySQL and MariaDB.
///
/// All columns are texts, and keys are compared by their bytes.
enum MySQLRows {
    static func createTable(_ name: String, columns: [String]) -> String {
        let rest = columns.dropFirst().map { ", \($0) LONGTEXT" }.joined()
        return "CREATE TABLE \(name) (id VARCHAR(100) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin PRIMARY KEY\(rest))"
    }

    static func statement(_ change: TableChange) -> String {
        switch change {
        case .create(let name, let columns): createTable(name, columns: columns)
        case .drop(let name): "DROP TABLE \(name)"
        case .addColumn(let column, let name): "ALTER TABLE \(name) ADD COLUMN \(column) LONGTEXT"
        }
    }

    /// A transaction of writes to tables that exist.
    static func transaction(_ writes: [RowWrite]) -> [String] {
        // It would end the transaction.
        if writes.count == 1, case .truncate(let table) = writes[0] { return ["TRUNCATE TABLE \(table)"] }
        return ["BEGIN"] + writes.map(statement) + ["COMMIT"]
    }

    private static func statement(_ write: RowWrite) -> String {
        switch write {
        case .insert(let table, let id, let values):
            let columns = (["id"] + values.keys).joined(separator: ", ")
            let texts = ([literal(.text(id), "id")] + values.map { literal($0.value, $0.key) }).joined(separator: ", ")
            return "INSERT IGNORE INTO \(table) (\(columns)) VALUES (\(texts))"
        case .update(let table, let id, let values):
            let assignments = values.map { "\($0.key) = \(literal($0.value, $0.key))" }.joined(separator: ", ")
            return "UPDATE IGNORE \(table) SET \(assignments) WHERE id = \(literal(.text(id), "id"))"
        case .delete(let table, let id): return "DELETE FROM \(table) WHERE id = \(literal(.text(id), "id"))"
        case .truncate(let table): return "DELETE FROM \(table)"
        }
    }

    /// A text for a value, another one for every other value.
    private static func literal(_ value: SQLValue, _ column: String) -> String {
        let text: String
        switch value {
        case .null: return "NULL"
        case .integer(let integer): text = "\(integer)"
        case .real(let number): text = "\(number)"
        case .text(let string): text = string
        case .blob(let bytes): text = "blob \(bytes)"
        }
        let digits = text.utf8.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
        return text.isEmpty ? "''" : "_utf8mb4 X'\(digits)'"
    }
}

import GRDB
import PowerSyncSQLite
package import PowerSyncServiceCore
package import PowerSyncUpload

/// Columns that uploads have and tables lack, while an app is being developed.
extension EmbeddedSource {
    package func missingColumns(for upload: UploadRequest) async throws -> [MissingColumn] {
        try await pool.uncancelledRead { db in
            var tables: [String: [String: String]] = [:]
            var order: [(table: String, column: String)] = []
            for entry in upload.entries where entry.op != .delete {
                guard try db.tableExists(entry.table) else { continue }
                // Names of columns that differ in their case are the same to SQLite.
                let known = Set(try db.columns(in: entry.table).map { $0.name.lowercased() })
                for (column, value) in (entry.data ?? [:]).sorted(by: { $0.key < $1.key })
                where !known.contains(column.lowercased()) {
                    let type = value.columnType
                    let earlier = tables[entry.table]?[column]
                    if earlier == nil { order.append((entry.table, column)) }
                    tables[entry.table, default: [:]][column] = earlier.map { Self.type(for: $0, type) } ?? type
                }
            }
            return order.map { table, column in
                let type = tables[table]?[column].flatMap { $0.isEmpty ? nil : $0 } ?? "TEXT"
                let names = (table.quotedDatabaseIdentifier, column.quotedDatabaseIdentifier)
                return MissingColumn(
                    table: table,
                    statement: "ALTER TABLE \(names.0) ADD COLUMN \(names.1) \(type);"
                )
            }
        }
    }

    package func add(_ columns: [MissingColumn]) async throws {
        try await pool.uncancelledWrite { db in
            for column in columns { try db.execute(sql: column.statement) }
        }
    }

    /// The type of a column with values of two types; an empty one is that of NULL.
    private static func type(for first: String, _ second: String) -> String {
        if first == second || second.isEmpty { return first }
        if first.isEmpty { return second }
        return [first, second].contains("TEXT") ? "TEXT" : "REAL"
    }
}

extension JsonValue {
    /// The type of a column for the value; empty for NULL, which every column has.
    fileprivate var columnType: String {
        switch self {
        case .int, .bool: "INTEGER"
        case .double: "REAL"
        case .null: ""
        case .string, .array, .object: "TEXT"
        }
    }
}

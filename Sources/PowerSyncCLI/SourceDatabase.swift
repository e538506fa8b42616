import Foundation
import GRDB
import PowerSyncGenerator
import PowerSyncRules

/// A SQLite database as a source, read once from the first row to the last.
struct SourceDatabase {
    private let queue: DatabaseQueue

    /// Opens a database, which is not changed.
    init(path: String) throws {
        guard FileManager.default.fileExists(atPath: path) else { throw CocoaError(.fileReadNoSuchFile) }
        var configuration = Configuration()
        configuration.readonly = true
        queue = try DatabaseQueue(path: path, configuration: configuration)
    }

    /// The tables with their columns.
    func schema() throws -> SourceSchema {
        try queue.sourceSchema()
    }

    /// Hands over all rows of the tables that a plan reads.
    func forEachRow(readBy plan: SyncPlan, _ body: (SourceRow, SourceTableName) -> Void) throws {
        let tables = try schema().tables
        try queue.read { db in
            for table in tables where plan.readsTable(table.name) {
                let rows = try Row.fetchCursor(db, sql: "SELECT * FROM \(table.name.name.quotedDatabaseIdentifier)")
                let layout = RowLayout(rows.columnNames)
                while let row = try rows.next() {
                    body(SourceRow(layout: layout, values: row.databaseValues.map(SQLiteValue.init)), table.name)
                }
            }
        }
    }
}

extension SQLiteValue {
    fileprivate init(_ value: DatabaseValue) {
        switch value.storage {
        case .null: self = .null
        case .int64(let integer): self = .integer(integer)
        case .double(let number): self = .real(number)
        case .string(let text): self = .text(text)
        case .blob(let bytes): self = .blob([UInt8](bytes))
        }
    }
}

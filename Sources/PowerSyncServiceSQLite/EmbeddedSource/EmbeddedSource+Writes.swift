import GRDB
import PowerSyncProtocol
import PowerSyncRules
import PowerSyncSQLite
package import PowerSyncServiceCore

/// The write endpoint for development (docs/service.md "The embedded source").
extension EmbeddedSource: WritableSource {
    package func apply(_ writes: [SourceWrite]) async throws {
        guard !writes.isEmpty else { return }
        let tables = try await synchroniseCapture().tables
        try await pool.write { db in
            for (index, write) in writes.enumerated() {
                try Self.apply(write, at: index, tables: tables, db)
            }
        }
        signal.advance()
    }

    private static func apply(
        _ write: SourceWrite,
        at index: Int,
        tables: [CapturedTable],
        _ db: Database
    ) throws {
        func failure(_ code: SourceWriteError.Code, _ message: String) -> SourceWriteError {
            SourceWriteError(code: code, index: index, table: write.table, message: message)
        }
        guard let table = tables.first(where: { $0.name == write.table }) else {
            throw failure(.unknownTable, "The source has no table “\(write.table)” that can be synced.")
        }
        guard table.key.map(\.name) == ["id"] else {
            throw failure(
                .unsupportedTable,
                "Table “\(write.table)” cannot be written by clients: its primary key is not a single column “id”."
            )
        }
        let members = write.values.members.filter { $0.name != "id" }
        if let unknown = members.first(where: { !table.columns.contains($0.name) }) {
            throw failure(.unknownColumn, "Table “\(write.table)” has no column “\(unknown.name)”.")
        }
        guard let sql = statement(for: write.kind, table: table, columns: members.map(\.name)) else { return }
        var values = write.kind == .delete ? [] : members.map { $0.value.databaseValue }
        values.append(write.id.databaseValue)
        do {
            try db.cachedStatement(sql: sql).execute(arguments: StatementArguments(values))
        } catch let error as DatabaseError where error.resultCode == .SQLITE_CONSTRAINT || error.isMistake {
            throw failure(
                .rejected,
                "Table “\(write.table)” refuses the row: \(error.message ?? error.resultCode.description)."
            )
        }
    }

    /// The statement of a write; its parameters are the columns in order, then the id.
    ///
    /// `nil` when there is nothing to do.
    private static func statement(for kind: SourceWrite.Kind, table: CapturedTable, columns: [String]) -> String? {
        let name = SQLText.identifier(table.name)
        let columns = columns.map(SQLText.identifier)
        switch kind {
        case .put:
            let placeholders = Array(repeating: "?", count: columns.count + 1).joined(separator: ", ")
            let updates = columns.map { "\($0) = excluded.\($0)" }.joined(separator: ", ")
            return """
                INSERT INTO \(name) (\((columns + ["\"id\""]).joined(separator: ", "))) VALUES (\(placeholders))
                ON CONFLICT ("id") DO \(updates.isEmpty ? "NOTHING" : "UPDATE SET \(updates)")
                """
        case .patch:
            guard !columns.isEmpty else { return nil }
            let updates = columns.map { "\($0) = ?" }.joined(separator: ", ")
            return "UPDATE \(name) SET \(updates) WHERE \"id\" = ?"
        case .delete:
            return "DELETE FROM \(name) WHERE \"id\" = ?"
        }
    }
}

extension DatabaseError {
    /// Whether the statement itself is at fault, for example because it writes a generated column.
    fileprivate var isMistake: Bool {
        resultCode == .SQLITE_ERROR || resultCode == .SQLITE_MISMATCH || resultCode == .SQLITE_TOOBIG
    }
}

extension JSONValue {
    /// The value to store for a member of a write.
    fileprivate var databaseValue: DatabaseValue {
        switch self {
        case .null: .null
        case .bool(let bool): (bool ? 1 : 0).databaseValue
        case .integer(let integer): integer.databaseValue
        case .double(let double): double.databaseValue
        case .string(let string): string.databaseValue
        case .array, .object: text.databaseValue
        }
    }
}

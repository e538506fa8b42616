package import GRDB
import PowerSyncSQLite

/// What of the changes to a client table is recorded by a ``TableDiffRecording``.
package struct TableDiffDefinition: Sendable {
    /// What happens to a row.
    package enum Operation: String, Sendable, CaseIterable {
        case insert = "INSERT"
        case update = "UPDATE"
        case delete = "DELETE"
    }

    /// Why nothing can be recorded.
    package enum Problem: Error, Sendable {
        /// There is nothing to record.
        case noOperations
        /// The table never holds rows.
        case insertOnly
        /// The table does not have these columns.
        case unknownColumns([String])
        /// SQLite does not understand a condition.
        case invalidCondition(Operation, DatabaseError)
    }

    /// The table.
    package let table: ClientTable
    /// The columns whose values are recorded, `nil` for all.
    package let columns: [String]?
    /// SQL expressions by operation: changes for which one is true are recorded, and operations without one never.
    ///
    /// `NEW` and `OLD` are the row after and before the change, with the columns of the view, and `data` for all of
    /// them as a JSON object.
    package let conditions: [Operation: String]

    /// Creates a definition.
    ///
    /// - Throws: ``Problem``; whether SQLite understands the conditions shows later.
    package init(table: ClientTable, columns: [String]?, conditions: [Operation: String]) throws(Problem) {
        guard !conditions.isEmpty else { throw .noOperations }
        guard table.isLocalOnly || !table.isInsertOnly else { throw .insertOnly }
        let known = Set(table.columns.map(\.name))
        let unknown = (columns ?? []).filter { !known.contains($0) }
        guard unknown.isEmpty else { throw .unknownColumns(unknown) }
        self.table = table
        self.columns = columns
        self.conditions = conditions
    }
}

// SQL text.
extension TableDiffDefinition {
    /// The expression for all of a row of the table, a JSON object.
    func data(of row: String) -> String {
        guard table.isDirect else { return "\(row).data" }
        let names = table.columns.map(\.name)
        return ViewRowValues(table: table.name, columns: names).previous(names, of: row)
    }

    /// The expression for what is recorded of a row, a JSON object.
    ///
    /// Values are taken over as they are stored, digit by digit, objects and arrays included.
    ///
    /// - Parameter data: An expression for all of the row.
    /// - Returns: SQL text.
    func recordedValue(in data: String) -> String {
        guard let columns else { return data }
        // Each column is two arguments.
        let columnsPerCall = ViewRowValues.maximumArgumentCount / 2
        let calls = stride(from: 0, to: max(columns.count, 1), by: columnsPerCall).map { start in
            let members = columns[start..<min(start + columnsPerCall, columns.count)].map { column in
                "\(SQLText.literal(column)), \(data) -> \(SQLText.literal("$." + column))"
            }
            return "json_object(\(members.joined(separator: ", ")))"
        }
        return calls.count == 1 ? calls[0] : "powersync_json_merge(\(calls.joined(separator: ", ")))"
    }

    /// The condition as an expression over the rows of the data table.
    ///
    /// Inside, `NEW` and `OLD` are subqueries that take the columns of the view out of the rows of the same name. A
    /// column that the condition does not name is left out, since taking it out costs time for every row.
    ///
    /// - Parameters:
    ///   - operation: The operation.
    ///   - data: An expression for all of the row `NEW` or `OLD`.
    /// - Returns: `nil` when the operation is not recorded.
    func condition(of operation: Operation, in data: (_ row: String) -> String) -> String? {
        guard let condition = conditions[operation] else { return nil }
        let rows: [String] =
            switch operation {
            case .insert: ["NEW"]
            case .update: ["NEW", "OLD"]
            case .delete: ["OLD"]
            }
        let names = condition.lowercased()
        let columns = table.columns.filter { names.contains($0.name.lowercased()) }
        let subqueries = rows.map { row in
            var values = ["\(row).id AS id"]
            if !columns.contains(where: { $0.name.lowercased() == "data" }) {
                values.append("\(data(row)) AS data")
            }
            values += columns.map { column in
                let value = ViewDefinition.extraction(of: column.name, as: column.type, from: data(row))
                return "\(value) AS \(SQLText.identifier(column.name))"
            }
            return "(SELECT \(values.joined(separator: ", "))) AS \(row)"
        }
        // The line break ends a comment at the end of the condition.
        return "(SELECT (\(condition)\n) FROM \(subqueries.joined(separator: ", ")))"
    }
}

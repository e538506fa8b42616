import PowerSyncProtocol
import PowerSyncSQLite

/// The values of a row in the triggers of a view: calls of the functions that stand for ``RowObjectWriter``.
///
/// ```sql
/// powersync_row('trip', '["note","km"]', NEW."note", NEW."km", OLD."note", OLD."km", data)
/// ```
///
/// SQLite limits the arguments of a function to 127 (historically 100). Rows with more are put together:
/// `powersync_json_merge(powersync_row(…), powersync_row(…), …)`.
struct ViewRowValues: RowValues {
    /// The most arguments of one call.
    static let maximumArgumentCount = 100

    private let table: String
    private let columns: [String]
    /// Entries list their columns in the order of the bytes.
    private let sortedColumns: [String]

    /// Describes the rows of a table.
    ///
    /// - Parameters:
    ///   - table: The table's name, for messages.
    ///   - columns: The columns besides `id`.
    init(table: String, columns: [String]) {
        self.table = table
        self.columns = columns
        sortedColumns = Self.sorted(columns)
    }

    /// The row that an insert stores.
    var insertedRow: String { call("powersync_row", columns, ["NEW"], table) }

    /// The row that an update stores: what is stored in `data`, but for the values that change.
    var updatedRow: String { call("powersync_row", columns, ["NEW", "OLD"], table, stored: "data") }

    var inserted: String { call("powersync_changes", sortedColumns, ["NEW"], table) }

    var updated: String { call("powersync_changes", sortedColumns, ["NEW", "OLD"], table) }

    func previous(_ columns: [String], of row: String) -> String {
        call("powersync_object", columns, [row])
    }

    func previousIfUpdated(_ columns: [String]) -> String {
        call("powersync_object", Self.sorted(columns), ["OLD", "NEW"])
    }

    private static func sorted(_ columns: [String]) -> [String] {
        columns.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
    }

    private func call(
        _ function: String,
        _ columns: [String],
        _ rows: [String],
        _ table: String? = nil,
        stored: String? = nil
    ) -> String {
        let values = { (column: String) in rows.map { "\($0).\(SQLText.identifier(column))" } }
        return Self.object(function, columns, values: values, table, stored)
    }

    /// A call of one of the functions.
    ///
    /// - Parameters:
    ///   - function: Its name.
    ///   - columns: The names of the members.
    ///   - values: The expressions for a column, as many for each: the value, and the one that it is compared with.
    ///   - table: The first argument, if the function has it.
    ///   - last: The last argument, if the function has one after the values.
    /// - Returns: An expression for an object.
    private static func object(
        _ function: String,
        _ columns: [String],
        values: (String) -> [String],
        _ table: String?,
        _ last: String?
    ) -> String {
        let expressions = columns.map(values)
        let valueCount = expressions.first?.count ?? 1
        let columnsPerCall = (maximumArgumentCount - (last == nil ? 2 : 3)) / valueCount
        let calls = stride(from: 0, to: max(columns.count, 1), by: columnsPerCall).map { start in
            let range = start..<min(start + columnsPerCall, columns.count)
            var names = "["
            for index in range {
                if index > start { names += "," }
                JSONText.appendString(columns[index], to: &names)
            }
            names += "]"
            var arguments = [SQLText.literal(names)]
            if let table { arguments.insert(SQLText.literal(table), at: 0) }
            for position in 0..<valueCount {
                arguments += expressions[range].map { $0[position] }
            }
            if let last { arguments.append(last) }
            return "\(function)(\(arguments.joined(separator: ", ")))"
        }
        return calls.count == 1 ? calls[0] : "powersync_json_merge(\(calls.joined(separator: ", ")))"
    }
}

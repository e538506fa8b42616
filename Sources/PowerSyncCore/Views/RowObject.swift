/// The SQL expression for a row as JSON object: `OBJ(p)` of `database.md` 12 and 13.
///
/// ```sql
/// json_object('note', powersync_strip_subtype(NEW."note"), 'km', powersync_strip_subtype(NEW."km"))
/// ```
///
/// Without `powersync_strip_subtype`, a value that a JSON function produced would become a nested object instead of a
/// string. More than 50 columns are split, because SQLite limits the arguments of a function to 127 (historically 100):
/// `powersync_json_merge(json_object(…), json_object(…))`.
struct RowObject {
    /// The most columns in one `json_object` call.
    static let columnsPerCall = 50

    /// The members, in order.
    let columns: [String]

    /// The expression over the columns of a row alias, `NEW` or `OLD`.
    func sql(_ alias: String) -> String {
        if columns.count <= Self.columnsPerCall {
            return call(columns[...], alias)
        }
        let calls = stride(from: 0, to: columns.count, by: Self.columnsPerCall).map { start in
            call(columns[start..<min(start + Self.columnsPerCall, columns.count)], alias)
        }
        return "powersync_json_merge(\(calls.joined(separator: ", ")))"
    }

    private func call(_ columns: ArraySlice<String>, _ alias: String) -> String {
        var sql = "json_object("
        sql.reserveCapacity(64 * columns.count)
        for (position, column) in columns.enumerated() {
            if position > 0 {
                sql += ", "
            }
            sql += SQLText.literal(column)
            sql += ", powersync_strip_subtype("
            sql += alias
            sql += "."
            sql += SQLText.identifier(column)
            sql += ")"
        }
        sql += ")"
        return sql
    }
}

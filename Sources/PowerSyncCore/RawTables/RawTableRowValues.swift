import PowerSyncSQLite

/// The values of a row in the triggers of a raw table.
///
/// These triggers stay in the file, which any implementation may open. So they call only what every implementation has: `json_object`,
/// `powersync_strip_subtype`, `powersync_json_merge` and `powersync_diff`, in the form
///
/// ```sql
/// json(powersync_diff('{}', json_object('note', powersync_strip_subtype(NEW."note"), …)))
/// ```
///
/// On our connections `powersync_strip_subtype` gives `json_object` the exact text of a real.
///
/// Raw tables keep whatever SQLite keeps, also what JSON cannot hold; the triggers refuse only to upload it
/// (``ColumnRefusal``). Where such a value is old, or an update leaves it alone, a text stands for it that tells it from
/// others: the digits of a BLOB in hexadecimal, and `Inf` or `-Inf`.
struct RawTableRowValues: RowValues {
    /// The columns besides `id`.
    let columns: [String]

    /// The most columns in one call of `json_object`: 100 arguments, which every build of SQLite allows.
    private static let columnsPerCall = 50

    var inserted: String { Self.difference("'{}'", Self.object(columns) { "NEW.\($0)" }) }

    var updated: String {
        Self.difference(Self.tolerantObject(columns, "OLD"), Self.tolerantObject(columns, "NEW"))
    }

    func previous(_ columns: [String], of row: String) -> String {
        Self.tolerantObject(columns, row)
    }

    func previousIfUpdated(_ columns: [String]) -> String {
        // Swapped on purpose: the result has the old values.
        Self.difference(Self.tolerantObject(columns, "NEW"), Self.tolerantObject(columns, "OLD"))
    }

    private static func difference(_ old: String, _ new: String) -> String {
        "json(powersync_diff(\(old), \(new)))"
    }

    private static func tolerantObject(_ columns: [String], _ row: String) -> String {
        object(columns) { column in
            let value = "\(row).\(column)"
            return """
                CASE WHEN typeof(\(value)) = 'blob' THEN hex(\(value)) \
                WHEN \(value) IN (9e999, -9e999) THEN CAST(\(value) AS TEXT) ELSE \(value) END
                """
        }
    }

    private static func object(_ columns: [String], _ value: (_ quotedColumn: String) -> String) -> String {
        let members = columns.map { column in
            "\(SQLText.literal(column)), powersync_strip_subtype(\(value(SQLText.identifier(column))))"
        }
        let calls = stride(from: 0, to: max(members.count, 1), by: columnsPerCall).map { start in
            "json_object(\(members[start..<min(start + columnsPerCall, members.count)].joined(separator: ", ")))"
        }
        return calls.count == 1 ? calls[0] : "powersync_json_merge(\(calls.joined(separator: ", ")))"
    }
}

import PowerSyncSQLite

/// The statements by which triggers hand a write to the upload queue (docs/database.md "Triggers of views").
///
/// Triggers of views and of raw tables have the same ones, but for what a refusal undoes. All but ``insertOnlyPut`` end with a
/// line feed.
struct QueueStatement {
    /// What becomes of what the statement has written, when a trigger refuses a row.
    enum Refusal: String {
        /// It stays, as in the triggers of views of all implementations: of the refused row nothing has been written yet.
        case fail = "FAIL"
        /// It is undone. For AFTER triggers, which refuse a row that has been written.
        case abort = "ABORT"
    }

    /// Refuses to change the id of a row.
    static func idIsUnchanged(orElse refusal: Refusal) -> String {
        "SELECT CASE WHEN (OLD.id != NEW.id) THEN RAISE (\(refusal.rawValue), 'Cannot update id') END;\n"
    }

    private let type: String
    private let columns: [String]
    private let values: any RowValues
    private let options: ClientTableOptions
    private let hasMetadata: Bool

    /// Describes the writes of a table.
    ///
    /// - Parameters:
    ///   - type: The name in the upload queue.
    ///   - columns: The columns besides `id`.
    ///   - values: The expressions for the values of these columns.
    ///   - options: What entries carry.
    ///   - hasMetadata: Whether rows have a column `_metadata`.
    init(type: String, columns: [String], values: any RowValues, options: ClientTableOptions, hasMetadata: Bool) {
        self.type = SQLText.literal(type)
        self.columns = columns
        self.values = values
        self.options = options
        self.hasMetadata = hasMetadata
    }

    /// Queues an inserted row.
    ///
    /// - Parameter condition: Under which it is queued; always without one.
    /// - Returns: The statement.
    func put(if condition: String? = nil) -> String {
        var members = [("op", "'PUT'"), ("id", "NEW.id"), ("type", type), ("data", values.inserted)] + metadata
        if options.ignoresEmptyUpdates { members.append(("options", String(options.flags.rawValue))) }
        return Self.insert(members, if: condition)
    }

    /// Notes whether an insert is about to replace a row by the same values.
    ///
    /// - Parameter table: The table or view, quoted.
    /// - Returns: The statement.
    func unchanged(in table: String) -> String {
        let names = ["id"] + columns.map(SQLText.identifier)
        // As they are spelt, whatever the collations of the columns.
        let old = names.map { "ps_old.\($0) COLLATE BINARY" }.joined(separator: ", ")
        let new = names.map { "NEW.\($0)" }.joined(separator: ", ")
        let flags = TableFlags.beforeWrite.rawValue
        return """
            INSERT INTO powersync_crud(op,id,type,data,options) VALUES ('PUT', NEW.id, \(type), \
            EXISTS (SELECT 1 FROM \(table) AS ps_old WHERE ps_old.id = NEW.id AND (\(old)) IS (\(new))), \(flags));

            """
    }

    /// Notes the rows that have a unique key of the new row.
    ///
    /// - Parameters:
    ///   - key: The key.
    ///   - table: The table, quoted.
    ///   - row: A `SELECT` of the new row.
    /// - Returns: The statement.
    func rowsInTheWay(of key: UniqueKey, in table: String, withRow row: String) -> String {
        let result = [
            "'DELETE'", "ps_old.id", type, previousColumns.map { values.previous($0, of: "ps_old") } ?? "NULL",
            SQLText.literal(table), String(TableFlags.beforeWrite.rawValue),
        ]
        let conflicts = key.conflicts(result.joined(separator: ", "), in: table, withRow: row, id: "NEW.id")
        return "INSERT INTO powersync_crud(op,id,type,old_values,metadata,options) \(conflicts);\n"
    }

    /// A query for the previous values of a row of a view, whose id is `?1`; `nil` when they are not tracked.
    func previousValues(in view: String) -> String? {
        previousColumns.map {
            "SELECT \(values.previous($0, of: "ps_old")) FROM \(SQLText.identifier(view)) AS ps_old WHERE ps_old.id = ?1"
        }
    }

    /// Queues a row of an insert-only table.
    var insertOnlyPut: String {
        let entry = "json_object('op', 'PUT', 'type', \(type), 'id', NEW.id, 'data', \(values.inserted))"
        return "INSERT INTO powersync_crud_(data) VALUES(\(entry));"
    }

    /// Queues the changes of a row.
    ///
    /// - Parameter condition: Under which they are queued; always without one.
    /// - Returns: The statement.
    func patch(if condition: String? = nil) -> String {
        var members = [("op", "'PATCH'"), ("id", "NEW.id"), ("type", type), ("data", values.updated)]
        if let previousColumns {
            let isOnlyWhenChanged = options.trackPreviousValues?.onlyWhenChanged == true
            members.append(
                (
                    "old_values",
                    isOnlyWhenChanged
                        ? values.previousIfUpdated(previousColumns) : values.previous(previousColumns, of: "OLD")
                )
            )
        }
        members += metadata
        members.append(("options", String(options.flags.rawValue)))
        return Self.insert(members, if: condition)
    }

    /// Queues the deletion of a row.
    ///
    /// - Parameter condition: Under which it is queued; always without one.
    /// - Returns: The statement.
    func delete(if condition: String? = nil) -> String { Self.insert(deleteMembers, if: condition) }

    /// Queues the deletion of a row by an update that carries metadata.
    ///
    /// - Parameter condition: Under which it is queued; always without one.
    /// - Returns: The statement.
    func deleteWithMetadata(if condition: String? = nil) -> String {
        Self.insert(deleteMembers + metadata, if: condition)
    }

    // MARK: - Parts

    private var metadata: [(String, String)] { hasMetadata ? [("metadata", "NEW._metadata")] : [] }

    private var deleteMembers: [(String, String)] {
        var members = [("op", "'DELETE'"), ("id", "OLD.id"), ("type", type)]
        if let previousColumns {
            members.append(("old_values", values.previous(previousColumns, of: "OLD")))
        }
        return members
    }

    /// The columns whose previous values are tracked, in the order of the table; `nil` when none are.
    private var previousColumns: [String]? {
        guard let tracked = options.trackPreviousValues else { return nil }
        guard let filter = tracked.columns else { return columns }
        let names = Set(filter.map { ExactText($0) })
        return columns.filter { names.contains(ExactText($0)) }
    }

    private static func insert(_ members: [(String, String)], if condition: String?) -> String {
        let columns = members.map(\.0).joined(separator: ",")
        let values = members.map(\.1).joined(separator: ", ")
        let rows = condition.map { "SELECT \(values) WHERE \($0)" } ?? "VALUES (\(values))"
        return "INSERT INTO powersync_crud(\(columns)) \(rows);\n"
    }
}

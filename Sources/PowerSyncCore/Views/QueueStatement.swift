/// The statements by which triggers hand a write to the upload queue (`database.md` 12 and appendix A).
///
/// Triggers of views and of raw tables have the same ones. All but ``insertOnlyPut`` end with a line feed.
struct QueueStatement {
    /// Refuses to change the id of a row.
    static let idIsUnchanged =
        "SELECT CASE WHEN (OLD.id != NEW.id) THEN RAISE (FAIL, 'Cannot update id') END;\n"

    private let type: String
    private let object: RowObject
    private let newRow: String
    private let options: ClientTableOptions
    private let hasMetadata: Bool

    /// Describes the writes of a table.
    ///
    /// - Parameters:
    ///   - type: The name in the upload queue.
    ///   - object: The columns besides `id`.
    ///   - options: What entries carry.
    ///   - hasMetadata: Whether rows have a column `_metadata`.
    init(type: String, object: RowObject, options: ClientTableOptions, hasMetadata: Bool) {
        self.type = SQLText.literal(type)
        self.object = object
        newRow = object.sql("NEW")
        self.options = options
        self.hasMetadata = hasMetadata
    }

    /// Queues an inserted row.
    var put: String {
        Self.insert([("op", "'PUT'"), ("id", "NEW.id"), ("type", type), ("data", newValues)] + metadata)
    }

    /// Queues a row of an insert-only table.
    var insertOnlyPut: String {
        let entry = "json_object('op', 'PUT', 'type', \(type), 'id', NEW.id, 'data', \(newValues))"
        return "INSERT INTO powersync_crud_(data) VALUES(\(entry));"
    }

    /// Queues the changes of a row.
    var patch: String {
        var members = [("op", "'PATCH'"), ("id", "NEW.id"), ("type", type)]
        members.append(("data", Self.difference(object.sql("OLD"), newRow)))
        if let previous = previousValues {
            if options.trackPreviousValues?.onlyWhenChanged == true {
                // Swapped on purpose: the result has the old values.
                members.append(("old_values", Self.difference(previous.sql("NEW"), previous.sql("OLD"))))
            } else {
                members.append(("old_values", previous.sql("OLD")))
            }
        }
        members += metadata
        members.append(("options", String(options.flags.rawValue)))
        return Self.insert(members)
    }

    /// Queues the deletion of a row.
    var delete: String { Self.insert(deleteMembers) }

    /// Queues the deletion of a row by an update that carries metadata.
    var deleteWithMetadata: String { Self.insert(deleteMembers + metadata) }

    // MARK: - Parts

    private var newValues: String { Self.difference("'{}'", newRow) }

    private var metadata: [(String, String)] { hasMetadata ? [("metadata", "NEW._metadata")] : [] }

    private var deleteMembers: [(String, String)] {
        var members = [("op", "'DELETE'"), ("id", "OLD.id"), ("type", type)]
        if let previousValues {
            members.append(("old_values", previousValues.sql("OLD")))
        }
        return members
    }

    private var previousValues: RowObject? {
        guard let tracked = options.trackPreviousValues else { return nil }
        guard let filter = tracked.columns else { return object }
        let names = Set(filter.map(ExactText.init))
        return RowObject(columns: object.columns.filter { names.contains(ExactText($0)) })
    }

    private static func difference(_ old: String, _ new: String) -> String {
        "json(powersync_diff(\(old), \(new)))"
    }

    private static func insert(_ members: [(String, String)]) -> String {
        let columns = members.map(\.0).joined(separator: ",")
        let values = members.map(\.1).joined(separator: ", ")
        return "INSERT INTO powersync_crud(\(columns)) VALUES (\(values));\n"
    }
}

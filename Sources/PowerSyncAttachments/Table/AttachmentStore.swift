import PowerSyncClient
import PowerSyncCore
import PowerSyncSQLite

/// The statements over one attachments table.
///
/// The table is a view, which refuses upserts and reports 0 changed rows: whether a row is there has to be asked first,
/// in the same transaction. Every statement names its columns, so that columns of the app survive.
struct AttachmentStore: Sendable {
    /// A row, or what can be said of one that is not an attachment.
    enum StoredRow: Sendable {
        case attachment(Attachment)
        case unreadable(id: String, error: any Error)

        init(_ cursor: any SqlCursor) throws {
            let id = try cursor.getStringOptional(name: "id") ?? ""
            do {
                self = .attachment(try Attachment.fromCursor(cursor))
            } catch {
                self = .unreadable(id: id, error: error)
            }
        }
    }

    /// What a row says about where its file is: its name, `nil` in a row that is not an attachment, and its path, `nil` when there is no
    /// file.
    typealias FileLocation = (filename: String?, localUri: String?)

    /// The columns that a queue knows.
    static let columns = "id, timestamp, state, filename, has_synced, local_uri, media_type, size, meta_data"

    /// The name of the table.
    private let name: String
    /// The name of the table, as SQL.
    let table: String

    /// Creates the statements.
    ///
    /// - Parameter tableName: The name of the view.
    init(tableName: String) {
        name = tableName
        table = SQLText.identifier(tableName)
    }

    /// All rows, oldest first.
    func rows(in context: any ConnectionContext) throws -> [StoredRow] {
        try rows(where: "1", in: context)
    }

    /// The rows with a transfer that waits or runs, oldest first.
    func activeRows(in context: any ConnectionContext) throws -> [StoredRow] {
        try rows(where: "state IN (0, 1, 2)", in: context)
    }

    private func rows(where condition: String, in context: any ConnectionContext) throws -> [StoredRow] {
        try context.getAll(
            sql: "SELECT \(Self.columns) FROM \(table) WHERE \(condition) ORDER BY timestamp, id",
            parameters: [],
            mapper: StoredRow.init
        )
    }

    /// Where the files of all rows are, also of those that are not attachments.
    func fileLocations(in context: any ConnectionContext) throws -> [FileLocation] {
        try context.getAll(sql: "SELECT filename, local_uri FROM \(table)", parameters: []) { cursor in
            (cursor.getStringOptional(index: 0), cursor.getStringOptional(index: 1))
        }
    }

    /// The same; nothing for a table that is not there.
    func locationsIfThere(in context: any ConnectionContext) throws -> [FileLocation] {
        try isThere(in: context) ? fileLocations(in: context) : []
    }

    /// Whether the table is there: a queue may have been made for one that the schema does not have.
    func isThere(in context: any ConnectionContext) throws -> Bool {
        try context.getOptional(
            sql: "SELECT 1 FROM sqlite_master WHERE name = ? COLLATE NOCASE AND type IN ('table', 'view')",
            parameters: [name]
        ) { _ in true } ?? false
    }

    /// The row of an id.
    ///
    /// - Throws: What ``Attachment/fromCursor(_:)`` throws for a row that is not an attachment.
    func attachment(id: String, in context: any ConnectionContext) throws -> Attachment? {
        try context.getOptional(
            sql: "SELECT \(Self.columns) FROM \(table) WHERE id = ?",
            parameters: [id],
            mapper: Attachment.fromCursor
        )
    }

    /// Whether an id has a row, readable or not.
    func hasRow(id: String, in context: any ConnectionContext) throws -> Bool {
        try context.getOptional(sql: "SELECT 1 FROM \(table) WHERE id = ?", parameters: [id]) { _ in true } ?? false
    }

    /// Whether a row of another id says that its file is at a path.
    ///
    /// - Complexity: O(*n*), *n* rows.
    func isPathUsed(_ path: String, besides id: String, in context: any ConnectionContext) throws -> Bool {
        try !usedPaths(among: [path], besides: id, in: context).isEmpty
    }

    /// The paths at which rows of other ids say that their files are.
    ///
    /// A path that differs by case only is the same one where both lead to one file, which depends on the volume.
    ///
    /// - Complexity: O(*n*), *n* rows.
    func usedPaths(
        among paths: [String],
        besides id: String,
        in context: any ConnectionContext
    ) throws -> Set<ExactText> {
        let places = paths.map { _ in "?" }.joined(separator: ", ")
        let similar = try context.getAll(
            sql: "SELECT DISTINCT local_uri FROM \(table) WHERE local_uri COLLATE NOCASE IN (\(places)) AND id <> ?",
            parameters: paths + [id]
        ) { try $0.getString(index: 0) }
        guard !similar.isEmpty else { return [] }
        return Set(
            paths.filter { path in
                similar.contains { ExactText($0) == ExactText(path) || OpenFile.isSame($0, path) }
            }.map { ExactText($0) }
        )
    }

    /// The id of a row with a file name; `nil` when there is none.
    ///
    /// - Complexity: O(*n*), *n* rows.
    func owner(ofName filename: String, in context: any ConnectionContext) throws -> String? {
        try context.getOptional(
            sql: "SELECT id FROM \(table) WHERE filename = ? LIMIT 1",
            parameters: [filename]
        ) { $0.getStringOptional(index: 0) ?? "" }
    }

    /// The id of another row whose file at a path is still to be uploaded.
    ///
    /// Paths that differ by case only count as one: on some volumes they are one file.
    ///
    /// - Complexity: O(*n*), *n* rows.
    func unsentOwner(of path: String, besides id: String, in context: any ConnectionContext) throws -> String? {
        try context.getOptional(
            sql: "SELECT id FROM \(table) WHERE state = ? AND id <> ? AND local_uri = ? COLLATE NOCASE LIMIT 1",
            parameters: [AttachmentState.queuedUpload.rawValue, id, path]
        ) { try $0.getString(index: 0) }
    }

    /// Writes what a transition wants.
    func apply(_ change: AttachmentChange, id: String, in context: any ConnectionContext) throws {
        switch change {
        case .none:
            break
        case .insert(let attachment):
            try insert(attachment, in: context)
        case .update(let attachment):
            try context.execute(
                sql: """
                    UPDATE \(table) SET timestamp = ?, state = ?, has_synced = ?, local_uri = ?, size = ? WHERE id = ?
                    """,
                parameters: [
                    attachment.changedAt, attachment.state.rawValue, attachment.hasSynced == true ? 1 : 0,
                    attachment.localUri, attachment.size, id,
                ]
            )
        case .remove:
            try remove(id: id, in: context)
        }
    }

    /// Adds a row with all its values.
    func insert(_ attachment: Attachment, in context: any ConnectionContext) throws {
        try context.execute(
            sql: "INSERT INTO \(table) (\(Self.columns)) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            parameters: [attachment.id] + values(of: attachment)
        )
    }

    /// Adds a row or gives it all these values.
    func upsert(_ attachment: Attachment, in context: any ConnectionContext) throws {
        guard try hasRow(id: attachment.id, in: context) else { return try insert(attachment, in: context) }
        try context.execute(
            sql: """
                UPDATE \(table) SET timestamp = ?, state = ?, filename = ?, has_synced = ?, local_uri = ?, media_type = ?,
                    size = ?, meta_data = ? WHERE id = ?
                """,
            parameters: values(of: attachment) + [attachment.id]
        )
    }

    /// Removes a row, if there is one.
    func remove(id: String, in context: any ConnectionContext) throws {
        try context.execute(sql: "DELETE FROM \(table) WHERE id = ?", parameters: [id])
    }

    /// Removes all rows.
    func removeAll(in context: any ConnectionContext) throws {
        try context.execute(sql: "DELETE FROM \(table)", parameters: [])
    }

    /// The values of all columns but the id, in the order of ``columns``.
    private func values(of attachment: Attachment) -> [(any Sendable)?] {
        [
            attachment.changedAt, attachment.state.rawValue, attachment.filename, attachment.hasSynced == true ? 1 : 0,
            attachment.localUri, attachment.mediaType, attachment.size, attachment.metaData,
        ]
    }
}

extension AttachmentStore {
    /// Counts rows and bytes by state.
    ///
    /// States that are none of ours are left out.
    func stats(in context: any ConnectionContext) throws -> AttachmentQueueStats {
        let sql = "SELECT state, count(*), coalesce(sum(size), 0) FROM \(table) GROUP BY state"
        let shares = try context.getAll(sql: sql, parameters: []) { cursor in
            (
                cursor.getIntOptional(index: 0).flatMap { AttachmentState(rawValue: $0) },
                AttachmentQueueStats.Share(count: try cursor.getInt(index: 1), bytes: try cursor.getInt64(index: 2))
            )
        }
        var known: [AttachmentState: AttachmentQueueStats.Share] = [:]
        for case (let state?, let share) in shares { known[state] = share }
        return AttachmentQueueStats(shares: known)
    }
}

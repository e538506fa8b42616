public import PowerSyncClient

/// The name of the attachments table when the app does not choose one: `attachments`.
public let defaultAttachmentsTableName = "attachments"

/// The table in which an ``AttachmentQueue`` keeps one row per file.
///
/// It is local-only: its rows are never uploaded. List it in the schema, beside the tables that refer to files:
///
/// ```swift
/// let schema = Schema(tables: [
///     Table(name: "users", columns: [.text("name"), .text("photo_id")]),
///     createAttachmentTable(name: "attachments"),
/// ])
/// ```
///
/// Every queue needs a table of its own. An app may declare the table itself, with more columns; the queue leaves those alone.
///
/// - Parameter name: The name of the table.
/// - Returns: The table, with one column for each value of an ``Attachment``.
public func createAttachmentTable(name: String) -> Table {
    Table(
        name: name,
        columns: [
            .integer("timestamp"),
            .integer("state"),
            .text("filename"),
            .integer("has_synced"),
            .text("local_uri"),
            .text("media_type"),
            .integer("size"),
            .text("meta_data"),
        ],
        localOnly: true
    )
}

public import PowerSyncClient

/// Access to the attachments table, for one holder at a time.
///
/// Get one from ``AttachmentServiceProtocol/withContext(callback:)``. Every requirement has an implementation; a type
/// of your own needs the four properties only.
public protocol AttachmentContextProtocol: Sendable {
    /// The database.
    var db: any PowerSyncDatabaseProtocol { get }
    /// The name of the attachments table.
    var tableName: String { get }
    /// Where messages go.
    var logger: any LoggerProtocol { get }
    /// How many archived rows are kept, with their files.
    var maxArchivedCount: Int64 { get }

    /// Removes the row of an id. Its file stays. Does nothing when there is none.
    func deleteAttachment(id: String) async throws
    /// Archives the row of an id: nothing more is transferred. Does nothing when there is none.
    func ignoreAttachment(id: String) async throws
    /// The row of an id.
    ///
    /// - Throws: ``PowerSyncAttachmentError/generalError(_:)`` when its state is none that this SDK knows.
    func getAttachment(id: String) async throws -> Attachment?
    /// Writes a row: all its values, but the present time as its timestamp.
    ///
    /// - Returns: The argument.
    func saveAttachment(attachment: Attachment) async throws -> Attachment
    /// Writes rows in one transaction: all their values, but the present time as their timestamps.
    func saveAttachments(attachments: [Attachment]) async throws
    /// The ids of all rows.
    func getAttachmentIds() async throws -> [String]
    /// All rows, oldest timestamp first. Rows that are no attachments are logged and left out.
    func getAttachments() async throws -> [Attachment]
    /// The rows whose transfer waits or runs, oldest timestamp first.
    ///
    /// Rows that are no attachments are logged and left out.
    func getActiveAttachments() async throws -> [Attachment]
    /// Removes archived rows that are more than ``maxArchivedCount``, oldest first, up to 1000.
    ///
    /// - Parameter callback: Gets the rows and removes their files. When it throws, the rows stay.
    /// - Returns: Whether nothing is left to remove.
    /// - Throws: What the callback throws, or an error of the database.
    func deleteArchivedAttachments(
        callback: @Sendable @escaping ([Attachment]) async throws -> Void
    ) async throws -> Bool
    /// Removes all rows. The files stay.
    func clearQueue() async throws
}

extension AttachmentContextProtocol {
    /// What does the work for contexts that do not do it themselves.
    private var table: AttachmentContext {
        AttachmentContext(db: db, tableName: tableName, logger: logger, maxArchivedCount: maxArchivedCount)
    }

    /// Removes the row of an id.
    public func deleteAttachment(id: String) async throws {
        try await table.deleteAttachment(id: id)
    }

    /// Archives the row of an id.
    public func ignoreAttachment(id: String) async throws {
        try await table.ignoreAttachment(id: id)
    }

    /// The row of an id.
    public func getAttachment(id: String) async throws -> Attachment? {
        try await table.getAttachment(id: id)
    }

    /// Writes a row.
    public func saveAttachment(attachment: Attachment) async throws -> Attachment {
        try await saveAttachments(attachments: [attachment])
        return attachment
    }

    /// Writes rows in one transaction.
    public func saveAttachments(attachments: [Attachment]) async throws {
        try await table.saveAttachments(attachments: attachments)
    }

    /// Writes a row in a transaction of the caller: all its values, but the present time as its timestamp.
    ///
    /// - Parameters:
    ///   - attachment: The row.
    ///   - context: A connection with an open transaction.
    /// - Returns: The row as it was written.
    /// - Throws: ``PowerSyncError``.
    public func upsertAttachment(_ attachment: Attachment, context: any ConnectionContext) throws -> Attachment {
        try table.upsertAttachment(attachment, context: context)
    }

    /// The ids of all rows.
    public func getAttachmentIds() async throws -> [String] {
        try await table.getAttachmentIds()
    }

    /// All rows, oldest timestamp first.
    public func getAttachments() async throws -> [Attachment] {
        try await table.getAttachments()
    }

    /// The rows whose transfer waits or runs, oldest timestamp first.
    public func getActiveAttachments() async throws -> [Attachment] {
        try await table.getActiveAttachments()
    }

    /// Removes archived rows that are too many.
    public func deleteArchivedAttachments(
        callback: @Sendable @escaping ([Attachment]) async throws -> Void
    ) async throws -> Bool {
        try await table.deleteArchivedAttachments(callback: callback)
    }

    /// Removes all rows.
    public func clearQueue() async throws {
        try await table.clearQueue()
    }
}

extension LogTag {
    /// Files beside the database.
    static let attachments = "Attachments"
}

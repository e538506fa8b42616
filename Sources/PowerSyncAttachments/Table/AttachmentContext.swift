public import PowerSyncClient

/// Access to the attachments table.
///
/// A caller should hold the queue's lock: get it from ``AttachmentServiceProtocol/withContext(callback:)``.
///
/// Its properties are read with `await`, as in the established SDK: `await context.db`.
public actor AttachmentContext: AttachmentContextProtocol {
    // Not `nonisolated`: for that the compiler warns of the `await` of apps that were written for the established SDK.

    /// The database.
    public let db: any PowerSyncDatabaseProtocol
    /// The name of the attachments table.
    public let tableName: String
    /// Where messages go.
    public let logger: any LoggerProtocol
    /// How many archived rows are kept, with their files.
    public let maxArchivedCount: Int64
    // Only the name of an actor: the logic is that of the table.

    nonisolated let table: AttachmentTable

    /// Creates a context.
    ///
    /// - Parameters:
    ///   - db: The database.
    ///   - tableName: The name of the attachments table.
    ///   - logger: Where messages go.
    ///   - maxArchivedCount: How many archived rows are kept, with their files.
    public init(
        db: any PowerSyncDatabaseProtocol,
        tableName: String,
        logger: any LoggerProtocol,
        maxArchivedCount: Int64
    ) {
        self.init(
            table: AttachmentTable(db: db, name: tableName, logger: logger, maxArchivedCount: maxArchivedCount)
        )
    }

    /// Creates a context of a table.
    init(table: AttachmentTable) {
        self.table = table
        db = table.db
        tableName = table.name
        logger = table.logger
        maxArchivedCount = table.maxArchivedCount
    }

    /// Archives the row of an id.
    public func ignoreAttachment(id: String) async throws {
        try await table.ignore(id: id)
    }

    /// Writes rows in one transaction.
    public func saveAttachments(attachments: [Attachment]) async throws {
        try await table.save(attachments)
    }

    /// Writes a row in a transaction of the caller.
    public nonisolated func upsertAttachment(
        _ attachment: Attachment,
        context: any ConnectionContext
    ) throws -> Attachment {
        try table.upsert(attachment, in: context)
    }
}

import Foundation
public import PowerSyncClient

/// Access to the attachments table.
///
/// A user of one should hold the queue's lock: get it from ``AttachmentServiceProtocol/withContext(callback:)``.
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
    /// The time, in milliseconds since 1970.
    nonisolated let now: @Sendable () -> Int64

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
        self.init(db: db, tableName: tableName, logger: logger, maxArchivedCount: maxArchivedCount) {
            Date().millisecondsSince1970
        }
    }

    /// Creates a context with a clock of its own.
    init(
        db: any PowerSyncDatabaseProtocol,
        tableName: String,
        logger: any LoggerProtocol,
        maxArchivedCount: Int64,
        now: @escaping @Sendable () -> Int64
    ) {
        self.db = db
        self.tableName = tableName
        self.logger = logger
        self.maxArchivedCount = maxArchivedCount
        self.now = now
    }

    /// Archives the row of an id.
    public func ignoreAttachment(id: String) async throws {
        try await ignore(id: id, now: now())
    }

    /// Writes rows in one transaction.
    public func saveAttachments(attachments: [Attachment]) async throws {
        try await save(attachments, now: now())
    }

    /// Writes a row in a transaction of the caller.
    public nonisolated func upsertAttachment(
        _ attachment: Attachment,
        context: any ConnectionContext
    ) throws -> Attachment {
        let stored = attachment.with(timestamp: now())
        try store.upsert(stored, in: context)
        return stored
    }
}

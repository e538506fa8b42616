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

    /// The statements over the table.
    nonisolated var store: AttachmentStore { AttachmentStore(tableName: tableName) }

    /// Removes the row of an id.
    public func deleteAttachment(id: String) async throws {
        let store = store
        _ = try await db.writeTransaction { try store.remove(id: id, in: $0) }
    }

    /// Archives the row of an id.
    public func ignoreAttachment(id: String) async throws {
        let (store, now) = (store, now())
        _ = try await db.writeTransaction { transaction in
            guard let row = try store.attachment(id: id, in: transaction) else { return }
            try store.apply(AttachmentStateMachine(row: row).ignored(now: now), id: id, in: transaction)
        }
    }

    /// The row of an id.
    public func getAttachment(id: String) async throws -> Attachment? {
        let store = store
        return try await db.readLock { try store.attachment(id: id, in: $0) }
    }

    /// Writes rows in one transaction.
    public func saveAttachments(attachments: [Attachment]) async throws {
        guard !attachments.isEmpty else { return }
        let (store, now) = (store, now())
        _ = try await db.writeTransaction { transaction in
            for attachment in attachments {
                try store.upsert(attachment.with(timestamp: now), in: transaction)
            }
        }
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

    /// The ids of all rows.
    public func getAttachmentIds() async throws -> [String] {
        try await db.getAll("SELECT id FROM \(store.table) WHERE id IS NOT NULL") { try $0.getString(index: 0) }
    }

    /// All rows, oldest timestamp first.
    public func getAttachments() async throws -> [Attachment] {
        let store = store
        return readable(try await db.readLock { try store.rows(in: $0) })
    }

    /// The rows whose transfer waits or runs, oldest timestamp first.
    public func getActiveAttachments() async throws -> [Attachment] {
        let store = store
        return readable(try await db.readLock { try store.activeRows(in: $0) })
    }

    /// Removes archived rows that are too many.
    public func deleteArchivedAttachments(
        callback: @Sendable @escaping ([Attachment]) async throws -> Void
    ) async throws -> Bool {
        let (store, limit) = (store, maxArchivedCount)
        let rows = try await db.readLock { try store.expiredRows(limit: limit, byteLimit: nil, besides: [], in: $0) }
        guard !rows.isEmpty else { return true }
        let expired = readable(rows)
        warnOfLoss(expired)
        try await callback(expired)
        _ = try await db.writeTransaction { transaction in
            for attachment in expired where try store.isStillArchived(attachment, in: transaction) {
                try store.remove(id: attachment.id, in: transaction)
            }
        }
        return expired.isEmpty || rows.count < AttachmentStore.expiryRoundSize
    }

    /// Removes all rows.
    public func clearQueue() async throws {
        let store = store
        _ = try await db.writeTransaction { try store.removeAll(in: $0) }
    }

    /// The rows that are attachments; the others are logged.
    nonisolated func readable(_ rows: [AttachmentStore.StoredRow]) -> [Attachment] {
        rows.compactMap { row in
            switch row {
            case .attachment(let attachment):
                return attachment
            case .unreadable(let id, let error):
                logger.error(
                    "The row \(id) of \(tableName) is left out: \(error.localizedDescription)",
                    tag: LogTag.attachments
                )
                return nil
            }
        }
    }

    /// Says which files exist nowhere else and are about to be removed.
    nonisolated func warnOfLoss(_ expired: [Attachment]) {
        for attachment in expired where attachment.hasSynced != true && attachment.localUri != nil {
            logger.warning(
                "The file \(attachment.filename) of \(attachment.id) expires, and was never uploaded",
                tag: LogTag.attachments
            )
        }
    }
}

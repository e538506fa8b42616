import Foundation
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
    /// The statements over the table.
    var store: AttachmentStore { AttachmentStore(tableName: tableName) }

    /// Removes the row of an id.
    public func deleteAttachment(id: String) async throws {
        let store = store
        _ = try await db.writeTransaction { try store.remove(id: id, in: $0) }
    }

    /// Archives the row of an id.
    public func ignoreAttachment(id: String) async throws {
        try await ignore(id: id, now: Date().millisecondsSince1970)
    }

    /// The row of an id.
    public func getAttachment(id: String) async throws -> Attachment? {
        let store = store
        return try await db.readLock { try store.attachment(id: id, in: $0) }
    }

    /// Writes a row.
    public func saveAttachment(attachment: Attachment) async throws -> Attachment {
        try await saveAttachments(attachments: [attachment])
        return attachment
    }

    /// Writes rows in one transaction.
    public func saveAttachments(attachments: [Attachment]) async throws {
        try await save(attachments, now: Date().millisecondsSince1970)
    }

    /// Writes a row in a transaction of the caller: all its values, but the present time as its timestamp.
    ///
    /// - Parameters:
    ///   - attachment: The row.
    ///   - context: A connection with an open transaction.
    /// - Returns: The row as it was written.
    /// - Throws: ``PowerSyncError``.
    public func upsertAttachment(_ attachment: Attachment, context: any ConnectionContext) throws -> Attachment {
        let stored = attachment.with(timestamp: Date().millisecondsSince1970)
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
}

extension AttachmentContextProtocol {
    /// Archives the row of an id.
    func ignore(id: String, now: Int64) async throws {
        let store = store
        _ = try await db.writeTransaction { transaction in
            guard let row = try store.attachment(id: id, in: transaction) else { return }
            try store.apply(AttachmentStateMachine(row: row).ignored(now: now), id: id, in: transaction)
        }
    }

    /// Writes rows in one transaction.
    func save(_ attachments: [Attachment], now: Int64) async throws {
        guard !attachments.isEmpty else { return }
        let store = store
        _ = try await db.writeTransaction { transaction in
            for attachment in attachments {
                try store.upsert(attachment.with(timestamp: now), in: transaction)
            }
        }
    }

    /// The rows that are attachments; the others are logged.
    func readable(_ rows: [AttachmentStore.StoredRow]) -> [Attachment] {
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
    func warnOfLoss(_ expired: [Attachment]) {
        for attachment in expired where attachment.hasSynced != true && attachment.localUri != nil {
            logger.warning(
                "The file \(attachment.filename) of \(attachment.id) expires, and was never uploaded",
                tag: LogTag.attachments
            )
        }
    }
}

extension LogTag {
    /// Files beside the database.
    static let attachments = "Attachments"
}

import Foundation
import PowerSyncClient

/// One attachments table of a database, with what is read and written in one go.
///
/// Callers hold the lock of the table: ``SharedAttachmentTable/withTurn(_:)``.
struct AttachmentTable: Sendable {
    /// The database.
    let db: any PowerSyncDatabaseProtocol
    /// The name of the table.
    let name: String
    /// Where messages go.
    let logger: any LoggerProtocol
    /// How many archived rows are kept, with their files.
    let maxArchivedCount: Int64
    /// The time, in milliseconds since 1970.
    var now: @Sendable () -> Int64 = { Date().millisecondsSince1970 }

    /// The statements over the table.
    var store: AttachmentStore { AttachmentStore(tableName: name) }

    /// The row of an id.
    func attachment(id: String) async throws -> Attachment? {
        let store = store
        return try await db.readLock { try store.attachment(id: id, in: $0) }
    }

    /// All rows, oldest timestamp first.
    func attachments() async throws -> [Attachment] {
        let store = store
        return readable(try await db.readLock { try store.rows(in: $0) })
    }

    /// The rows whose transfer waits or runs, oldest timestamp first.
    func activeAttachments() async throws -> [Attachment] {
        let store = store
        return readable(try await db.readLock { try store.activeRows(in: $0) })
    }

    /// The ids of all rows.
    func ids() async throws -> [String] {
        try await db.getAll("SELECT id FROM \(store.table) WHERE id IS NOT NULL") { try $0.getString(index: 0) }
    }

    /// Writes rows in one transaction: all their values, but the present time as their timestamps.
    func save(_ attachments: [Attachment]) async throws {
        guard !attachments.isEmpty else { return }
        let (store, now) = (store, now())
        _ = try await db.writeTransaction { transaction in
            for attachment in attachments {
                try store.upsert(attachment.with(timestamp: now), in: transaction)
            }
        }
    }

    /// Writes a row in a transaction of the caller, with the present time as its timestamp.
    func upsert(_ attachment: Attachment, in context: any ConnectionContext) throws -> Attachment {
        let stored = attachment.with(timestamp: now())
        try store.upsert(stored, in: context)
        return stored
    }

    /// Archives the row of an id.
    func ignore(id: String) async throws {
        let (store, now) = (store, now())
        _ = try await db.writeTransaction { transaction in
            guard let row = try store.attachment(id: id, in: transaction) else { return }
            try store.apply(AttachmentStateMachine(row: row).ignored(now: now), id: id, in: transaction)
        }
    }

    /// Removes the row of an id.
    func remove(id: String) async throws {
        let store = store
        _ = try await db.writeTransaction { try store.remove(id: id, in: $0) }
    }

    /// Removes all rows.
    func removeAll() async throws {
        let store = store
        _ = try await db.writeTransaction { try store.removeAll(in: $0) }
    }

    /// Removes archived rows beyond ``maxArchivedCount``, up to 1000.
    ///
    /// - Parameter removeFiles: Removes the files of the rows. When it throws, the rows stay.
    /// - Returns: Whether nothing is left to remove.
    /// - Throws: What the closure throws, or an error of the database.
    func removeArchived(removeFiles: ([Attachment]) async throws -> Void) async throws -> Bool {
        let (store, limit) = (store, maxArchivedCount)
        let rows = try await db.readLock { try store.expiredRows(limit: limit, byteLimit: nil, besides: [], in: $0) }
        guard !rows.isEmpty else { return true }
        let expired = readable(rows)
        warnOfLoss(expired)
        try await removeFiles(expired)
        _ = try await db.writeTransaction { transaction in
            for attachment in expired where try store.isStillArchived(attachment, in: transaction) {
                try store.remove(id: attachment.id, in: transaction)
            }
        }
        return expired.isEmpty || rows.count < AttachmentStore.expiryRoundSize
    }

    /// The rows that are attachments; the others are logged.
    func readable(_ rows: [AttachmentStore.StoredRow]) -> [Attachment] {
        rows.compactMap { row in
            switch row {
            case .attachment(let attachment):
                return attachment
            case .unreadable(let id, let error):
                logger.error(
                    "The row \(id) of \(name) is left out: \(error.localizedDescription)",
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

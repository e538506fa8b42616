import Foundation
import PowerSyncClient

/// What a round of expiry came to: whether another round would find nothing to remove, and the ids of rows that stay because their files could
/// not be removed, to be left out of the next round.
typealias ExpiryRound = (isComplete: Bool, failed: Set<String>)

// Callers hold the service's lock.
extension AttachmentContext {
    /// Removes archived attachments beyond the cache's limits: first the file, then the row.
    ///
    /// A row that was restored meanwhile survives with its file, and so does a file that another row refers to.
    ///
    /// - Parameters:
    ///   - byteLimit: How many bytes the cache keeps, besides the limit on its rows.
    ///   - failed: Ids of rows to leave out: their files could not be removed in an earlier round.
    ///   - removeFile: Removes the file of an attachment with a path. When it throws, the row stays.
    /// - Returns: Whether there is more to remove: a round takes up to 1000 rows.
    /// - Throws: `CancellationError`, or an error of the database. Rows whose files are gone stay archived then.
    func expire(
        byteLimit: Int64? = nil,
        besides failed: Set<String> = [],
        removeFile: @Sendable (Attachment) async throws -> Void
    ) async throws -> ExpiryRound {
        let (store, limit, others) = (store, maxArchivedCount, storesOfOtherQueues)
        let (rows, sharedPaths) = try await db.readTransaction { transaction in
            let rows = try store.expiredRows(limit: limit, byteLimit: byteLimit, besides: failed, in: transaction)
            return (rows, rows.isEmpty ? [:] : try store.sharedPaths(with: others, in: transaction))
        }
        guard !rows.isEmpty else { return (true, []) }
        let candidates = readable(rows)
        warnOfLoss(candidates)
        var references = sharedPaths
        var expired: [Attachment] = []
        for attachment in candidates {
            try Task.checkCancellation()
            let isArchived = try await db.readLock { try store.isStillArchived(attachment, in: $0) }
            guard isArchived else { continue }
            if try await removeFileOfLastReference(attachment, &references, removeFile) { expired.append(attachment) }
        }
        try await removeRows(expired)
        let removed = Set(expired.map(\.id))
        return (
            isComplete: rows.count < AttachmentStore.expiryRoundSize,
            failed: failed.union(rows.lazy.map(\.id).filter { !removed.contains($0) })
        )
    }

    /// - Returns: Whether the row can go.
    private func removeFileOfLastReference(
        _ attachment: Attachment,
        _ references: inout [String: Int],
        _ removeFile: @Sendable (Attachment) async throws -> Void
    ) async throws -> Bool {
        guard let path = attachment.localUri else { return true }
        if let count = references[path], count > 1 {
            references[path] = count - 1
            return true
        }
        do {
            try await removeFile(attachment)
            return true
        } catch {
            try Task.checkCancellation()
            logger.error(
                "The file of the expired attachment \(attachment.id) could not be removed: \(error.localizedDescription)",
                tag: LogTag.attachments
            )
            return false
        }
    }

    private func removeRows(_ expired: [Attachment]) async throws {
        guard !expired.isEmpty else { return }
        let store = store
        _ = try await db.writeTransaction { transaction in
            for attachment in expired where try store.isStillArchived(attachment, in: transaction) {
                try store.remove(id: attachment.id, in: transaction)
            }
        }
    }
}

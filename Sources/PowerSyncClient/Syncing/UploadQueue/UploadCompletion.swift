import Foundation
import PowerSyncCore
import PowerSyncProtocol

/// Removes uploaded writes from the head of the queue.
struct UploadCompletion: Sendable {
    /// The database that the writes came from.
    let database: any PowerSyncDatabaseProtocol
    /// The position of the last write that was uploaded.
    let lastID: Int64

    /// Removes the writes, keeps those that were rejected aside, and moves the write gate, in one transaction.
    ///
    /// - Parameters:
    ///   - text: A write checkpoint of the app's own backend.
    ///   - rejections: Writes that are kept aside.
    ///   - entries: The writes that are being completed.
    /// - Throws: ``PowerSyncError``; with the code ``PowerSyncErrorCode/cleared`` when `disconnectAndClear` has removed the writes.
    func complete(
        writeCheckpoint text: String?,
        rejecting rejections: [UploadRejection] = [],
        of entries: [CrudEntry] = []
    ) async throws {
        let ids = Set(entries.map(\.clientId))
        guard rejections.allSatisfy({ ids.contains($0.entry.clientId) }) else {
            throw PowerSyncError.rejectionOfOthers
        }
        let writeCheckpoint = try text.map { try Self.number(of: $0) }
        // The writes have been uploaded, so this happens even if the session is being stopped: otherwise they would be
        // uploaded again.
        let sync = SyncedDatabase.behind(database)?.sync
        let now = SyncInstant(sync?.environment.now() ?? Date())
        try await Task.ignoringCancellation { [database, lastID, file = sync?.file] in
            try await database.writeToEngine { db in
                if let file, file.isCleared(entry: lastID) { throw PowerSyncError.writesWereCleared }
                for rejection in rejections {
                    try RejectedWrites.record(db, rejection.entry.clientId, reason: rejection.reason, at: now)
                }
                try UploadQueue.complete(db, through: lastID, writeCheckpoint: writeCheckpoint)
            }
        }
    }

    /// The number of a write checkpoint that an app gives as text.
    ///
    /// - Throws: ``PowerSyncError`` when it is none.
    static func number(of text: String) throws -> WriteCheckpoint {
        guard let checkpoint = WriteCheckpoint(decimal: text) else { throw PowerSyncError.notWriteCheckpoint(text) }
        return checkpoint
    }
}

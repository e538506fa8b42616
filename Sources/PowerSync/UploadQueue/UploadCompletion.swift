import PowerSyncCore
import PowerSyncProtocol

/// Removes uploaded writes from the head of the queue.
struct UploadCompletion: Sendable {
    /// The database that the writes came from.
    let database: any PowerSyncDatabaseProtocol
    /// The position of the last write that was uploaded.
    let lastID: Int64

    /// Removes the writes and moves the write gate, in one transaction.
    func complete(writeCheckpoint text: String?) async throws {
        let writeCheckpoint = try text.map { text in
            guard let checkpoint = WriteCheckpoint(decimal: text) else {
                throw PowerSyncError.operationFailed(message: "The write checkpoint '\(text)' is not a number")
            }
            return checkpoint
        }
        // The writes have been uploaded, so this happens even if the session is being stopped: a task of its own does not
        // inherit the cancellation, which would have them uploaded again.
        try await Task { [database, lastID] in
            try await database.writeToEngine { db in
                try UploadQueue.complete(through: lastID, writeCheckpoint: writeCheckpoint, db)
            }
        }.value
    }
}

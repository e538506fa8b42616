import PowerSyncClient
import PowerSyncSQLite

// Callers hold the service's lock.
extension AttachmentContext {
    /// Writes what came of a transfer, to the row as it is now.
    ///
    /// - Parameters:
    ///   - outcome: What the transfer came to.
    ///   - started: The row as it was when the attempt began.
    /// - Returns: The path of a file that no row refers to, to be removed before the lock is released; `nil` for none.
    /// - Throws: An error of the database. Nothing has changed then.
    func commit(_ outcome: TransferOutcome, of started: Attachment) async throws -> String? {
        let (store, now, id) = (store, now(), started.id)
        let (isGone, unusedFile) = try await db.writeTransaction { transaction in
            let row = try store.attachment(id: id, in: transaction)
            let commit = AttachmentStateMachine.finish(outcome, of: started, row: row, now: now)
            try store.apply(commit.change, id: id, in: transaction)
            let unusedFile = try commit.unusedFile.flatMap { path in
                try store.isPathUsed(path, besides: id, in: transaction) ? nil : path
            }
            return (row == nil, unusedFile)
        }
        if isGone, outcome == .uploaded {
            logger.warning(
                "The attachment \(id) was removed while it was uploaded; the remote storage has a file of it",
                tag: LogTag.attachments
            )
        }
        return unusedFile
    }

    /// Keeps a download from replacing the only copy of another attachment's file.
    ///
    /// - Throws: ``PowerSyncAttachmentError/generalError(_:)`` when that attachment is still to be uploaded.
    func checkMayReplaceFile(at path: String, for id: String) async throws {
        let store = store
        guard let owner = try await db.readLock(callback: { try store.unsentOwner(of: path, besides: id, in: $0) })
        else {
            return
        }
        throw PowerSyncAttachmentError.generalError(
            "The attachment \(owner), which is not uploaded yet, has its file at \(path): its name has to be another one."
        )
    }

    /// Whether an attachment besides this one, of this table or of another one with a queue, has its file at a path, so that the file must stay.
    func isFileShared(path: String, besides id: String) async throws -> Bool {
        let (store, others) = (store, storesOfOtherQueues)
        return try await db.readLock { context in
            if try store.isPathUsed(path, besides: id, in: context) { return true }
            // No row has an empty id.
            return try others.contains { try $0.isThere(in: context) && $0.isPathUsed(path, besides: "", in: context) }
        }
    }

    /// The tables of this process's other queues over the database, which may have files in the same directory.
    nonisolated var storesOfOtherQueues: [AttachmentStore] {
        let name = tableName.lowercased()
        return SharedAttachmentTable.names(of: db).filter { $0 != name }.map { AttachmentStore(tableName: $0) }
    }

    /// The paths at which no other attachment has its file, of this table or of another one with a queue, whether that is there or not.
    func unusedPaths(_ paths: [String], besides id: String) async throws -> [String] {
        let (store, others) = (store, storesOfOtherQueues)
        let used = try await db.readLock { context in
            try others.filter { try $0.isThere(in: context) }.reduce(
                into: try store.usedPaths(among: paths, besides: id, in: context)
            ) { used, other in
                // No row has an empty id.
                used.formUnion(try other.usedPaths(among: paths, besides: "", in: context))
            }
        }
        return paths.filter { !used.contains(ExactText($0)) }
    }
}

import PowerSyncClient
import PowerSyncSQLite

/// What the end of a transfer changes.
struct TransferCommit: Sendable, Equatable {
    /// What is written.
    var change: AttachmentChange = .none
    /// The path of a file that no row refers to, to be removed after the commit; `nil` for none.
    var unusedFile: String?
}

extension AttachmentStateMachine {
    /// A transfer has ended, while the row may have changed.
    ///
    /// A transfer works on a copy of its row; here its outcome meets the row as it is now.
    ///
    /// - Parameters:
    ///   - outcome: What the transfer came to.
    ///   - started: The row as it was when the attempt began.
    ///   - row: The row as it is now; `nil` when it is gone.
    ///   - now: The time.
    /// - Returns: What to write, and what to do with files then.
    static func finish(
        _ outcome: TransferOutcome,
        of started: Attachment,
        row: Attachment?,
        now: Int64
    ) -> TransferCommit {
        switch outcome {
        case .uploaded:
            TransferCommit(change: row.map { uploaded(started, row: $0, now: now) } ?? .none)
        case .downloaded(let path, let size):
            downloaded(started, row: row, path: path, size: size)
        case .deleted:
            TransferCommit(change: row.map(deleted) ?? .none)
        case .localFileMissing:
            TransferCommit(change: row.map { localFileMissing(started, row: $0, now: now) } ?? .none)
        case .givenUp:
            TransferCommit(change: row.map { givenUp(started, row: $0, now: now) } ?? .none)
        }
    }

    private static func uploaded(_ started: Attachment, row: Attachment, now: Int64) -> AttachmentChange {
        switch row.state {
        case .queuedUpload:
            // Under another name it is another remote file, which is still to be uploaded.
            guard hasSameFile(started, row) else { return .none }
            return .update(row.with(state: .synced, timestamp: now, hasSynced: true))
        case .archived:
            guard hasSameFile(started, row) else { return .none }
            return AttachmentStateMachine(row: row).change(to: row.with(hasSynced: true))
        case .queuedDownload, .queuedDelete, .synced:
            return .none
        }
    }

    private static func downloaded(
        _ started: Attachment,
        row: Attachment?,
        path: String,
        size: Int64
    ) -> TransferCommit {
        guard let row else { return TransferCommit(unusedFile: path) }
        let isInUse = row.localUri.map { ExactText($0) == ExactText(path) } ?? false
        let discarded = TransferCommit(unusedFile: isInUse ? nil : path)
        guard hasSameFile(started, row) else { return discarded }
        switch row.state {
        case .queuedDownload:
            return TransferCommit(
                change: .update(row.with(state: .synced, hasSynced: true, localUri: path, size: size))
            )
        case .archived:
            return TransferCommit(change: .update(row.with(hasSynced: true, localUri: path, size: size)))
        case .queuedDelete:
            // The deletion then finds the file.
            return TransferCommit(change: AttachmentStateMachine(row: row).change(to: row.with(localUri: path)))
        case .queuedUpload, .synced:
            return discarded
        }
    }

    private static func deleted(row: Attachment) -> AttachmentChange {
        switch row.state {
        case .queuedDelete: .remove
        case .queuedDownload, .queuedUpload, .synced, .archived:
            AttachmentStateMachine(row: row).change(to: row.with(hasSynced: false))
        }
    }

    private static func localFileMissing(_ started: Attachment, row: Attachment, now: Int64) -> AttachmentChange {
        // A verification may have found the file under another path meanwhile.
        guard row.state == .queuedUpload, row.localUri == started.localUri, hasSameFile(started, row) else {
            return .none
        }
        return .update(row.with(state: .archived, timestamp: now, hasSynced: false, localUri: .some(nil)))
    }

    private static func givenUp(_ started: Attachment, row: Attachment, now: Int64) -> AttachmentChange {
        guard row.state == started.state else { return .none }
        switch row.state {
        case .queuedUpload, .queuedDelete:
            return .update(row.with(state: .archived, timestamp: now))
        case .queuedDownload:
            return .update(row.with(state: .archived, timestamp: now, hasSynced: false, localUri: .some(nil)))
        case .synced, .archived:
            return .none
        }
    }

    /// Whether the transfer was of the file that the row has now.
    private static func hasSameFile(_ started: Attachment, _ row: Attachment) -> Bool {
        ExactText(started.filename) == ExactText(row.filename)
    }
}

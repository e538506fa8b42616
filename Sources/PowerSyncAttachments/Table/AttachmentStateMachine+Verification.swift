import PowerSyncClient

extension AttachmentStateMachine {
    /// Whether ``verified(file:downloads:now:)`` depends on the file.
    ///
    /// Without a path only files that must be here are looked for.
    var isVerifiedByFile: Bool {
        switch row.state {
        case .queuedUpload, .synced: true
        case .queuedDownload, .queuedDelete, .archived: row.localUri != nil
        }
    }

    /// The file was looked for.
    ///
    /// - Parameters:
    ///   - file: Where it is.
    ///   - downloads: Whether the queue downloads at all.
    ///   - now: The time.
    /// - Returns: The repair.
    func verified(file: LocalFile, downloads: Bool, now: Int64) -> AttachmentChange {
        guard isVerifiedByFile else { return .none }
        switch file {
        case .inPlace: return .none
        case .moved(let path): return change(to: row.with(localUri: path))
        case .missing: break
        }
        switch row.state {
        case .queuedDownload, .queuedDelete:
            return change(to: row.with(localUri: .some(nil)))
        case .queuedUpload:
            return .update(row.with(state: .archived, timestamp: now, hasSynced: false, localUri: .some(nil)))
        case .synced:
            guard downloads else { return change(to: row.with(localUri: .some(nil))) }
            return .update(row.with(state: .queuedDownload, hasSynced: false, localUri: .some(nil)))
        case .archived:
            return change(to: row.with(hasSynced: false, localUri: .some(nil)))
        }
    }
}

import PowerSyncClient

/// The transitions of one attachment: an event comes in, what is to be written comes out (docs/attachments.md).
///
/// ```
///    reference ─► QUEUED_DOWNLOAD ──downloaded──►  SYNCED  ◄──uploaded── QUEUED_UPLOAD ◄─ saveFile
///                     ▲   │                        │    ▲                  │    ▲
///           no file:  │   └─ unreferenced, ────────┤    │ file, synced:    │    │ file, not synced:
///         reference   │      given up              ▼    │ reference        ▼    │ reference
///                     └──────────────────────── ARCHIVED ──────────────────┴────┘ ─► expired
///
///    any ── deleteFile ─► QUEUED_DELETE ── deleted ─► no row;   given up ─► ARCHIVED
/// ```
///
/// What a transition needs to know is part of its event: whether the file exists, what time it is.
///
/// The timestamp orders transfers and the cache, and it protects rows from elements of the watch that are older than
/// they are (``unreferenced(deliveredAt:now:)``). So a change that an element causes takes the time of the element. Finished
/// downloads and repairs keep the timestamp: otherwise they would seem newer than an element that is waiting to archive
/// their row, and the row would stay.
struct AttachmentStateMachine: Sendable {
    /// The row as it is.
    let row: Attachment

    private var isSynced: Bool { row.hasSynced == true }

    /// The app refers to an id that has no row.
    ///
    /// - Parameters:
    ///   - item: The reference.
    ///   - filename: The name that its file gets.
    ///   - deliveredAt: When the element came.
    ///   - downloads: Whether the queue downloads at all.
    /// - Returns: The new row, if there is to be one.
    static func newReference(
        _ item: WatchedAttachmentItem,
        filename: String,
        deliveredAt: Int64,
        downloads: Bool
    ) -> AttachmentChange {
        guard downloads else { return .none }
        return .insert(
            Attachment(
                id: item.id,
                filename: filename,
                state: .queuedDownload,
                mediaType: item.mediaType,
                metaData: item.metaData
            ).with(timestamp: deliveredAt)
        )
    }

    /// Whether ``referenced(file:deliveredAt:downloads:)`` depends on the file.
    var isRestoredByReference: Bool { row.state == .archived }

    /// An element of the watch has the id.
    ///
    /// - Parameters:
    ///   - file: Where the file is; `nil` when it was not looked for, or could not be. An archived row stays then.
    ///   - deliveredAt: When the element came.
    ///   - downloads: Whether the queue downloads at all.
    /// - Returns: What to write.
    func referenced(file: LocalFile?, deliveredAt: Int64, downloads: Bool) -> AttachmentChange {
        switch row.state {
        case .queuedDownload, .queuedUpload, .queuedDelete, .synced:
            return .none
        case .archived:
            let restored: AttachmentState = isSynced ? .synced : .queuedUpload
            switch file {
            case nil:
                return .none
            case .inPlace:
                return .update(row.with(state: restored, timestamp: deliveredAt))
            case .moved(let path):
                return .update(row.with(state: restored, timestamp: deliveredAt, localUri: path))
            case .missing:
                guard downloads else { return .none }
                return .update(
                    row.with(state: .queuedDownload, timestamp: deliveredAt, hasSynced: false, localUri: .some(nil))
                )
            }
        }
    }

    /// An element of the watch does not have the id.
    ///
    /// - Parameters:
    ///   - deliveredAt: When the element came. It says nothing about a row that was written later.
    ///   - now: The time. A row from the future is not newer than the element: the clock has been set back.
    /// - Returns: What to write.
    func unreferenced(deliveredAt: Int64, now: Int64) -> AttachmentChange {
        if row.changedAt > deliveredAt, row.changedAt <= now { return .none }
        switch row.state {
        case .queuedDownload, .synced:
            return .update(row.with(state: .archived, timestamp: deliveredAt))
        case .queuedUpload:
            return isSynced ? .update(row.with(state: .archived, timestamp: deliveredAt)) : .none
        case .queuedDelete, .archived:
            return .none
        }
    }

    /// The app deletes the file, everywhere.
    ///
    /// - Parameter now: The time.
    /// - Returns: The row to write. It no longer counts as synced, so that a missing reference does not archive it.
    func deleted(now: Int64) -> Attachment {
        row.with(state: .queuedDelete, timestamp: now, hasSynced: false)
    }

    /// The app wants nothing more to happen with the file.
    func ignored(now: Int64) -> AttachmentChange {
        row.state == .archived ? .none : .update(row.with(state: .archived, timestamp: now))
    }

    /// The change that gives the row these values.
    func change(to attachment: Attachment) -> AttachmentChange {
        attachment == row ? .none : .update(attachment)
    }
}

/// What is to be written about one attachment.
enum AttachmentChange: Sendable, Equatable {
    /// The row stays, or stays away.
    case none
    /// A row that was not there.
    case insert(Attachment)
    /// New values for the state, the timestamp, the path, the size and `has_synced` of a row.
    case update(Attachment)
    /// The row goes.
    case remove
}

import PowerSyncClient

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

import PowerSyncClient

extension LogTag {
    /// Files beside the database.
    static let attachments = "Attachments"
}

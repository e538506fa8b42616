package import GRDB

extension DownloadStatus {
    /// What the database says about earlier syncs, while no iteration is running.
    package static func offline(_ db: Database) throws -> DownloadStatus {
        DownloadStatus(
            priorities: try SyncState.fetchAll(db),
            streams: try StreamSubscriptions.fetchAll(db).map(\.status)
        )
    }
}

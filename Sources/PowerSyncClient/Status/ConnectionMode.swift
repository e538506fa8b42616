/// Which halves of syncing a connection does: see ``ConnectOptions/mode``.
public struct ConnectionMode: Sendable, Hashable {
    /// Whether local writes are uploaded.
    let uploads: Bool
    /// Whether what the service has is downloaded.
    let downloads: Bool

    /// Local writes are uploaded, and what the service has is downloaded: the default.
    public static let full = ConnectionMode(uploads: true, downloads: true)

    /// What the service has is downloaded, and ``PowerSyncBackendConnectorProtocol/uploadData(database:)`` is never called.
    ///
    /// Local writes stay in the upload queue, and as long as they are there no newer data is shown but of priority 0, since it would
    /// take them away. The status has that as its ``SyncStatusData/downloadError`` from the first checkpoint on that they hold back:
    /// connect in another mode to upload them, or remove them with ``PowerSyncDatabaseProtocol/disconnectAndClear()``.
    public static let downloadOnly = ConnectionMode(uploads: false, downloads: true)

    /// Local writes are uploaded, and no stream is opened: nothing newer is shown.
    ///
    /// For a moment in the background, or a metered network. Uploads begin when the connection does, and are tried again after
    /// ``ConnectOptions/retryDelay``. Afterwards the service is asked for a write checkpoint as always, so that the next connection in
    /// another mode uploads nothing twice. The status is neither connected nor connecting.
    public static let uploadOnly = ConnectionMode(uploads: true, downloads: false)
}

extension ConnectionMode: CustomStringConvertible {
    /// `full`, `downloadOnly` or `uploadOnly`.
    public var description: String { uploads && downloads ? "full" : downloads ? "downloadOnly" : "uploadOnly" }
}

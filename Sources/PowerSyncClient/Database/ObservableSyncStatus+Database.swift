import Observation

@available(macOS 14.0, iOS 17.0, watchOS 10.0, tvOS 17.0, *)
extension ObservableSyncStatus {
    /// The status of a database; without one, that of a database that was never opened.
    ///
    /// - Parameter database: The database.
    /// - Returns: The same object on every call.
    public static func of(_ database: (any PowerSyncDatabaseProtocol)?) -> ObservableSyncStatus {
        database?.currentStatus.observable ?? unopened
    }

    private static let unopened = LiveSyncStatus().observable
}

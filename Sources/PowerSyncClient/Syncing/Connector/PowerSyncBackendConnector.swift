/// A connector to subclass.
@available(*, deprecated, message: "Conform to PowerSyncBackendConnectorProtocol instead.")
open class PowerSyncBackendConnector: PowerSyncBackendConnectorProtocol, @unchecked Sendable {
    // `@unchecked` is part of the declaration apps know; this class has no state, subclasses guard theirs.

    /// Creates a connector without credentials.
    public init() {}

    /// Fetches a token for the sync service.
    ///
    /// Override it; this implementation returns `nil`.
    open func fetchCredentials() async throws -> PowerSyncCredentials? {
        nil
    }

    /// Uploads local writes.
    ///
    /// Override it; this implementation does nothing.
    ///
    /// - Parameter database: The database that is connected.
    /// - Throws: Anything. The error is shown in the status, and the upload is tried again later.
    open func uploadData(database: any PowerSyncDatabaseProtocol) async throws {}
}

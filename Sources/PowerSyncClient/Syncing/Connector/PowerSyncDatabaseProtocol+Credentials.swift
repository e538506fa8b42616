extension PowerSyncDatabaseProtocol {
    /// Has the credentials fetched again; does nothing while disconnected, and for a database that is not one of this SDK.
    public func invalidateCredentials() async {
        SyncedDatabase.behind(self)?.sync.invalidateCredentials()
    }
}

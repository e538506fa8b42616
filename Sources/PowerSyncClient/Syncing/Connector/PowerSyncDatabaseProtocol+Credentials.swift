extension PowerSyncDatabaseProtocol {
    /// Has the database of ours do it, if there is one.
    public func invalidateCredentials() async {
        SyncedDatabase.behind(self)?.sync.file.invalidateCredentials()
    }
}

extension PowerSyncDatabaseProtocol {
    /// Says that the credentials in use are not valid any more, for example because the user's rights have changed.
    ///
    /// The SDK calls `fetchCredentials` again, also when a call is under way already. The sync stream stays open until the
    /// new credentials are there, and is then opened again at once. If they cannot be got, the stream is closed and the
    /// error is shown as that of any connection.
    ///
    /// Does not wait for the new credentials. Does nothing while the database is disconnected, and on a database that is
    /// not of this SDK.
    public func invalidateCredentials() async {
        (self as? SyncedDatabase)?.sync.invalidateCredentials()
    }
}

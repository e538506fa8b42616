import NIOConcurrencyHelpers

extension SyncedDatabase {
    /// The databases that are in use, by the status that they give out.
    private static let byStatus = NIOLockedValueBox<[ObjectIdentifier: WeakReference<SyncedDatabase>]>([:])

    /// Makes this the database behind each one that forwards its status.
    func register() {
        Self.byStatus.withLockedValue { $0[ObjectIdentifier(sync.status)] = WeakReference(self) }
    }

    /// Ends ``register()``.
    func unregister() {
        _ = Self.byStatus.withLockedValue { $0.removeValue(forKey: ObjectIdentifier(sync.status)) }
    }

    /// The database of ours behind a database of the app.
    ///
    /// It is the database itself, or the one whose status a wrapper forwards: a wrapper that was written for the established
    /// SDK knows nothing of our further calls, but it forwards the status.
    ///
    /// - Returns: `nil` for a database that has another status.
    static func behind(_ database: any PowerSyncDatabaseProtocol) -> SyncedDatabase? {
        if let own = database as? SyncedDatabase { return own }
        guard let status = database.currentStatus as? LiveSyncStatus else { return nil }
        return byStatus.withLockedValue { $0[ObjectIdentifier(status)]?.object }
    }
}

extension PowerSyncDatabaseProtocol {
    /// The database of ours behind this one.
    ///
    /// - Throws: ``PowerSyncError/operationFailed(message:underlyingError:)`` when there is none.
    func requireOwn(for operation: String) throws -> SyncedDatabase {
        guard let own = SyncedDatabase.behind(self) else {
            throw PowerSyncError.notSupported(operation, by: self)
        }
        return own
    }

    /// The object that all databases of this one's file in this process share.
    package var fileOwner: any Sendable { SyncedDatabase.behind(self)?.local.file ?? self }

    /// Gives a function that tells whether the database of ours behind this one is closed, without keeping it.
    ///
    /// For another database it is always `false`.
    package func closedCheck() -> @Sendable () -> Bool {
        { [weak local = SyncedDatabase.behind(self)?.local] in local?.isClosed ?? false }
    }
}

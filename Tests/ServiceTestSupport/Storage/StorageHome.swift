package import PowerSyncServiceCore
package import PowerSyncServiceSQLite
package import TestSupport

/// A place for one storage, which can be opened again and again.
package protocol StorageHome: Sendable {
    /// What is kept here.
    var kind: TestedStorage { get }
    /// For files of the storage.
    var folder: TemporaryFolder { get }

    /// Opens the storage.
    func open(_ options: StorageOptions) async throws -> any BucketStorage

    /// A writer that is not bound to a scope.
    ///
    /// Those of one stream share a lease.
    func writer(of stream: ReplicationStreamID, in storage: any BucketStorage) async throws -> any BucketStorageWriter

    /// Gives the leases of all writers back, which must not be used any more.
    func releaseWriters() async

    /// How many rows a table of the storage has.
    func rowCount(_ table: String, in storage: any BucketStorage) async throws -> Int?
}

extension StorageHome {
    /// Opens the storage as services do.
    package func open() async throws -> any BucketStorage { try await open(StorageOptions()) }

    package func releaseWriters() async {}
}

/// What a storage is opened with; each takes what concerns it.
package struct StorageOptions: Sendable {
    /// When SQLite moves operations into segments.
    package var sealing: SealingLimits
    /// The length of SQLite's log, in bytes.
    package var walLimit: Int
    /// Makes the ids of streams and tables.
    package var makeID: @Sendable () -> String

    /// Creates options; a storage that is opened with none is that of a service.
    package init(
        sealing: SealingLimits = SealingLimits(),
        walLimit: Int = WriteAheadLog.limit,
        makeID: @escaping @Sendable () -> String = { RandomID.make() }
    ) {
        self.sealing = sealing
        self.walLimit = walLimit
        self.makeID = makeID
    }
}

/// A storage that its home has not opened, or that does not have what is asked for.
package struct UnknownStorage: Error {
    /// Says so.
    package init() {}
}

/// A storage whose newest checkpoint tests can see.
package protocol ObservedStorage: BucketStorage {
    /// What tells of checkpoints.
    var feed: CheckpointFeed { get }
}

extension BucketStorage {
    /// What tells of checkpoints.
    package var feed: CheckpointFeed {
        guard let storage = self as? any ObservedStorage else {
            preconditionFailure("\(type(of: self)) is not an ObservedStorage")
        }
        return storage.feed
    }
}

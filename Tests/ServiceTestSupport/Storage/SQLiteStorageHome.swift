package import GRDB
package import PowerSyncServiceCore
package import PowerSyncServiceSQLite
package import TestSupport

/// A place for a storage in SQLite.
package struct SQLiteStorageHome: StorageHome {
    package let kind: TestedStorage
    package let folder: TemporaryFolder
    private let sealing: SealingLimits?

    /// Creates a place.
    ///
    /// - Parameters:
    ///   - kind: What is kept here.
    ///   - folder: Where the file is; a new folder by default.
    ///   - sealing: When operations are moved into segments, whatever the storage is opened with.
    /// - Throws: When the folder cannot be made.
    package init(_ kind: TestedStorage, in folder: TemporaryFolder? = nil, sealing: SealingLimits? = nil) throws {
        self.kind = kind
        self.folder = try folder ?? TemporaryFolder()
        self.sealing = sealing
    }

    package func open(_ options: StorageOptions) async throws -> any BucketStorage {
        try SQLiteBucketStorage(
            path: folder.path("buckets.db"),
            sealing: sealing ?? options.sealing,
            walLimit: options.walLimit,
            makeID: options.makeID
        )
    }

    package func writer(
        of stream: ReplicationStreamID,
        in storage: any BucketStorage
    ) async throws -> any BucketStorageWriter {
        guard let storage = storage as? SQLiteBucketStorage else { throw UnknownStorage() }
        return try await storage.writer(of: stream)
    }

    package func rowCount(_ table: String, in storage: any BucketStorage) async throws -> Int? {
        try await storage.pool.read { db in try Int.fetchOne(db, sql: "SELECT count(*) FROM \(table)") }
    }
}

extension SQLiteBucketStorage: ObservedStorage {}

extension BucketStorage {
    /// A storage in SQLite as what it is.
    private var sqlite: SQLiteBucketStorage {
        guard let storage = self as? SQLiteBucketStorage else { preconditionFailure("\(type(of: self)) has no file") }
        return storage
    }

    /// Connections to the file of a storage in SQLite.
    package var pool: DatabasePool { sqlite.pool }

    /// The log of a storage in SQLite.
    package var log: WriteAheadLog { sqlite.log }
}

extension SealingLimits {
    /// Segments of any number of operations, some of which are swept.
    package static var eager: SealingLimits {
        var limits = SealingLimits()
        limits.minimum = 1
        limits.segmentBytes = 250
        limits.unswept = 10
        return limits
    }
}

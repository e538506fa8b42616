import Foundation
import GRDB
import PowerSyncSQLite
package import PowerSyncServiceCore

/// The maintenance of a ``SQLiteBucketStorage``.
package struct SQLiteStorageMaintenance: StorageMaintenance {
    /// The file, and what makes its tables.
    var schema: SQLiteStorageSchema

    package var place: String { schema.path }

    /// Creates the maintenance of a file, which does not have to exist.
    package init(path: String) {
        schema = SQLiteStorageSchema(path: path)
    }

    // MARK: Looking

    package func version() async throws -> StorageVersion {
        try storedVersion()
    }

    /// As ``version()``.
    func storedVersion() throws -> StorageVersion {
        try read { db in try schema.version(db) } ?? schema.version(found: nil)
    }

    package func sourceHandles() async throws -> Set<String> {
        let names = try read { db in
            guard let streams = try SQLiteStorageSchema.streamTable(db) else {
                // Also asked before everything is deleted: tables of another program are refused.
                _ = try schema.version(db)
                return Set<String>()
            }
            return try Set(
                String.fetchAll(db, sql: "SELECT \(streams.handle) FROM \(streams.name) WHERE state <> 'TERMINATED'")
            )
        }
        return names ?? []
    }

    package func checkOpening(migrates: Bool) async throws {
        let folder = URL(filePath: place).deletingLastPathComponent().path(percentEncoded: false)
        // The folder may still have to be made; then there is nothing in it.
        guard FileManager.default.fileExists(atPath: folder) else {
            if !migrates { try storedVersion().checkUse(place, migrates: false) }
            return
        }
        guard unsafe access(folder, W_OK) == 0 else {
            throw BucketStorageError.cannotOpen(place, POSIXError(POSIXErrorCode(rawValue: errno) ?? .EACCES))
        }
        // A lock that was never taken has no file; looking must not make one.
        if FileManager.default.fileExists(atPath: lockPath) { try withLock {} }
        try storedVersion().checkUse(place, migrates: migrates)
    }

    /// Reads the file; `nil` when there is none.
    private func read<Result>(_ body: (Database) throws -> Result) throws -> Result? {
        guard FileManager.default.fileExists(atPath: place) else { return nil }
        do {
            do {
                return try read(readonly: true, body)
            } catch let error as DatabaseError where error.resultCode == .SQLITE_READONLY {
                // Its last writer was killed in the middle of a transaction: only a connection that may write can roll that back.
                return try read(readonly: false, body)
            }
        } catch let error as DatabaseError {
            throw BucketStorageError.cannotOpen(place, error)
        }
    }

    private func read<Result>(readonly: Bool, _ body: (Database) throws -> Result) throws -> Result {
        var configuration = Configuration()
        configuration.readonly = readonly
        configuration.busyMode = .timeout(5)
        let queue = try DatabaseQueue(path: place, configuration: configuration)
        defer { try? queue.close() }
        return try queue.read(body)  // blocks: for commands and the start
    }

    // MARK: Changing

    package func migrate() async throws {
        try await BlockingWork.run { [self] in
            try withLock {
                // Before the file is opened for writing: one that is refused is not changed.
                try storedVersion().checkUse(place, migrates: true)
                PrivateFiles.createFile(at: place)
                do {
                    let queue = try DatabaseQueue(path: place)
                    defer { try? queue.close() }
                    // As a service opens it: without a log, every commit would wait for the disk.
                    try queue.writeWithoutTransaction { db in try db.execute(sql: "PRAGMA journal_mode = WAL") }
                    try queue.write { db in try schema.migrate(db) }
                } catch let error as DatabaseError {
                    throw BucketStorageError.cannotOpen(place, error)
                }
            }
        }
    }

    package func erase(afterReleasing release: (Set<String>) async throws -> Void) async throws {
        guard FileManager.default.fileExists(atPath: place) else { throw BucketStorageError.missing(place) }
        let lock = try acquireLock()
        defer { lock.release() }
        try await release(try await sourceHandles())
        // Log and journal first: what is in them must not be found beside another file of the name. The lock stays: it is held by
        // its file.
        for suffix in ["-wal", "-shm", "-journal", ""] where FileManager.default.fileExists(atPath: place + suffix) {
            do {
                try FileManager.default.removeItem(atPath: place + suffix)
            } catch {
                throw BucketStorageError(
                    .cannotOpen,
                    "\(place)\(suffix) cannot be deleted; check that its folder may be written",
                    underlyingError: error
                )
            }
        }
    }

    // MARK: Locking

    private var lockPath: String { SQLiteBucketStorage.lockPath(of: place) }

    private func withLock(_ body: () throws -> Void) throws {
        let lock = try acquireLock()
        defer { lock.release() }
        try body()
    }

    private func acquireLock() throws -> FileLock {
        do {
            guard let lock = try FileLock.acquire(path: lockPath) else { throw BucketStorageError.inUse(place) }
            return lock
        } catch let error as POSIXError {
            throw BucketStorageError.cannotOpen(place, error)
        }
    }
}

extension StorageVersion {
    /// Refuses a storage of a newer service, and one that would have to be migrated by a service that may not.
    ///
    /// - Throws: ``BucketStorageError`` that says what to run.
    func checkUse(_ path: String, migrates: Bool) throws {
        if let found, found > current { throw BucketStorageError.ofNewerService(path, self) }
        guard migrates || isCurrent else { throw BucketStorageError.needsMigration(path, self) }
    }
}

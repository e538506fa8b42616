package import Foundation
package import GRDB
import NIOConcurrencyHelpers
import PowerSyncProtocol
import PowerSyncSyncConfig
import PowerSyncSQLite
package import PowerSyncServiceCore

/// Bucket storage in one SQLite file (docs/service.md "Bucket storage").
///
/// One process owns the file. Writes go through GRDB's serial writer; reads use snapshots of the pool, each for the
/// duration of one call. The layout is documented in `SQLiteStorageSchema`.
package final class SQLiteBucketStorage: FileBacked {
    /// What a process does with the file.
    package enum Use: Sendable {
        /// It runs the service: no other process may.
        case service
        /// It compacts, while another process may run the service.
        case maintenance
    }

    /// Held while the file is open: operations and checkpoints have one writer.
    private let lock: FileLock?
    /// Connections to the file.
    package let pool: DatabasePool
    /// The newest checkpoint of the active stream.
    ///
    /// Set after the commit that makes it.
    package let feed: CheckpointFeed
    /// When tails become segments.
    let sealingLimits: SealingLimits
    /// What ``seal()`` has done.
    let sealingProgress = NIOLockedValueBox(SealingProgress())
    /// The file and those beside it.
    let files: DatabaseFiles
    /// What keeps the WAL from growing.
    package let log: WriteAheadLog
    /// Waits for the disk.
    private let disk: DiskBarrier
    /// The streams that have a writer.
    let leases = NIOLockedValueBox<Set<ReplicationStreamID>>([])
    /// What the handles of streams begin with, if nobody says otherwise.
    package static let defaultHandlePrefix = "powersync_"

    /// What the handles of streams begin with.
    let handlePrefix: String
    /// Makes ids of source tables and handles of streams.
    let makeID: @Sendable () -> String
    /// Tells the time for diagnostics.
    let now: @Sendable () -> Date

    /// What streams run, read once.
    package let configs: StreamConfigs

    /// Opens the file, and creates it when it does not exist.
    ///
    /// - Parameters:
    ///   - path: The file. Its folder must exist.
    ///   - use: What for. For maintenance, the file must exist, and be of the current version.
    ///   - migrates: Whether a service makes the file, or brings it to the current version; otherwise it refuses to start.
    ///   - sealing: When tails become segments.
    ///   - handlePrefix: What the handles of streams begin with.
    ///   - defaultSchema: The schema of tables that a plan names without one: that of the source.
    ///   - walLimit: The bytes of the WAL after which readers are waited for.
    ///   - now: Tells the time for diagnostics.
    ///   - makeID: Makes random ids of 16 characters, different at every call.
    /// - Throws: ``BucketStorageError`` that names the file when it cannot be opened, or was written by a newer
    ///   version or an earlier build.
    package init(
        path: String,
        use: Use = .service,
        migrates: Bool = true,
        sealing: SealingLimits = SealingLimits(),
        handlePrefix: String = SQLiteBucketStorage.defaultHandlePrefix,
        defaultSchema: String = "main",
        walLimit: Int = WriteAheadLog.limit,
        now: @escaping @Sendable () -> Date = { Date() },
        makeID: @escaping @Sendable () -> String = { RandomID.make() }
    ) throws {
        self.now = now
        self.makeID = makeID
        sealingLimits = sealing
        self.handlePrefix = handlePrefix
        configs = StreamConfigs(defaultSchema: defaultSchema)
        do {
            switch use {
            case .service:
                guard let lock = try FileLock.acquire(path: Self.lockPath(of: path)) else {
                    throw BucketStorageError.inUse(path)
                }
                self.lock = lock
                do throws(FileProblem) {
                    try LeftoverLog(beside: path).checkThatItBelongsToTheDatabase()
                } catch {
                    throw BucketStorageError.isMixture(error)
                }
                // Before the pool, which writes when it is opened.
                try SQLiteStorageMaintenance(path: path).storedVersion().checkUse(path, migrates: migrates)
                PrivateFiles.createFile(at: path)
                pool = try DatabasePool(path: path, configuration: Self.configuration)
                // What a process has committed that was killed then is published below.
                try pool.writeWithoutTransaction { db in
                    try db.transactionOnDisk { db in try SQLiteStorageSchema(path: path).migrate(db) }
                }
                log = try WriteAheadLog(of: path, limit: walLimit)
            case .maintenance:
                lock = nil
                guard FileManager.default.fileExists(atPath: path) else {
                    throw BucketStorageError.missing(path)
                }
                // Before the pool, which writes when it is opened.
                try SQLiteStorageMaintenance(path: path).storedVersion().checkUse(path, migrates: true)
                pool = try DatabasePool(path: path, configuration: Self.configuration)
                try pool.read { db in try SQLiteStorageSchema(path: path).check(db) }
                log = try WriteAheadLog(of: path, limit: walLimit)
            }
        } catch let error as DatabaseError {
            throw BucketStorageError.cannotOpen(path, error)
        } catch let error as POSIXError {
            throw BucketStorageError.cannotOpen(path, error)
        }
        files = try DatabaseFiles(of: pool)
        disk = DiskBarrier(pool)
        feed = CheckpointFeed(try pool.read { db in try SQLiteStreamTables(db).served()?.checkpoint })
    }

    package func size() async throws -> Int64 {
        try await BlockingWork.run { [path = pool.path] in
            ["", "-wal", "-shm"].reduce(Int64(0)) { size, suffix in
                let attributes = try? FileManager.default.attributesOfItem(atPath: path + suffix)
                return size + ((attributes?[.size] as? NSNumber)?.int64Value ?? 0)
            }
        }
    }

    package func close() throws {
        defer { lock?.release() }
        try log.finish()
        try pool.close()
    }

    /// The file whose lock keeps other processes away.
    static func lockPath(of path: String) -> String { path + ".lock" }

    private static var configuration: Configuration {
        var configuration = Configuration()
        configuration.label = "powersync.buckets"
        configuration.foreignKeysEnabled = false
        configuration.busyMode = .timeout(5)
        configuration.maximumReaderCount = 10
        configuration.prepareDatabase { db in
            try db.execute(sql: "PRAGMA synchronous = NORMAL")
            try db.execute(sql: "PRAGMA wal_autocheckpoint = \(WriteAheadLog.automaticPages)")
            // So that the length of the file tells how much is in it.
            try db.execute(sql: "PRAGMA journal_size_limit = 4194304")
            // In KiB. Readers touch few pages; the writer's inserts are spread over all buckets.
            try db.execute(sql: "PRAGMA cache_size = \(db.configuration.readonly ? -4_000 : -50_000)")
        }
        return configuration
    }

    /// Reads in one state of the file.
    func read<Result: Sendable>(
        _ value: @escaping @Sendable (Database) throws -> Result
    ) async throws -> Result {
        try await namingDamage { try await pool.uncancelledRead(value) }
    }

    /// Damage is an error that names the file.
    func namingDamage<Result>(_ body: () async throws -> Result) async throws -> Result {
        do {
            return try await body()
        } catch let error as DatabaseError where [.SQLITE_CORRUPT, .SQLITE_NOTADB].contains(error.resultCode) {
            throw BucketStorageError.damaged(pool.path, error)
        }
    }

    /// Waits until the disk has everything that was committed before the call: a power failure does not take it back.
    ///
    /// - Throws: `FileProblem` when the disk has it in a file that is not the storage any more; an error of the database.
    func waitForDisk() async throws {
        try await namingDamage { try await disk.wait() }
        try checkFiles()
    }

    package func checkFiles() throws(FileProblem) { try files.check() }

    /// Writes a few rows in a transaction.
    func writeBriefly<Result: Sendable>(
        _ updates: @escaping @Sendable (Database) throws -> Result
    ) async throws -> Result {
        try await namingDamage { try await pool.uncancelledWrite(updates) }
    }

    /// Writes in a transaction, and then keeps the WAL short.
    ///
    /// - Parameters:
    ///   - onDisk: Whether the disk has everything at the end of the transaction: a power failure does not take it back.
    ///   - updates: Writes.
    /// - Returns: The result of `updates`.
    /// - Throws: An error of the database; what `updates` throws.
    func write<Result: Sendable>(
        onDisk: Bool = false,
        _ updates: @escaping @Sendable (Database) throws -> Result
    ) async throws -> Result {
        let result =
            onDisk
            ? try await namingDamage {
                try await pool.uncancelledWriteWithoutTransaction { db in try db.transactionOnDisk(updates) }
            }
            : try await writeBriefly(updates)
        log.copyIfLong()
        if log.isTooLong {
            try await log.waitForCopy()
            try await pool.uncancelledWriteWithoutTransaction { [log] db in try log.restart(db) }
        }
        return result
    }
}

extension OpID {
    /// The last op id that was given out.
    static func last(_ db: Database) throws -> OpID {
        OpID(try Int64.fetchOne(db, sql: "SELECT last_op_id FROM op_sequence WHERE id = 1") ?? 0)
    }
}

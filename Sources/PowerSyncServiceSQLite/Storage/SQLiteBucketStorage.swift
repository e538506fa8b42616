package import Foundation
import GRDB
import NIOConcurrencyHelpers
import PowerSyncProtocol
import PowerSyncRules
import PowerSyncServiceCore

/// Bucket storage in one SQLite file (docs/service.md "Bucket storage").
///
/// One process owns the file. Writes go through GRDB's serial writer; reads use snapshots of the pool, each for the
/// duration of one call. The layout is documented in `SQLiteStorageSchema`.
package final class SQLiteBucketStorage: BucketStorage {
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
    let pool: DatabasePool
    /// The newest checkpoint of the active stream.
    ///
    /// Set after the commit that makes it.
    let feed: CheckpointFeed
    /// Results of ``changes(from:to:)`` that other sessions are going to ask for.
    let recentChanges = NIOLockedValueBox<[OpRange: CheckpointChanges]>([:])
    /// When tails become segments.
    let sealingLimits: SealingLimits
    /// What ``seal()`` has done.
    let sealingProgress = NIOLockedValueBox(SealingProgress())
    /// What keeps the WAL from growing.
    let log: WriteAheadLog
    /// The streams that have a writer.
    let leases = NIOLockedValueBox<Set<ReplicationStreamID>>([])
    /// What the names of slots begin with, if nobody says otherwise.
    package static let defaultSlotPrefix = "powersync_"

    /// What the names of slots begin with.
    let slotPrefix: String
    /// The schema of tables that a plan names without one.
    private let defaultSchema: String
    /// Makes ids of source tables and names of slots.
    let makeID: @Sendable () -> String
    /// Tells the time for diagnostics.
    let now: @Sendable () -> Date

    /// Plans of streams, decoded once.
    private let plans = NIOLockedValueBox<[ReplicationStreamID: SyncPlan]>([:])

    /// Opens the file, and creates it when it does not exist.
    ///
    /// - Parameters:
    ///   - path: The file. Its folder must exist.
    ///   - use: What for. For maintenance, the file must exist, and be of the current version.
    ///   - sealing: When tails become segments.
    ///   - slotPrefix: What the names of slots begin with.
    ///   - defaultSchema: The schema of tables that a plan names without one: that of the source.
    ///   - walLimit: The bytes of the WAL after which readers are waited for.
    ///   - now: Tells the time for diagnostics.
    ///   - makeID: Makes random ids of 16 characters, different at every call.
    /// - Throws: ``BucketStorageError`` that names the file when it cannot be opened, or was written by a newer
    ///   version.
    package init(
        path: String,
        use: Use = .service,
        sealing: SealingLimits = SealingLimits(),
        slotPrefix: String = SQLiteBucketStorage.defaultSlotPrefix,
        defaultSchema: String = "main",
        walLimit: Int = WriteAheadLog.limit,
        now: @escaping @Sendable () -> Date = { Date() },
        makeID: @escaping @Sendable () -> String = { SQLiteBucketStorage.randomID() }
    ) throws {
        self.now = now
        self.makeID = makeID
        sealingLimits = sealing
        self.slotPrefix = slotPrefix
        self.defaultSchema = defaultSchema
        do {
            switch use {
            case .service:
                guard let lock = try FileLock.acquire(path: path + ".lock") else {
                    throw BucketStorageError(
                        .inUse,
                        """
                        [PSYNC_S1003] The bucket storage at \(path) is used by another process. \
                        Stop it, or use another file.
                        """
                    )
                }
                self.lock = lock
                pool = try DatabasePool(path: path, configuration: Self.configuration)
                try pool.write { db in try SQLiteStorageSchema.migrate(db) }
                log = try WriteAheadLog(of: path, limit: walLimit)
            case .maintenance:
                lock = nil
                guard FileManager.default.fileExists(atPath: path) else {
                    throw BucketStorageError(.cannotOpen, "There is no bucket storage at \(path).")
                }
                pool = try DatabasePool(path: path, configuration: Self.configuration)
                try pool.read { db in try SQLiteStorageSchema.check(db) }
                log = try WriteAheadLog(of: path, limit: walLimit)
            }
        } catch let error as DatabaseError {
            throw BucketStorageError(
                .cannotOpen,
                "The bucket storage at \(path) cannot be opened: \(error.message ?? "unknown error").",
                underlyingError: error
            )
        } catch let error as POSIXError {
            throw BucketStorageError(
                .cannotOpen,
                "The bucket storage at \(path) cannot be opened: \(String(cString: strerror(error.code.rawValue))).",
                underlyingError: error
            )
        }
        feed = CheckpointFeed(try pool.read { db in try StreamRecord.served(db)?.checkpoint })
    }

    package func close() throws {
        defer { lock?.release() }
        try log.finish()
        try pool.close()
    }

    /// 16 random hexadecimal digits.
    package static func randomID() -> String {
        let digits = String(UInt64.random(in: .min ... .max), radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }

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

    /// Writes in a transaction, and then keeps the WAL short.
    func write<Result: Sendable>(
        _ updates: @escaping @Sendable (Database) throws -> Result
    ) async throws -> Result {
        let result = try await pool.write(updates)
        log.copyIfLong()
        if log.isTooLong {
            try await log.waitForCopy()
            try await pool.writeWithoutTransaction { [log] db in try log.restart(db) }
        }
        return result
    }

    /// The plan of a stream, decoded when it is first asked for.
    func plan(of record: StreamRecord) throws -> SyncPlan {
        if let plan = plans.withLockedValue({ $0[record.id] }) { return plan }
        var plan = try SyncPlan(encodedJSON: record.plan)
        plan.defaultSchema = defaultSchema
        plans.withLockedValue { $0[record.id] = plan }
        return plan
    }

    /// Forgets what is kept in memory of a stream.
    func forget(_ stream: ReplicationStreamID) {
        plans.withLockedValue { _ = $0.removeValue(forKey: stream) }
    }
}

extension OpID {
    /// The last op id that was given out.
    static func last(_ db: Database) throws -> OpID {
        OpID(try Int64.fetchOne(db, sql: "SELECT last_op_id FROM op_sequence WHERE id = 1") ?? 0)
    }
}

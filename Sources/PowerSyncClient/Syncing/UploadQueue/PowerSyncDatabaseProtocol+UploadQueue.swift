public import Foundation
import GRDB
import PowerSyncCore
import PowerSyncProtocol

extension PowerSyncDatabaseProtocol {
    /// The oldest writes of the upload queue, across transactions, 100 at most.
    ///
    /// - Returns: `nil` when the queue is empty.
    /// - Throws: ``PowerSyncError``.
    public func getCrudBatch() async throws -> CrudBatch? {
        try await getCrudBatch(limit: 100)
    }

    /// The oldest writes of the upload queue, across transactions.
    ///
    /// - Parameter limit: The most writes, at least 1.
    /// - Returns: `nil` when the queue is empty.
    /// - Throws: ``PowerSyncError``, also for a limit below 1.
    public func getCrudBatch(limit: Int32) async throws -> CrudBatch? {
        let batch = try await readFromEngine { db in
            try UploadQueue.batch(db, limit: Int(limit))
        }
        guard let batch, !batch.writes.isEmpty else { return nil }
        let kinds = ColumnKinds(of: self)
        return CrudBatch(
            hasMore: batch.hasMore,
            crud: batch.writes.map { CrudEntry($0, kinds) },
            database: self
        )
    }

    /// The oldest transaction of the upload queue.
    ///
    /// - Returns: `nil` when the queue is empty.
    public func getNextCrudTransaction() async throws -> CrudTransaction? {
        var transactions = getCrudTransactions().makeAsyncIterator()
        return try await transactions.next()
    }

    /// The transactions of the upload queue, the oldest first.
    ///
    /// - Returns: A sequence that reads one transaction at a time; iterating it throws ``PowerSyncError``.
    public func getCrudTransactions() -> CrudTransactions {
        CrudTransactions(database: self)
    }

    /// How many writes wait for their upload.
    ///
    /// - Returns: The number of writes, without their size.
    /// - Throws: ``PowerSyncError``.
    public func getUploadQueueStats() async throws -> UploadQueueStats {
        try await getUploadQueueStats(includeSize: false)
    }

    /// How many writes wait for their upload, and how large they are.
    ///
    /// - Parameter includeSize: Whether the size is added up, which reads the whole queue.
    /// - Returns: The number of writes, and their size in bytes if it was asked for.
    /// - Throws: ``PowerSyncError``.
    public func getUploadQueueStats(includeSize: Bool) async throws -> UploadQueueStats {
        try await readFromEngine { db in
            UploadQueueStats(
                count: try UploadQueue.count(db),
                sizeInBytes: includeSize ? try UploadQueue.size(db) : nil
            )
        }
    }

    /// Watches how much waits for its upload.
    ///
    /// The first element comes at once, the next ones when the number has changed. The stream finishes when the database
    /// is closed.
    ///
    /// - Parameter throttle: The least time between two elements, in seconds.
    /// - Returns: The number of writes, without their size.
    /// - Throws: What ``Queries/watch(options:)`` throws.
    public func watchUploadQueue(
        throttle: TimeInterval = DEFAULT_WATCH_THROTTLE
    ) throws -> AsyncThrowingStream<UploadQueueStats, any Error> {
        let counts = WatchOptions(sql: UploadQueue.countSQL, throttle: throttle) { cursor in
            UploadQueueStats(count: try cursor.getInt(index: 0), sizeInBytes: nil)
        }
        return try watchDistinct(options: counts).scan(()) { _, rows in rows.first }
    }

    /// Reads from the database in one transaction.
    ///
    /// Without a database of ours behind it, a database of the app goes through ``Queries/readLock(callback:)``.
    func readFromEngine<T: Sendable>(_ body: @escaping @Sendable (Database) throws -> T) async throws -> T {
        if let own = SyncedDatabase.behind(self) {
            return try await own.local.readTransaction(body)
        }
        return try await readTransaction { transaction in
            let db = try LocalConnection.database(of: transaction)
            return try PowerSyncError.wrappingErrors { try body(db) }
        }
    }

    /// Writes to the database in one transaction.
    ///
    /// Without a database of ours behind it, a database of the app goes through ``Queries/writeLock(callback:)``.
    func writeToEngine(_ body: @escaping @Sendable (Database) throws -> Void) async throws {
        if let own = SyncedDatabase.behind(self) {
            return try await own.local.write(body)
        }
        try await writeTransaction { transaction in
            let db = try LocalConnection.database(of: transaction)
            try PowerSyncError.wrappingErrors { try body(db) }
        }
    }

    /// Removes writes that were uploaded, and all before them, from the queue, keeps those that were rejected aside, and moves the write
    /// gate, in one transaction.
    ///
    /// - Parameters:
    ///   - entries: The writes, oldest first; at least one.
    ///   - rejections: Those of them that are kept aside.
    ///   - text: A write checkpoint of the app's own backend.
    /// - Throws: ``PowerSyncError``; with the code ``PowerSyncErrorCode/cleared`` when `disconnectAndClear` has removed the writes.
    func completeUpload(
        of entries: [CrudEntry],
        rejecting rejections: [UploadRejection] = [],
        writeCheckpoint text: String?
    ) async throws {
        guard let lastID = entries.last?.clientId else { return }
        let ids = rejections.isEmpty ? [] : Set(entries.map(\.clientId))
        guard rejections.allSatisfy({ ids.contains($0.entry.clientId) }) else {
            throw PowerSyncError.rejectionOfOthers
        }
        let writeCheckpoint = try text.map { try WriteCheckpoint(ofApp: $0) }
        // The writes have been uploaded, so this happens even if the session is being stopped: otherwise they would be
        // uploaded again.
        let sync = SyncedDatabase.behind(self)?.sync
        let now = SyncInstant(sync?.environment.now() ?? Date())
        try await Task.ignoringCancellation { [file = sync?.file] in
            try await writeToEngine { db in
                if let file, file.isCleared(entry: lastID) { throw PowerSyncError.writesWereCleared }
                for rejection in rejections {
                    try RejectedWrites.record(db, rejection.entry.clientId, reason: rejection.reason, at: now)
                }
                try UploadQueue.complete(db, through: lastID, writeCheckpoint: writeCheckpoint)
            }
        }
    }
}

extension WriteCheckpoint {
    /// A write checkpoint that an app gives as text.
    ///
    /// - Throws: ``PowerSyncError`` when it is none.
    init(ofApp text: String) throws {
        guard let checkpoint = WriteCheckpoint(decimal: text) else { throw PowerSyncError.notWriteCheckpoint(text) }
        self = checkpoint
    }
}

/// How much waits for its upload.
public struct UploadQueueStats: Sendable, Equatable {
    /// The number of writes.
    public let count: Int
    /// The sum over the writes of the bytes of their JSON text plus 20; `nil` unless asked for.
    public let sizeInBytes: Int64?
}

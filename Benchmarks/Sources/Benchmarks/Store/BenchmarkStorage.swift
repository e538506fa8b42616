import Foundation
import Logging
import PowerSyncProtocol
import PowerSyncSyncConfig
import PowerSyncServiceCore
import PowerSyncServiceSQLite

/// A bucket storage in a temporary folder, with an active stream.
struct BenchmarkStorage {
    private let folder: TemporaryFolder
    private let open: SQLiteBucketStorage
    let stream: ReplicationStreamID
    /// The rows stored so far.
    private(set) var rows = 0
    private var position = 0

    /// The most rows of one transaction.
    static let batch = 2_000

    init() async throws {
        folder = try TemporaryFolder()
        open = try SQLiteBucketStorage(path: folder.path)
        guard let plan = SyncConfig.parse(StoreWorkload.config).plan else { preconditionFailure("the config is wrong") }
        stream = try await open.deploy(StoreWorkload.config, plan: plan).id
        try await open.withWriter(of: stream) { writer in
            try await writer.setResumePosition(SourcePosition(Self.lsn(0), of: SourceHistory(rawValue: "bench")))
            try await writer.markSnapshotDone(noCheckpointBefore: Self.lsn(0))
        }
    }

    var storage: any BucketStorage { open }

    private static func lsn(_ number: Int) -> LSN {
        let digits = String(number)
        return LSN(String(repeating: "0", count: 16 - digits.count) + digits)
    }

    /// Stores new rows, and publishes each transaction.
    ///
    /// - Returns: The time in the storage, without that for making the rows.
    mutating func insert(_ count: Int) async throws -> Duration {
        let first = rows
        rows += count
        return try await writeBesideSealing(stride(from: first, to: first + count, by: Self.batch)) { start in
            (start..<min(start + Self.batch, first + count)).map { .insert(StoreWorkload.row($0)) }
        }
    }

    /// Updates rows that are stored, at random.
    ///
    /// - Parameters:
    ///   - count: How many.
    ///   - isChange: Whether they become others; if not, as with a column that no stream reads, all must be as they were inserted.
    /// - Returns: The time in the storage, without that for making the rows.
    /// - Throws: An error of the storage.
    mutating func update(_ count: Int, isChange: Bool) async throws -> Duration {
        var random = SplitMix64(seed: UInt64(rows))
        let rows = rows
        return try await writeBesideSealing(stride(from: 0, to: count, by: Self.batch)) { _ in
            (0..<Self.batch).map { _ in
                let number = Int.random(in: 0..<rows, using: &random)
                return .update(StoreWorkload.row(number, version: isChange ? random.next() >> 40 : 0))
            }
        }
    }

    /// Writes while the storage is kept in shape, as in a service.
    private mutating func writeBesideSealing(
        _ batches: StrideTo<Int>,
        _ changes: @escaping (Int) -> [SourceChange]
    ) async throws -> Duration {
        let job = CompactionJob(storage: open, logger: Logger(label: "bench") { _ in SwiftLogNoOpLogHandler() })
        let keeping = Task { try await job.run() }
        let time = try await write(batches, changes)
        keeping.cancel()
        try? await keeping.value
        return time
    }

    /// Seals what is left, as the service does when nothing is written.
    ///
    /// - Returns: The time.
    func seal() async throws -> Duration {
        let start = ContinuousClock.now
        try await open.seal()
        return ContinuousClock.now - start
    }

    private mutating func write(
        _ batches: StrideTo<Int>,
        _ changes: @escaping (Int) -> [SourceChange]
    ) async throws -> Duration {
        var position = position
        defer { self.position = position }
        var time = Duration.zero
        return try await open.withWriter(of: stream) { writer in
            let table = try await writer.resolveTable(StoreWorkload.table).table
            for batch in batches {
                let changes = changes(batch)
                let start = ContinuousClock.now
                _ = try await writer.save(changes, of: table, mode: .stream)
                position += 1
                _ = try await writer.commit(Self.lsn(position), createsEmptyCheckpoints: true)
                time += ContinuousClock.now - start
            }
            return time
        }
    }

    /// The checkpoint that is published.
    func checkpoint() async throws -> StorageCheckpoint {
        guard let stream = try await open.activeStream() else { preconditionFailure("no stream is active") }
        var checkpoints = open.checkpoints(of: stream).makeAsyncIterator()
        guard let checkpoint = try await checkpoints.next() else { preconditionFailure("no checkpoint is published") }
        return checkpoint
    }

    /// The bytes of the database, of the pages in it that hold something, and of its WAL.
    func bytes() throws -> (database: Int, used: Int, wal: Int) {
        func size(_ path: String) -> Int {
            let attributes = try? FileManager.default.attributesOfItem(atPath: path)
            return (attributes?[.size] as? NSNumber)?.intValue ?? 0
        }
        let database = size(folder.path)
        var free = 0
        let plain = try PlainDatabase(path: folder.path)
        let pages = try plain.prepare("SELECT freelist_count * page_size FROM pragma_freelist_count, pragma_page_size")
        try withExtendedLifetime(plain) {
            try pages.run { free = Int($0.integer(at: 0)) }
        }
        return (database, database - free, size(folder.path + "-wal"))
    }

    /// Opens the file again, as after the end of the process.
    ///
    /// - Returns: The time until a checkpoint can be served.
    func reopen() async throws -> (storage: BenchmarkStorage, time: Duration) {
        try open.close()
        let start = ContinuousClock.now
        let again = try BenchmarkStorage(reopening: self)
        _ = try await again.checkpoint()
        return (again, ContinuousClock.now - start)
    }

    private init(reopening other: BenchmarkStorage) throws {
        folder = other.folder
        open = try SQLiteBucketStorage(path: other.folder.path)
        stream = other.stream
        rows = other.rows
        position = other.position
    }

    func close() throws {
        try open.close()
    }
}

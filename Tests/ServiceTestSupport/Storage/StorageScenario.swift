import GRDB
import NIOCore
import PowerSyncProtocol
import PowerSyncSyncConfig
import ServiceTestSupport
import TestSupport
import Testing

@testable import PowerSyncServiceCore
@testable import PowerSyncServiceSQLite

/// A bucket storage of its own, with one stream and its writer.
struct StorageScenario {
    let home: StorageHome
    private(set) var storage: any BucketStorage
    private(set) var stream: ReplicationStream
    var writer: any BucketStorageWriter
    /// The position of the last commit.
    private(set) var position: Int64 = 0
    private let sealing: SealingLimits

    /// Deploys a config.
    ///
    /// Unless told otherwise, its (empty) snapshot is done and the stream is active.
    init(
        _ yaml: String,
        on kind: TestedStorage = .sqlite,
        isActive: Bool = true,
        sealing: SealingLimits = SealingLimits(),
        walLimit: Int = WriteAheadLog.limit
    ) async throws {
        self.sealing = sealing
        home = try StorageHome(kind)
        storage = try await home.open(sealing: sealing, walLimit: walLimit)
        stream = try await storage.deploy(yaml, plan: try plan(yaml))
        writer = try await home.writer(of: stream.id, in: storage)
        try await writer.setResumePosition(.at(0))
        if isActive {
            try await writer.markSnapshotDone(noCheckpointBefore: .at(0))
            try await commit()
        }
    }

    /// The folder of a storage in SQLite.
    var folder: TemporaryFolder { home.folder }

    /// A writer for another stream.
    func writer(of stream: ReplicationStreamID) async throws -> any BucketStorageWriter {
        try await home.writer(of: stream, in: storage)
    }

    /// Closes and opens the storage, as after the end of a process.
    ///
    /// What was saved but not flushed is lost.
    mutating func reopen() async throws {
        try await reopenStorage()
        stream = try #require(try await storage.streams().last { $0.state.isReplicated })
        writer = try await home.writer(of: stream.id, in: storage)
    }

    /// Closes and opens the storage, and nothing more.
    @discardableResult
    mutating func reopenStorage() async throws -> any BucketStorage {
        await home.releaseWriters()
        try storage.close()
        storage = try await home.open(sealing: sealing)
        return storage
    }

    /// The record of a table with a primary key.
    mutating func table(_ name: String, key: [String] = ["id"], relationID: String? = nil) async throws -> SourceTable {
        let descriptor = SourceTableDescriptor(
            name: SourceTableName(schema: "main", name: name),
            relationID: relationID ?? name,
            identity: key.map { SourceTableDescriptor.IdentityColumn(name: $0, type: "TEXT") }
        )
        return try await writer.resolveTable(descriptor).table
    }

    /// Saves changes; they are neither flushed nor committed.
    @discardableResult
    mutating func save(
        _ changes: SourceChange...,
        of table: SourceTable,
        mode: SaveMode = .stream
    ) async throws -> [RejectedRow] {
        try await writer.save(changes, of: table, mode: mode)
    }

    /// Commits at the next position.
    @discardableResult
    mutating func commit() async throws -> StorageCheckpoint {
        position += 1
        let result = try await writer.commit(.at(position), createsEmptyCheckpoints: true)
        guard case .created(let checkpoint) = result else {
            throw ScenarioError.noCheckpoint(result)
        }
        return checkpoint
    }

    /// The published checkpoint.
    var checkpoint: StorageCheckpoint {
        get throws { try #require(storage.feed.current) }
    }

    /// All operations of a bucket up to a checkpoint.
    func operations(_ bucket: String, at checkpoint: StorageCheckpoint? = nil) async throws -> [ReadOperation] {
        try await storage.allOperations(bucket, of: stream, at: try checkpoint ?? self.checkpoint)
    }

    /// Kind and row id of all operations of a bucket, like `PUT a`.
    func summary(_ bucket: String) async throws -> [String] {
        try await operations(bucket).map { "\($0.kind) \($0.id)" }
    }

    /// The data of the rows that a client has of a bucket.
    func rows(_ bucket: String, at checkpoint: StorageCheckpoint? = nil) async throws -> [String: String] {
        reduce(try await operations(bucket, at: checkpoint))
    }

    /// How many rows a table of the storage has.
    func rowCount(_ table: String) async throws -> Int? {
        if home.kind == .postgres {
            return try home.run("SELECT count(*) FROM \(table)").first?.first.flatMap { $0 }.flatMap { Int($0) }
        }
        return try await storage.pool.read { db in try Int.fetchOne(db, sql: "SELECT count(*) FROM \(table)") }
    }

    /// The outputs that a lookup finds.
    func lookUp(
        _ text: String,
        at checkpoint: StorageCheckpoint? = nil,
        limit: Int = 1000
    ) async throws -> [ParameterRow] {
        let lookup = ParameterLookup(rawValue: text)
        return try await storage.parameterRows([lookup], at: try checkpoint ?? self.checkpoint, limit: limit)[lookup]
            ?? []
    }
}

enum ScenarioError: Error {
    case noCheckpoint(CommitResult)
}

extension LSN {
    /// A position for tests.
    static func at(_ sequence: Int64) -> LSN { EmbeddedPosition(sequence: sequence, token: 0).lsn }
}

extension SourcePosition {
    /// A position of a history for tests.
    static func at(_ sequence: Int64, of history: String = "first") -> SourcePosition {
        SourcePosition(.at(sequence), of: SourceHistory(rawValue: history))
    }
}

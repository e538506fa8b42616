import NIOCore
import PowerSyncProtocol
import PowerSyncRules
import TestSupport
import Testing

@testable import PowerSyncServiceCore
@testable import PowerSyncServiceSQLite

/// A bucket storage in a temporary folder, with one stream and its writer.
struct StorageScenario {
    let folder: TemporaryFolder
    private(set) var storage: SQLiteBucketStorage
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
        isActive: Bool = true,
        sealing: SealingLimits = SealingLimits(),
        walLimit: Int = WriteAheadLog.limit
    ) async throws {
        self.sealing = sealing
        folder = try TemporaryFolder()
        storage = try SQLiteBucketStorage(path: folder.path("buckets.db"), sealing: sealing, walLimit: walLimit)
        stream = try await storage.deploy(yaml, plan: try plan(yaml))
        writer = try await storage.writer(of: stream.id)
        try await writer.setResumePosition(.at(0))
        if isActive {
            try await writer.markSnapshotDone(noCheckpointBefore: .at(0))
            try await commit()
        }
    }

    /// Closes and opens the file, as after the end of a process.
    ///
    /// What was saved but not flushed is lost.
    mutating func reopen() async throws {
        try reopenStorage()
        stream = try #require(try await storage.streams().last { $0.state.isReplicated })
        writer = try await storage.writer(of: stream.id)
    }

    /// Closes and opens the file, and nothing more.
    @discardableResult
    mutating func reopenStorage() throws -> SQLiteBucketStorage {
        try storage.close()
        storage = try SQLiteBucketStorage(path: folder.path("buckets.db"), sealing: sealing)
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

/// An operation with its texts.
struct ReadOperation: Equatable, CustomStringConvertible {
    var opID: OpID
    var kind: String
    var table: String
    var id: String
    var subkey: String
    var data: String?
    var checksum: Checksum

    var description: String { "\(opID) \(kind) \(table)/\(id)/\(subkey) \(data ?? "")" }
}

/// The rows that are left when operations are applied in order, by `table/id/subkey`.
func reduceByIdentity(_ operations: [ReadOperation]) -> [String: ReadOperation] {
    operations.reduce(into: [:]) { rows, operation in
        let identity = "\(operation.table)/\(operation.id)/\(operation.subkey)"
        switch operation.kind {
        case "PUT": rows[identity] = operation
        case "REMOVE": rows[identity] = nil
        case "CLEAR": rows = [:]
        default: break
        }
    }
}

/// The data of the rows that are left, by `table/id`.
func reduce(_ operations: [ReadOperation]) -> [String: String] {
    reduceByIdentity(operations).values.reduce(into: [:]) { $0["\($1.table)/\($1.id)"] = $1.data }
}

/// Compiles a config that is known to be right.
func plan(_ yaml: String) throws -> SyncPlan {
    let result = SyncConfig.parse(yaml)
    return try #require(result.plan, "\(result.diagnostics)")
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

extension BucketStorage {
    /// Reads a bucket to its end, as a session would.
    func allOperations(
        _ bucket: String,
        of stream: ReplicationStream,
        at checkpoint: StorageCheckpoint,
        limits: BucketDataLimits = BucketDataLimits()
    ) async throws -> [ReadOperation] {
        let name = BucketName(stream.bucketPrefix + bucket)
        var operations: [ReadOperation] = []
        var after = OpID.zero
        var hasMore = true
        while hasMore {
            let chunks = try await bucketData([.init(name: name, after: after)], at: checkpoint, limits: limits)
            for chunk in chunks {
                operations += chunk.line.operations.map { ReadOperation($0, in: chunk.line) }
                after = chunk.line.nextAfter ?? after
            }
            hasMore = chunks.last?.line.hasMore ?? false
        }
        return operations
    }
}

extension ReadOperation {
    init(_ operation: SyncOperation, in line: DataLine) {
        opID = operation.opID
        kind = "\(operation.kind)".uppercased()
        table = operation.objectType.map { line.string($0) } ?? ""
        id = operation.objectID.map { line.string($0) } ?? ""
        subkey = operation.subkey.map { line.string($0) } ?? ""
        data = operation.data.map { line.string($0) }
        checksum = operation.checksum
    }
}

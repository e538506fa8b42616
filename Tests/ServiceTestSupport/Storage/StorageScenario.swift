import Testing
package import PowerSyncServiceCore
package import PowerSyncServiceSQLite
package import PowerSyncSyncConfig
package import TestSupport

/// A bucket storage of its own, with one stream and its writer.
package struct StorageScenario {
    package let home: any StorageHome
    package private(set) var storage: any BucketStorage
    package private(set) var stream: ReplicationStream
    package var writer: any BucketStorageWriter
    /// The position of the last commit.
    package private(set) var position: Int64 = 0
    private let sealing: SealingLimits

    /// Deploys a config.
    ///
    /// Unless told otherwise, its (empty) snapshot is done and the stream is active.
    package init(
        _ yaml: String,
        on kind: TestedStorage = .sqlite,
        isActive: Bool = true,
        sealing: SealingLimits = SealingLimits(),
        walLimit: Int = WriteAheadLog.limit
    ) async throws {
        self.sealing = sealing
        home = try kind.home()
        storage = try await home.open(StorageOptions(sealing: sealing, walLimit: walLimit))
        stream = try await storage.deploy(yaml, plan: try plan(yaml))
        writer = try await home.writer(of: stream.id, in: storage)
        try await writer.setResumePosition(.at(0))
        if isActive {
            try await writer.markSnapshotDone(noCheckpointBefore: .at(0))
            try await commit()
        }
    }

    /// The folder of a storage in SQLite.
    package var folder: TemporaryFolder { home.folder }

    /// A writer for another stream.
    package func writer(of stream: ReplicationStreamID) async throws -> any BucketStorageWriter {
        try await home.writer(of: stream, in: storage)
    }

    /// Closes and opens the storage, as after the end of a process.
    ///
    /// What was saved but not flushed is lost.
    package mutating func reopen() async throws {
        try await reopenStorage()
        stream = try #require(try await storage.streams().last { $0.state.isReplicated })
        writer = try await home.writer(of: stream.id, in: storage)
    }

    /// Closes and opens the storage, and nothing more.
    @discardableResult
    package mutating func reopenStorage() async throws -> any BucketStorage {
        await home.releaseWriters()
        try storage.close()
        storage = try await home.open(StorageOptions(sealing: sealing))
        return storage
    }

    /// The record of a table with a primary key.
    package mutating func table(
        _ name: String,
        key: [String] = ["id"],
        relationID: String? = nil
    ) async throws -> SourceTable {
        let descriptor = SourceTableDescriptor(
            name: SourceTableName(schema: "main", name: name),
            relationID: relationID ?? name,
            identity: key.map { SourceTableDescriptor.IdentityColumn(name: $0, type: "TEXT") }
        )
        return try await writer.resolveTable(descriptor).table
    }

    /// Saves changes; they are neither flushed nor committed.
    @discardableResult
    package mutating func save(
        _ changes: SourceChange...,
        of table: SourceTable,
        mode: SaveMode = .stream
    ) async throws -> [RejectedRow] {
        try await writer.save(changes, of: table, mode: mode)
    }

    /// Commits at the next position.
    @discardableResult
    package mutating func commit() async throws -> StorageCheckpoint {
        position += 1
        let result = try await writer.commit(.at(position), createsEmptyCheckpoints: true)
        guard case .created(let checkpoint) = result else {
            throw ScenarioError.noCheckpoint(result)
        }
        return checkpoint
    }

    /// The published checkpoint.
    package var checkpoint: StorageCheckpoint {
        get throws { try #require(storage.feed.current) }
    }

    /// All operations of a bucket up to a checkpoint.
    package func operations(_ bucket: String, at checkpoint: StorageCheckpoint? = nil) async throws -> [ReadOperation] {
        try await storage.allOperations(bucket, of: stream, at: try checkpoint ?? self.checkpoint)
    }

    /// Kind and row id of all operations of a bucket, like `PUT a`.
    package func summary(_ bucket: String) async throws -> [String] {
        try await operations(bucket).map { "\($0.kind) \($0.id)" }
    }

    /// The data of the rows that a client has of a bucket.
    package func rows(_ bucket: String, at checkpoint: StorageCheckpoint? = nil) async throws -> [String: String] {
        reduce(try await operations(bucket, at: checkpoint))
    }

    /// How many rows a table of the storage has.
    package func rowCount(_ table: String) async throws -> Int? {
        try await home.rowCount(table, in: storage)
    }

    /// The outputs that a lookup finds.
    package func lookUp(
        _ text: String,
        at checkpoint: StorageCheckpoint? = nil,
        limit: Int = 1000
    ) async throws -> [ParameterRow] {
        let lookup = ParameterLookup(rawValue: text)
        return try await storage.parameterRows([lookup], at: try checkpoint ?? self.checkpoint, limit: limit)[lookup]
            ?? []
    }
}

package enum ScenarioError: Error {
    case noCheckpoint(CommitResult)
}

extension LSN {
    /// A position for tests.
    package static func at(_ sequence: Int64) -> LSN {
        let digits = String(UInt64(bitPattern: sequence), radix: 16)
        return LSN("\(String(repeating: "0", count: 16 - digits.count))\(digits)-0000000000000000")
    }
}

extension SourcePosition {
    /// A position of a history for tests.
    package static func at(_ sequence: Int64, of history: String = "first") -> SourcePosition {
        SourcePosition(.at(sequence), of: SourceHistory(rawValue: history))
    }
}

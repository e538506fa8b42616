import PowerSyncProtocol
import PowerSyncSyncConfig
import PowerSyncTesting
import ServiceTestSupport
import TestSupport
import Testing

@testable import PowerSyncServiceCore
@testable import PowerSyncServiceSQLite

/// A model of a source, a storage, and what is deployed while a replicator runs.
struct DeploymentScenario: Sendable {
    /// A config whose bucket `rows|0[]` has all rows with some columns.
    static func config(_ columns: String) -> String {
        """
        config: {edition: 3}
        streams:
          rows:
            query: SELECT \(columns) FROM items
        """
    }

    static let first = config("*")
    static let second = config("id, name")
    static let third = config("id, body")

    let home: any StorageHome
    let model = ModelSource()
    let source: HeldSource<ModelSource>
    let storage: any BucketStorage
    let deployer: SyncConfigDeployer
    let log = CollectedLog()
    /// Advances while replication is alive.
    private let progress = ChangeSignal()

    init(_ kind: TestedStorage) async throws {
        home = try kind.home()
        storage = try await home.open()
        source = HeldSource(model)
        deployer = SyncConfigDeployer(storage: storage, logger: log.logger)
        model.alter(.create("items", columns: ["id", "name", "body"]))
        model.write((0..<8).map { .insert("items", id: "r\($0)", ["name": .integer(Int64($0)), "body": "old"]) })
    }

    /// Replicates while `body` runs, as one life of a service.
    func replicating(_ body: @escaping @Sendable () async throws -> Void) async throws {
        let replicator = Replicator(
            storage: storage,
            source: source,
            streamsChanged: deployer.streamsChanged,
            logger: log.logger,
            touch: { progress.advance() }
        )
        try await replicator.whileRunning(body)
    }

    /// Deploys a config whose copy is held from its first page on.
    func deployHeld(_ config: String) async throws -> ReplicationStreamID {
        source.hold()
        let count = source.waitCount
        let deployment = try await deployer.deploy(config)
        #expect(deployment.outcome == .started)
        try await source.copyWaits(after: count)
        return deployment.stream.id
    }

    /// Waits until a stream is active, and has a checkpoint with everything that is committed now.
    @discardableResult
    func settled(_ id: ReplicationStreamID) async throws -> StorageCheckpoint {
        let head = model.content.head
        try await model.emitMarker()
        while true {
            let seen = progress.version
            if let stream = try await storage.activeStream(), stream.id == id {
                for try await checkpoint in storage.checkpoints(of: stream) where checkpoint.lsn >= head.lsn {
                    return checkpoint
                }
                throw ReplicatorEnded()
            }
            try await progress.wait(after: seen)
        }
    }

    /// Waits until the data of a replaced stream is deleted.
    func deleted(_ id: ReplicationStreamID) async throws {
        _ = try await log.line(containing: "A replaced stream has been deleted", "replication_stream=\(id)")
    }

    /// What the streams are.
    func states() async throws -> [ReplicationStream.State] { try await storage.streams().map(\.state) }

    /// What clients have at a checkpoint is what the source had at its position.
    func expectState(at checkpoint: StorageCheckpoint) async throws {
        guard let stream = try await storage.streams().first(where: { $0.id == checkpoint.streamID }) else {
            throw BucketStorageError(.unknownStream, "replaced")
        }
        let rows = try #require(model.rows(of: "items", at: checkpoint.lsn))
        let name = SourceTableName(schema: "main", name: "items")
        let expected = rows.flatMap { stream.plan.evaluate($0, of: name, bucketPrefix: stream.bucketPrefix) }
        let found = try await storage.allOperations("rows|0[]", of: stream, at: checkpoint)
        #expect(reduceByIdentity(found).values.compactMap(\.data).sorted() == expected.map(\.data).sorted())
    }
}

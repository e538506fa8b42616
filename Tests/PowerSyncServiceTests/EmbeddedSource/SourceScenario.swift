import GRDB
import Logging
import PowerSyncProtocol
import PowerSyncSyncConfig
import ServiceTestSupport
import TestSupport
import Testing

@testable import PowerSyncServiceCore
@testable import PowerSyncServiceSQLite

/// An embedded source, a bucket storage and a replicator between them, in a temporary folder.
struct SourceScenario: ReplicationScenario {
    static let lists = "CREATE TABLE lists (id TEXT PRIMARY KEY, owner TEXT, name TEXT)"
    static let listsByOwner = """
        config:
          edition: 3
        streams:
          lists:
            query: SELECT * FROM lists WHERE owner = auth.user_id()
        """
    static let allLists = """
        config:
          edition: 3
        streams:
          all:
            query: SELECT * FROM lists
        """

    let folder: TemporaryFolder
    let source: EmbeddedSource
    let storage: SQLiteBucketStorage
    let config: String
    let log = CollectedLog()
    var logger: Logger { log.logger }

    /// Opens the files of a folder.
    init(
        schema: [String] = [Self.lists],
        config: String = Self.allLists,
        folder: TemporaryFolder? = nil
    ) throws {
        self.folder = try folder ?? TemporaryFolder()
        self.config = config
        source = try EmbeddedSource(path: self.folder.path("source.db"), schema: schema, logger: log.logger)
        storage = try SQLiteBucketStorage(path: self.folder.path("buckets.db"))
    }

    /// The source of a scenario with another storage.
    init(_ other: SourceScenario, storage: SQLiteBucketStorage) {
        folder = other.folder
        source = other.source
        config = other.config
        self.storage = storage
    }

    /// Opens the files again, as after a restart, optionally with another config.
    func reopened(schema: [String] = [], config: String? = nil) throws -> SourceScenario {
        try source.close()
        try storage.close()
        return try SourceScenario(schema: schema, config: config ?? self.config, folder: folder)
    }

    /// A connection to the source that knows nothing about the service.
    func foreignConnection() throws -> DatabaseQueue {
        var configuration = Configuration()
        configuration.busyMode = .timeout(5)
        return try DatabaseQueue(path: folder.path("source.db"), configuration: configuration)
    }

    /// Runs a replicator while `body` runs.
    func replicating<Result: Sendable>(
        _ body: @escaping @Sendable () async throws -> Result
    ) async throws -> Result {
        _ = try await storage.deploy(config, plan: plan(config))
        let replicator = Replicator(
            storage: storage,
            source: source,
            streamsChanged: ChangeSignal(),
            logger: logger
        )
        return try await replicator.whileRunning(body)
    }

    /// Replicates until everything that is committed to the source now has been published.
    func replicate() async throws {
        try await replicating { try await caughtUp() }
    }

    /// Waits until everything that is committed to the source now has been published.
    func caughtUp() async throws {
        let head = try await source.head()
        try await published { $0.lsn >= head.lsn }
    }
}

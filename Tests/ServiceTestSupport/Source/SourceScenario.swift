package import GRDB
package import Logging
package import PowerSyncServiceCore
package import PowerSyncServiceSQLite
package import TestSupport

/// An embedded source, a bucket storage and a replicator between them, in a temporary folder.
package struct SourceScenario: ReplicationScenario {
    package static let lists = "CREATE TABLE lists (id TEXT PRIMARY KEY, owner TEXT, name TEXT)"
    package static let listsByOwner = """
        config:
          edition: 3
        streams:
          lists:
            query: SELECT * FROM lists WHERE owner = auth.user_id()
        """
    package static let allLists = """
        config:
          edition: 3
        streams:
          all:
            query: SELECT * FROM lists
        """

    package let folder: TemporaryFolder
    package let source: EmbeddedSource
    package let storage: SQLiteBucketStorage
    package let config: String
    package let log = CollectedLog()
    package var logger: Logger { log.logger }

    /// Opens the files of a folder.
    package init(
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
    package init(_ other: SourceScenario, storage: SQLiteBucketStorage) {
        folder = other.folder
        source = other.source
        config = other.config
        self.storage = storage
    }

    /// Opens the files again, as after a restart, optionally with another config.
    package func reopened(schema: [String] = [], config: String? = nil) throws -> SourceScenario {
        try source.close()
        try storage.close()
        return try SourceScenario(schema: schema, config: config ?? self.config, folder: folder)
    }

    /// A connection to the source that knows nothing about the service.
    package func foreignConnection() throws -> DatabaseQueue {
        var configuration = Configuration()
        configuration.busyMode = .timeout(5)
        return try DatabaseQueue(path: folder.path("source.db"), configuration: configuration)
    }

    package func replicator() async throws -> Replicator {
        _ = try await storage.deploy(config, plan: plan(config))
        return Replicator(
            storage: storage,
            source: source,
            streamsChanged: ChangeSignal(),
            logger: logger
        )
    }

    package func head() async throws -> SourcePosition { try await source.head() }
}

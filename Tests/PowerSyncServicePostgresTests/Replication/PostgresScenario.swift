import Logging
import PostgresTestSupport
import PowerSyncProtocol
import PowerSyncSyncConfig
import ServiceTestSupport
import TestSupport
import Testing

@testable import PowerSyncServiceCore
@testable import PowerSyncServicePostgres
@testable import PowerSyncServiceSQLite

/// A PostgreSQL source, a bucket storage and a replicator between them.
struct PostgresScenario: ReplicationScenario, Sendable {
    static let allLists = """
        config:
          edition: 3
        streams:
          all:
            query: SELECT * FROM lists
        """

    let folder: TemporaryFolder
    let database: TestDatabase
    let source: PostgresSource
    /// What is replicated in the place of the source, if a test stands in between.
    var front: (any ReplicationSource)?
    let storage: SQLiteBucketStorage
    let config: String
    let log: CollectedLog
    private let clock: any Clock<Duration>
    private let catalogueInterval: Duration
    /// Advances while replication is alive.
    private let signs = ChangeSignal()

    /// Makes a database, or goes on with one.
    init(
        _ sql: String = "CREATE TABLE lists (id text PRIMARY KEY, owner text, name text)",
        config: String = Self.allLists,
        database: TestDatabase? = nil,
        folder: TemporaryFolder? = nil,
        clock: any Clock<Duration> = ContinuousClock(),
        catalogueInterval: Duration = .seconds(60),
        source: PostgresSource? = nil,
        log: CollectedLog = CollectedLog()
    ) throws {
        self.folder = try folder ?? TemporaryFolder()
        self.database = try database ?? TestDatabase(sql)
        self.config = config
        self.log = log
        self.clock = clock
        self.catalogueInterval = catalogueInterval
        var settings = PostgresSource.Settings(connection: self.database.connectionString)
        settings.heartbeatInterval = catalogueInterval
        self.source = source ?? PostgresSource(settings, clock: clock, logger: log.logger)
        storage = try SQLiteBucketStorage(
            path: self.folder.path("buckets.db"),
            defaultSchema: PostgresSource.defaultSchema
        )
    }

    /// Opens everything again, as after a restart, optionally with another config.
    func reopened(config: String? = nil) throws -> PostgresScenario {
        try source.close()
        try storage.close()
        return try PostgresScenario(
            config: config ?? self.config,
            database: database,
            folder: folder,
            clock: clock,
            catalogueInterval: catalogueInterval,
            log: log
        )
    }

    func replicator() async throws -> Replicator { try await replicator(touch: {}) }

    /// What replicates the source into the storage.
    ///
    /// - Parameter touch: Called with each sign of life.
    /// - Returns: A replicator with the log of the scenario, whose config is deployed.
    /// - Throws: When the config has errors.
    func replicator(touch: @escaping @Sendable () -> Void) async throws -> Replicator {
        var plan = try plan(config)
        plan.defaultSchema = PostgresSource.defaultSchema
        _ = try await storage.deploy(config, plan: plan)
        return Replicator(
            storage: storage,
            source: front ?? source,
            streamsChanged: ChangeSignal(),
            logger: log.logger,
            touch: { [signs] in
                signs.advance()
                touch()
            }
        )
    }

    /// The position of the log, which a marker after it makes known.
    func head() async throws -> SourcePosition {
        let head = try await source.head()
        try await source.emitMarker()
        return head
    }

    /// Waits until everything that is committed now has been published, and changes of tables have been noticed: those that
    /// no change of a row tells, too.
    ///
    /// Rows of which columns are others have been read again.
    func caughtUpWithTables() async throws {
        for _ in 0..<2 {
            let seen = source.catalogueLooks.version
            try await source.catalogueLooks.wait(after: seen)
        }
        try await wait {
            guard let stream = try await stream() else { return true }
            return try await !storage.progress(of: stream.id).tables.contains(where: \.isOutdated)
        }
        try await caughtUp()
    }

    /// Waits for something that is looked at with each sign of life of the replication.
    func wait(until isReached: () async throws -> Bool) async throws {
        while true {
            let seen = signs.version
            if try await isReached() { return }
            try await signs.wait(after: seen)
        }
    }

    /// The ids of the rows of a bucket.
    func ids(_ bucket: String = "all|0[]") async throws -> Set<String> {
        Set(try await rows(bucket).keys.map { String($0.drop { $0 != "/" }.dropFirst()) })
    }

    /// Checks that the rows of the bucket are those that an empty storage gets.
    func expectSameRowsAsAFreshCopy(_ comment: Comment? = nil) async throws {
        let fresh = try PostgresScenario(config: config, database: database)
        try await fresh.replicate()
        let (own, others) = (try await rows(), try await fresh.rows())
        #expect(own == others, comment)
        let slot = try #require(try await fresh.stream()).sourceHandle
        try await fresh.source.dropStream(slot)
        try fresh.source.close()
    }
}

package import PowerSyncMySQLConnection
package import PowerSyncServiceCore
package import PowerSyncServiceMySQL
package import PowerSyncServiceSQLite
import PowerSyncSyncConfig
package import ServiceTestSupport
import TestSupport
package import Testing

/// A MySQL source, a bucket storage in SQLite, and a replicator between them.
///
/// ```swift
/// let scenario = try await MySQLScenario()
/// try await scenario.replicating {
///     try await scenario.database.run("INSERT INTO lists VALUES ('a', 'u', 'n')")
///     try await scenario.caughtUp()
///     #expect(try await scenario.ids() == ["a"])
/// }
/// try await scenario.expectSameRowsAsAFreshCopy()
/// ```
package struct MySQLScenario: ReplicationScenario {
    /// All rows of a table in one bucket.
    package static func all(_ table: String = "lists") -> String {
        "config:\n  edition: 3\nstreams:\n  all:\n    query: SELECT * FROM \(table)\n"
    }

    private let folder: TemporaryFolder
    /// The server of ``database`` if it is one of its own, which ends with the last reference to it.
    private let server: TestMySQLServer?
    /// What is replicated.
    package let database: TestMySQLDatabase
    /// How ``database`` is replicated.
    package let source: MySQLSource
    /// What is replicated in the place of the source, if a test stands in between.
    package var front: (any ReplicationSource)?
    package let storage: SQLiteBucketStorage
    package let config: String
    package let log: CollectedLog
    private let settings: MySQLSettings
    private let connection: MySQLConnectionSettings
    private let clock: any Clock<Duration>

    /// Makes a database, or goes on with one.
    ///
    /// - Parameters:
    ///   - statements: Make the tables of a new database.
    ///   - config: The sync config; tables without a schema are those of the database.
    ///   - database: One that there is.
    ///   - server: Where a new database is made, if not in that of `scripts/with-mysql`.
    ///   - kept: The same, and the scenario keeps the server.
    ///   - proxy: What the source connects through.
    ///   - clock: Measures pauses and looks at the catalogue.
    ///   - change: Changes the settings of the source.
    ///   - changeConnection: Changes those of its connections.
    /// - Throws: When the database or the storage cannot be made.
    package init(
        _ statements: [String] = ["CREATE TABLE lists (id VARCHAR(36) PRIMARY KEY, owner TEXT, name TEXT)"],
        config: String = Self.all(),
        database: TestMySQLDatabase? = nil,
        server: TestMySQL? = nil,
        on kept: TestMySQLServer? = nil,
        proxy: MySQLProxy? = nil,
        clock: any Clock<Duration> = ContinuousClock(),
        settings change: (inout MySQLSettings) -> Void = { _ in },
        connection changeConnection: (inout MySQLConnectionSettings) -> Void = { _ in }
    ) async throws {
        let database =
            if let database { database } else {
                try await TestMySQLDatabase(server: server ?? kept?.address, statements)
            }
        var settings = MySQLSettings(uri: database.uri)
        change(&settings)
        var connection = database.settings
        if let proxy { connection.port = proxy.port }
        changeConnection(&connection)
        try self.init(
            folder: TemporaryFolder(),
            server: kept,
            database: database,
            config: config,
            settings: settings,
            connection: connection,
            clock: clock,
            log: CollectedLog()
        )
    }

    private init(
        folder: TemporaryFolder,
        server: TestMySQLServer?,
        database: TestMySQLDatabase,
        config: String,
        settings: MySQLSettings,
        connection: MySQLConnectionSettings,
        clock: any Clock<Duration>,
        log: CollectedLog
    ) throws {
        self.folder = folder
        self.server = server
        self.database = database
        self.config = config
        self.settings = settings
        self.connection = connection
        self.clock = clock
        self.log = log
        source = MySQLSource(settings, connecting: connection, clock: clock, logger: log.logger)
        storage = try SQLiteBucketStorage(path: folder.path("buckets.db"), defaultSchema: database.name)
    }

    /// Opens everything again, as after a restart.
    ///
    /// - Parameters:
    ///   - config: Another config.
    ///   - other: The database of another server, with the same name, in the place of ``database``.
    /// - Returns: What follows on this scenario, which is closed.
    /// - Throws: When the storage cannot be opened.
    package func reopened(config: String? = nil, over other: TestMySQLDatabase? = nil) throws -> MySQLScenario {
        try source.close()
        try storage.close()
        return try MySQLScenario(
            folder: folder,
            server: server,
            database: other ?? database,
            config: config ?? self.config,
            settings: settings,
            connection: other?.settings ?? connection,
            clock: clock,
            log: log
        )
    }

    /// Deploys another config into the stream of this one, whose parts are kept: to be called before ``replicator()``.
    package func deployKeepingParts() async throws {
        var plan = try plan(config)
        plan.defaultSchema = database.name
        _ = try await storage.deploy(config, versionLabel: nil, plan: plan, mode: .keepingParts)
    }

    /// What replicates the source into the storage: the config is deployed.
    package func replicator() async throws -> Replicator {
        var plan = try plan(config)
        plan.defaultSchema = database.name
        _ = try await storage.deploy(config, plan: plan)
        return Replicator(
            storage: storage,
            source: front ?? source,
            streamsChanged: ChangeSignal(),
            clock: clock,
            logger: log.logger
        )
    }

    /// The position of the log, which a marker after it makes known.
    package func head() async throws -> SourcePosition {
        let head = try await source.head()
        try await source.emitMarker()
        return head
    }

    /// The configs of the streams that clients are served.
    package func servedConfigs() async throws -> [String] {
        try await storage.streams().filter { $0.state == .active }.map(\.content)
    }

    /// Waits until something is true after a checkpoint.
    package func untilPublished(_ isExpected: () async throws -> Bool) async throws {
        while true {
            let seen = storage.feed.signal.version
            if try await isExpected() { return }
            try await storage.feed.signal.wait(after: seen)
        }
    }

    /// Looks at checkpoints while `body` runs, as a client does: those that are made while one is looked at count as one.
    ///
    /// - Parameters:
    ///   - bucket: The bucket.
    ///   - look: Gets the rows of the bucket at each checkpoint.
    ///   - body: What is done meanwhile.
    /// - Throws: What `body` throws, and errors of the storage.
    package func looking(
        at bucket: String = "all|0[]",
        _ look: @escaping @Sendable ([String: String]) -> Void,
        while body: @escaping @Sendable () async throws -> Void
    ) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                while true {
                    let seen = storage.feed.signal.version
                    // A stream may end between two questions.
                    if storage.feed.current != nil, let rows = try? await rows(bucket) { look(rows) }
                    try await storage.feed.signal.wait(after: seen)
                }
            }
            group.addTask { try await body() }
            defer { group.cancelAll() }
            try await group.next()
        }
    }

    /// The ids of the rows of a bucket.
    package func ids(_ bucket: String = "all|0[]") async throws -> Set<String> {
        Set(try await rows(bucket).keys.map { String($0.drop { $0 != "/" }.dropFirst()) })
    }

    /// Checks that the rows of the bucket are those that an empty storage gets, and that there are as many as in a table.
    package func expectSameRowsAsAFreshCopy(
        of table: String? = nil,
        _ comment: Comment? = nil,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        let fresh = try await MySQLScenario(config: config, database: database)
        try await fresh.replicate()
        let (own, copied) = (try await rows(), try await fresh.rows())
        #expect(own == copied, comment, sourceLocation: sourceLocation)
        try fresh.source.close()
        guard let table else { return }
        let count = try await database.run("SELECT COUNT(*) FROM \(table)")
        #expect(count == [["\(own.count)"]], comment, sourceLocation: sourceLocation)
    }
}

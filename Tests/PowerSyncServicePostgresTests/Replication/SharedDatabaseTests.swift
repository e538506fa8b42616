import PostgresTestSupport
import PowerSyncProtocol
import PowerSyncSyncConfig
import ServiceTestSupport
import Testing

@testable import PowerSyncServiceCore
@testable import PowerSyncServicePostgres

/// A storage in the database that is replicated: what is stored comes back in the change stream.
@Suite(.timeLimit(.minutes(1))) struct SharedDatabaseTests {
    private static let config = """
        config:
          edition: 3
        streams:
          all:
            query: SELECT * FROM lists
        """

    @Test func nothingIsWrittenWhenNothingHappens() async throws {
        let database = try TestDatabase("CREATE TABLE lists (id text PRIMARY KEY, name text)")
        let log = CollectedLog()
        let storage = try await PostgresBucketStorage.open(
            PostgresBucketStorage.Settings(connection: database.connectionString),
            logger: log.logger
        )
        let source = PostgresSource(
            PostgresSource.Settings(connection: database.connectionString),
            logger: log.logger
        )
        #expect(try await storage.database() == source.database())
        let touches = ChangeSignal()
        var plan = try plan(Self.config)
        plan.defaultSchema = PostgresSource.defaultSchema
        _ = try await storage.deploy(Self.config, plan: plan)
        let replicator = Replicator(
            storage: storage,
            source: source,
            streamsChanged: ChangeSignal(),
            logger: log.logger,
            touch: { touches.advance() }
        )
        let issuer = WriteCheckpointIssuer(storage: storage, source: source)
        try await replicator.whileRunning {
            while storage.feed.current == nil {
                let seen = storage.feed.signal.version
                if storage.feed.current == nil { try await storage.feed.signal.wait(after: seen) }
            }
            // What is written is seen, and so are write checkpoints of an idle database.
            try database.run("INSERT INTO lists VALUES ('a', 'n')")
            let active = try #require(try await storage.activeStream())
            let head = try await source.head()
            let number = try await issuer.create(userKey: "u")
            for try await checkpoint in storage.checkpoints(of: active) where checkpoint.lsn >= head.lsn {
                let visible = try await storage.visibleWriteCheckpoint(userKey: "u", at: checkpoint)
                if visible == number { break }
            }
            let newest = try #require(storage.feed.current)
            let bucket = BucketName("1#all|0[]")
            #expect(try await storage.checksums([bucket], at: newest)[bucket]?.count == 1)

            /// The source is read, and has nothing more to say; if it always had, this would not take long.
            func waitForTouches(_ count: Int) async throws {
                for _ in 0..<count { try await touches.wait(after: touches.version) }
            }
            try await waitForTouches(3)
            let settled = storage.feed.current
            try await waitForTouches(3)
            #expect(storage.feed.current == settled)
        }
        try source.close()
        try storage.close()
    }

    @Test func anotherDatabaseOfTheServerIsAnotherLog() async throws {
        let (own, other) = (try TestDatabase(), try TestDatabase())
        let log = CollectedLog()
        let storage = try await PostgresBucketStorage.open(
            PostgresBucketStorage.Settings(connection: own.connectionString),
            logger: log.logger
        )
        let source = PostgresSource(PostgresSource.Settings(connection: other.connectionString), logger: log.logger)
        #expect(try await storage.database() != source.database())
        try source.close()
        try storage.close()
    }
}

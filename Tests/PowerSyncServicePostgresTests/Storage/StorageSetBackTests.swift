import NIOConcurrencyHelpers
import PostgresTestSupport
import PowerSyncSyncConfig
import ServiceTestSupport
import Testing

@testable import PowerSyncServiceCore
@testable import PowerSyncServicePostgres

/// A storage in PostgreSQL that is set back under the processes that use it (docs/postgres-storage.md "Several processes").
@Suite(.timeLimit(.minutes(3))) struct StorageSetBackTests {
    private static let config = """
        config:
          edition: 3
        streams:
          g:
            query: SELECT * FROM test
        """

    private static func isOther(_ error: any Error) -> Bool { (error as? BucketStorageError)?.code == .otherStorage }

    /// A process that follows the storage.
    private struct Follower: Sendable {
        let storage: any BucketStorage
        let looked = ChangeSignal()

        /// Follows until that ends by itself.
        func run(_ body: () async throws -> Void) async throws {
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await storage.follow { _ in looked.advance() } }
                defer { group.cancelAll() }
                try await body()
                try await group.waitForAll()
            }
        }

        /// Waits until it knows of a checkpoint.
        func sees(_ checkpoint: StorageCheckpoint?) async throws {
            while true {
                let seen = looked.version
                if storage.feed.current == checkpoint { return }
                try await looked.wait(after: seen)
            }
        }
    }

    /// Lets a storage have more than anybody has seen.
    private static let goesOn = """
        UPDATE replication_streams SET last_checkpoint = last_checkpoint + 1000, last_checkpoint_lsn = '7' || last_checkpoint_lsn
        """

    @Test(arguments: [
        // Somebody else has become the writer in the place of the one that was seen, or after an earlier one.
        "UPDATE writers SET id = gen_random_uuid()", "DELETE FROM writers",
        """
        INSERT INTO writers (stream, epoch, id, began_op)
        SELECT id, writer_epoch + 1, gen_random_uuid(), last_checkpoint - 1 FROM replication_streams
        """,
        """
        INSERT INTO writers (stream, epoch, id, began_op)
        SELECT id, writer_epoch + n, gen_random_uuid(), CASE n WHEN 1 THEN 0 ELSE 2000 END
        FROM replication_streams, generate_series(1, 2) AS n
        """,
    ])
    func aStorageWithOtherWritersEndsTheProcess(change: String) async throws {
        var own = try await StorageScenario(Self.config, on: .postgres)
        let table = try await own.table("test")
        try await own.save(.insert(["id": "a"]), of: table)
        let made = try await own.commit()
        let other = Follower(storage: try await own.home.open())
        let home = own.home
        await #expect {
            try await other.run {
                try await other.sees(made)
                try home.run("BEGIN; \(change); \(Self.goesOn); NOTIFY powersync_powersync_storage; COMMIT")
            }
        } throws: {
            Self.isOther($0)
        }
        try other.storage.close()
    }

    @Test func writersThatFollowEachOtherAreNoOthers() async throws {
        var own = try await StorageScenario(Self.config, on: .postgres)
        let other = try await own.home.open()
        for number in 0..<4 {
            let table = try await own.table("test")
            try await own.save(.insert(["id": .integer(Int64(number))]), of: table)
            let made = try await own.commit()
            #expect(try await other.activeStream()?.checkpoint == made)
            // Another writer, which may not have published anything when somebody looks.
            if number > 0 { try await own.reopen() }
            if number > 1 { #expect(try await other.activeStream()?.checkpoint == made) }
        }
        try other.close()
    }

    @Test(
        arguments: [false, true],
        TestCluster.Return.allCases
    )
    func aServerThatIsPutBackEndsTheProcess(goesOn: Bool, way: TestCluster.Return) async throws {
        let cluster = try TestCluster()
        let database = try TestDatabase(server: cluster.uri)
        var settings = PostgresBucketStorage.Settings(connection: database.connectionString)
        settings.defaultTableSchema = "main"
        let storage = try await PostgresBucketStorage.open(settings, logger: PostgresStorageHome.logger)
        let stream = try await storage.deploy(Self.config, plan: try plan(Self.config))
        func write(_ position: Int64) async throws {
            try await storage.withWriter(of: stream.id) { writer in
                if writer.resumePosition == nil {
                    try await writer.setResumePosition(.at(0))
                    try await writer.markSnapshotDone(noCheckpointBefore: .at(0))
                }
                let descriptor = SourceTableDescriptor(
                    name: SourceTableName(schema: "main", name: "test"),
                    relationID: "test",
                    identity: [.init(name: "id", type: "TEXT")]
                )
                let table = try await writer.resolveTable(descriptor).table
                _ = try await writer.save([.insert(["id": .integer(position)])], of: table, mode: .stream)
                _ = try await writer.commit(.at(position), createsEmptyCheckpoints: true)
            }
        }
        try await write(1)
        try database.disconnect()
        try cluster.keepFiles()
        try await write(2)
        let other = Follower(
            storage: try await PostgresBucketStorage.open(settings, logger: PostgresStorageHome.logger)
        )
        await #expect {
            try await other.run {
                try await other.sees(storage.feed.current)
                try database.disconnect()
                try cluster.putFilesBack(way) { uri in
                    guard goesOn else { return }
                    try Session(uri.dropLast("postgres".count) + database.name).run(
                        """
                        SET search_path TO powersync_storage;
                        INSERT INTO writers (stream, epoch, id, began_op)
                        SELECT id, writer_epoch + 1, gen_random_uuid(), last_checkpoint FROM replication_streams;
                        UPDATE replication_streams SET writer_epoch = writer_epoch + 1;
                        \(Self.goesOn)
                        """
                    )
                }
            }
        } throws: {
            Self.isOther($0)
        }
        try other.storage.close()
        try storage.close()
    }
}

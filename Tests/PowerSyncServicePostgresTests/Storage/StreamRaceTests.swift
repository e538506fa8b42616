import PostgresTestSupport
import PowerSyncProtocol
import PowerSyncSyncConfig
import ServiceTestSupport
import Testing

@testable import PowerSyncServiceCore
@testable import PowerSyncServicePostgres

/// Processes that change streams at the same time (docs/postgres-storage.md "Several processes").
@Suite(.timeLimit(.minutes(1))) struct StreamRaceTests {
    private static let config = """
        config:
          edition: 3
        streams:
          g:
            query: SELECT * FROM test
        """

    @Test func aDeploymentSeesWhatIsActivated() async throws {
        let scenario = try await StorageScenario(Self.config, on: .postgres)
        let (storage, home) = (scenario.storage, scenario.home)
        let texts = [Self.config + "\n# second", Self.config + "\n# third"]
        let second = try await storage.deploy(texts[0], plan: try plan(texts[0]))
        var writer = try await scenario.writer(of: second.id)
        try await writer.setResumePosition(.at(0))
        try await writer.markSnapshotDone(noCheckpointBefore: .at(0))
        await home.releaseWriters()
        // While the record of the served stream is locked, the activation waits for it, and the deployment for that.
        let blocker = try await PostgresConnection.open(home.postgres.settings.connection)
        _ = try await blocker.execute(
            "BEGIN; SELECT 1 FROM \(PostgresBucketStorage.defaultSchema).replication_streams WHERE id = \(scenario.stream.id) FOR UPDATE",
            activity: "locking"
        )
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                try await storage.withWriter(of: second.id) { writer in
                    _ = try await writer.commit(.at(9), createsEmptyCheckpoints: true)
                }
            }
            try await waitForWaiting(1, blocker)
            group.addTask { _ = try await storage.deploy(texts[1], plan: try plan(texts[1])) }
            try await waitForWaiting(2, blocker)
            try await blocker.execute("COMMIT", activity: "unlocking")
            try await group.waitForAll()
        }
        blocker.close()
        #expect(try await storage.streams().map(\.state) == [.stop, .active, .processing])
    }

    @Test func readersNoticeThatAStreamIsDropped() async throws {
        var scenario = try await StorageScenario(Self.config, on: .postgres)
        let table = try await scenario.table("test")
        try await scenario.save(.insert(["id": "a"]), of: table)
        let checkpoint = try await scenario.commit()
        let (storage, home, stream) = (scenario.storage, scenario.home, scenario.stream)
        let bucket = BucketName(stream.bucketPrefix + "g|0[]")
        let blocker = try await PostgresConnection.open(home.postgres.settings.connection)
        try await blocker.execute(
            """
            SET search_path TO \(PostgresBucketStorage.defaultSchema);
            BEGIN; LOCK TABLE buckets, operations IN ACCESS EXCLUSIVE MODE
            """,
            activity: "locking"
        )
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                await #expect(
                    performing: { _ = try await storage.checksums([bucket], at: checkpoint) },
                    throws: Self.isReplaced
                )
            }
            group.addTask {
                await #expect(
                    performing: {
                        _ = try await storage.bucketData([.init(name: bucket, after: .zero)], at: checkpoint)
                    },
                    throws: Self.isReplaced
                )
            }
            try await waitForWaiting(2, blocker)
            // As the process does that has activated another stream.
            try await blocker.execute(
                """
                UPDATE replication_streams SET state = 'STOP' WHERE id = \(stream.id);
                DROP TABLE buckets_\(stream.id); DROP TABLE operations_\(stream.id); COMMIT
                """,
                activity: "dropping"
            )
            try await group.waitForAll()
        }
        blocker.close()
    }

    @Test func aStreamThatIsReadIsDeletedLater() async throws {
        let scenario = try await StorageScenario(Self.config, on: .postgres)
        let (storage, home, stream) = (scenario.storage, scenario.home, scenario.stream.id)
        await home.releaseWriters()
        try home.run("UPDATE replication_streams SET state = 'STOP'")
        // As pg_dump, which reads all tables in one transaction.
        let blocker = try await PostgresConnection.open(home.postgres.settings.connection)
        try await blocker.execute(
            """
            SET search_path TO \(PostgresBucketStorage.defaultSchema);
            BEGIN; LOCK TABLE operations IN ACCESS SHARE MODE
            """,
            activity: "locking"
        )
        await #expect(
            performing: { try await storage.deleteData(of: stream) },
            throws: { ($0 as? BucketStorageError)?.code == .inUse }
        )
        #expect(try await storage.streams().map(\.state) == [.stop])
        try await blocker.execute("COMMIT", activity: "unlocking")
        blocker.close()
        try await storage.deleteData(of: stream)
        #expect(try await storage.streams().isEmpty)
    }

    @Test func aNumberThatIsVisibleDoesNotVanish() async throws {
        let scenario = try await StorageScenario(Self.config, on: .postgres)
        let (storage, home, stream) = (scenario.storage, scenario.home, scenario.stream.id)
        _ = try await storage.createWriteCheckpoint(userKey: "u", head: .at(7))
        await home.releaseWriters()
        // A third number of the user, which is rolled back: the one that is recorded waits, and has looked for what is published.
        let blocker = try await PostgresConnection.open(home.postgres.settings.connection)
        try await blocker.execute(
            """
            SET search_path TO \(PostgresBucketStorage.defaultSchema);
            BEGIN; SELECT 1 FROM write_checkpoints FOR UPDATE
            """,
            activity: "locking"
        )
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { _ = try await storage.createWriteCheckpoint(userKey: "u", head: .at(9)) }
            try await waitForWaiting(1, blocker)
            group.addTask {
                try await storage.withWriter(of: stream) { writer in
                    _ = try await writer.commit(.at(7), createsEmptyCheckpoints: true)
                }
            }
            // Nobody sees the first number before the second one is there.
            try await waitForWaiting(2, blocker)
            #expect(storage.feed.current?.lsn == .at(1))
            try await blocker.execute("ROLLBACK", activity: "unlocking")
            try await group.waitForAll()
        }
        blocker.close()
        #expect(try scenario.checkpoint.lsn == .at(7))
        #expect(try await storage.visibleWriteCheckpoint(userKey: "u", at: try scenario.checkpoint) == nil)
        #expect(try await storage.nextWriteCheckpoint(userKey: "u", after: try scenario.checkpoint) == .at(9))
    }

    private static let isReplaced: @Sendable (any Error) -> Bool = {
        ($0 as? BucketStorageError)?.code == .unknownStream
    }

    /// Returns when sessions wait for locks; the server looks again and again.
    private func waitForWaiting(_ count: Int, _ connection: PostgresConnection) async throws {
        _ = try await connection.execute(
            """
            DO $$ BEGIN
                WHILE (SELECT count(*) FROM pg_stat_activity
                    WHERE datname = current_database() AND wait_event_type = 'Lock') < \(count)
                LOOP
                    PERFORM pg_sleep(0.01);
                    PERFORM pg_stat_clear_snapshot();
                END LOOP;
            END $$
            """,
            activity: "waiting for those who wait"
        )
    }
}

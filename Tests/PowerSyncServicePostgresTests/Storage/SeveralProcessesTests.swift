import NIOConcurrencyHelpers
import PostgresTestSupport
import PowerSyncProtocol
import PowerSyncSyncConfig
import ServiceTestSupport
import Testing

@testable import PowerSyncServiceCore
@testable import PowerSyncServicePostgres

/// A storage in PostgreSQL that one process writes and another one serves (docs/postgres-storage.md "Several processes").
@Suite(.timeLimit(.minutes(1))) struct SeveralProcessesTests {
    private static let config = """
        config:
          edition: 3
        streams:
          g:
            query: SELECT * FROM test
        """

    /// What another process learns.
    private struct Other: Sendable {
        let storage: any BucketStorage
        let looks = NIOLockedValueBox<[StorageLook]>([])
        let looked = ChangeSignal()

        /// Waits until it has seen something.
        func wait(until isSeen: @Sendable () async throws -> Bool) async throws {
            while true {
                let seen = looked.version
                if try await isSeen() { return }
                try await looked.wait(after: seen)
            }
        }

        /// Follows the storage while `body` runs, or until following ends by itself.
        func following(untilItEnds: Bool = false, _ body: () async throws -> Void) async throws {
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask {
                    try await storage.follow { look in
                        looks.withLockedValue { $0.append(look) }
                        looked.advance()
                    }
                }
                defer { group.cancelAll() }
                try await body()
                if untilItEnds { try await group.waitForAll() }
            }
        }
    }

    @Test func checkpointsOfTheWriterAreServedByTheOther() async throws {
        var own = try await StorageScenario(Self.config, on: .postgres)
        let other = Other(storage: try await own.home.open())
        try await other.following {
            try await other.wait { other.looks.withLockedValue { !$0.isEmpty } }
            let table = try await own.table("test")
            let active = try #require(try await other.storage.activeStream())
            var checkpoints = other.storage.checkpoints(of: active).makeAsyncIterator()
            #expect(try await checkpoints.next() == (try own.checkpoint))
            for number in 0..<3 {
                try await own.save(.insert(["id": .integer(Int64(number))]), of: table)
                let made = try await own.commit()
                #expect(try await checkpoints.next() == made)
                let found = try await other.storage.allOperations("g|0[]", of: own.stream, at: made)
                #expect(found.count == number + 1)
            }
        }
        try other.storage.close()
    }

    @Test func whatWasPublishedElsewhereIsSeenWhenAStreamBegins() async throws {
        var own = try await StorageScenario(Self.config, on: .postgres)
        let other = try await own.home.open()
        for _ in 0..<3 {
            let made = try await own.commit()
            let active = try #require(try await other.activeStream())
            #expect(active.checkpoint == made)
            var checkpoints = other.checkpoints(of: active).makeAsyncIterator()
            #expect(try await checkpoints.next() == made)
        }
        try other.close()
    }

    @Test func aNotificationThatIsLostIsMadeUpFor() async throws {
        var own = try await StorageScenario(Self.config, on: .postgres)
        let home = own.home
        let other = Other(storage: try await home.open())
        try await other.following {
            try await other.wait { other.looks.withLockedValue { !$0.isEmpty } }
            // The connection that listens is lost, and with it what is said until there is another one. It may be about to look
            // again, with another statement.
            let ending = """
                SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity
                WHERE datname = current_database() AND query LIKE '%ERRORED%ORDER BY id' AND pid <> pg_backend_pid()
                """
            while try home.run(ending).isEmpty {}
            let made = try await own.commit()
            try await other.wait { other.storage.feed.current == made }
            #expect(other.looks.withLockedValue { $0.contains(.failed) })
        }
        try other.storage.close()
    }

    @Test func notificationsThatNoServiceSendsDoNoHarm() async throws {
        var own = try await StorageScenario(Self.config, on: .postgres)
        let other = Other(storage: try await own.home.open())
        try await other.following {
            try await other.wait { other.looks.withLockedValue { !$0.isEmpty } }
            try own.home.run(
                """
                SELECT pg_notify('powersync_powersync_storage', payload)
                FROM unnest(ARRAY['garbage', 'a b c', ' ', repeat('x', 7900)]) AS payload
                """
            )
            let made = try await own.commit()
            try await other.wait { other.storage.feed.current == made }
        }
        #expect(!other.looks.withLockedValue { $0.contains(.failed) })
        try other.storage.close()
    }

    @Test(arguments: ["anna/1", "anna/" + String(repeating: "ä", count: 5000), "an\0na/1"])
    func writeCheckpointsThatOneProcessRecordsAreToldToTheOther(userKey: String) async throws {
        let own = try await StorageScenario(Self.config, on: .postgres)
        let other = Other(storage: try await own.home.open())
        // Of a long one, and one that is no text for PostgreSQL, it only learns that there is something.
        let news: StorageLook =
            userKey == "anna/1" ? .writeCheckpoint(userKey: userKey, .at(9)) : .writeCheckpointsMissed
        try await other.following {
            try await other.wait { other.looks.withLockedValue { $0.contains(.writeCheckpointsMissed) } }
            other.looks.withLockedValue { $0 = [] }
            let history = try #require(try await own.storage.publishedPosition()).history
            let recorded = try await own.storage.createWriteCheckpoint(
                userKey: userKey,
                head: SourcePosition(.at(9), of: history)
            )
            #expect(recorded.rawValue == 1)
            try await other.wait { other.looks.withLockedValue { $0.contains(news) } }
        }
        try other.storage.close()
    }

    @Test func aProcessIsNotToldOfItsOwnWriteCheckpoints() async throws {
        let own = try await StorageScenario(Self.config, on: .postgres)
        let other = try await own.home.open()
        let me = Other(storage: own.storage)
        try await me.following {
            try await me.wait { me.looks.withLockedValue { $0.contains(.writeCheckpointsMissed) } }
            let history = try #require(try await own.storage.publishedPosition()).history
            for (storage, userKey) in [(own.storage, "own"), (other, "other")] {
                _ = try await storage.createWriteCheckpoint(
                    userKey: userKey,
                    head: SourcePosition(.at(9), of: history)
                )
            }
            try await me.wait { me.looks.withLockedValue { $0.contains(.writeCheckpoint(userKey: "other", .at(9))) } }
            #expect(!me.looks.withLockedValue { $0.contains(.writeCheckpoint(userKey: "own", .at(9))) })
        }
        try other.close()
    }

    @Test func aDeploymentBeforeTheFirstLookIsNoticed() async throws {
        let own = try await StorageScenario(Self.config, on: .postgres)
        let other = Other(storage: try await own.home.open())
        #expect(try await other.storage.streams().map(\.state) == [.active])
        let text = Self.config + "\n# another one"
        _ = try await own.storage.deploy(text, plan: try plan(text))
        try await other.following {
            try await other.wait { other.looks.withLockedValue { !$0.isEmpty } }
            #expect(other.looks.withLockedValue { $0.first } == .streamsChanged)
        }
        try other.storage.close()
    }

    @Test func anotherStreamThatIsActivatedIsNoticed() async throws {
        let scenario = try await StorageScenario(Self.config, on: .postgres)
        let other = Other(storage: try await scenario.home.open())
        try await other.following {
            try await other.wait { other.looks.withLockedValue { !$0.isEmpty } }
            // The first one says so in any case.
            other.looks.withLockedValue { $0 = [] }
            let active = try #require(try await other.storage.activeStream())
            var checkpoints = other.storage.checkpoints(of: active).makeAsyncIterator()
            _ = try await checkpoints.next()
            let text = Self.config + "\n# another one"
            // As a node that serves clients deploys it.
            let next = try await scenario.storage.deploy(text, plan: try plan(text))
            try await other.wait { other.looks.withLockedValue { $0.contains(.streamsChanged) } }
            #expect(try await other.storage.streams().map(\.state) == [.active, .processing])

            var writer = try await scenario.writer(of: next.id)
            try await writer.setResumePosition(.at(0))
            try await writer.markSnapshotDone(noCheckpointBefore: .at(0))
            _ = try await writer.commit(.at(9), createsEmptyCheckpoints: true)
            #expect(try await checkpoints.next() == nil)
            #expect(try await other.storage.activeStream()?.id == next.id)
        }
        try other.storage.close()
    }

    @Test(arguments: [true, false])
    func anotherStorageInTheSamePlaceEndsTheProcess(isMadeAgain: Bool) async throws {
        let own = try await StorageScenario(Self.config, on: .postgres)
        await own.home.releaseWriters()
        let other = Other(storage: try await own.home.open())
        let connection = own.home.postgres.settings.connection
        let maintenance = PostgresStorageMaintenance(schema: PostgresBucketStorage.defaultSchema, place: "here") {
            connection
        }
        await #expect {
            try await other.following(untilItEnds: true) {
                try await other.wait { other.looks.withLockedValue { !$0.isEmpty } }
                try await maintenance.erase { _ in }
                if isMadeAgain {
                    let next = try await own.home.open()
                    _ = try await next.deploy(Self.config, plan: try plan(Self.config))
                    try next.close()
                }
            }
        } throws: {
            ($0 as? BucketStorageError)?.code == .otherStorage
        }
        try other.storage.close()
    }

    @Test func aStorageThatIsSetBackEndsTheProcess() async throws {
        var own = try await StorageScenario(Self.config, on: .postgres)
        let home = own.home
        let other = Other(storage: try await home.open())
        let backup = try home.run("SELECT last_checkpoint_lsn FROM replication_streams")[0][0] ?? ""
        let made = try await own.commit()
        await #expect {
            try await other.following(untilItEnds: true) {
                try await other.wait { other.storage.feed.current == made }
                try home.run(
                    "UPDATE replication_streams SET last_checkpoint_lsn = '\(backup)'; NOTIFY powersync_powersync_storage"
                )
            }
        } throws: {
            ($0 as? BucketStorageError)?.code == .otherStorage
        }
        try other.storage.close()
    }

    @Test func writeCheckpointsOfTwoProcessesNeverGoBack() async throws {
        var scenario = try await StorageScenario(Self.config, on: .postgres)
        let other = try await scenario.home.open()
        // The first process has read the position of the source before the second one, and records its number after it.
        #expect(try await other.createWriteCheckpoint(userKey: "u", head: .at(9)) == WriteCheckpoint(1))
        #expect(try await scenario.storage.createWriteCheckpoint(userKey: "u", head: .at(5)) == WriteCheckpoint(2))
        _ = try await scenario.writer.commit(.at(5), createsEmptyCheckpoints: true)
        let early = try scenario.checkpoint
        #expect(try await other.visibleWriteCheckpoint(userKey: "u", at: early) == nil)
        #expect(try await other.nextWriteCheckpoint(userKey: "u", after: early) == .at(9))
        _ = try await scenario.writer.commit(.at(9), createsEmptyCheckpoints: true)
        #expect(try await other.visibleWriteCheckpoint(userKey: "u", at: try scenario.checkpoint) == WriteCheckpoint(2))
        let requested = try await other.recordCheckpointRequest(WriteCheckpoint(3), userKey: "u", head: .at(7))
        #expect(requested == WriteCheckpoint(3))
        #expect(try await other.visibleWriteCheckpoint(userKey: "u", at: early) == nil)
        try other.close()
    }

    @Test func writeCheckpointsNeverGoBackToAnEarlierHistory() async throws {
        let scenario = try await StorageScenario(Self.config, on: .postgres)
        let storage = scenario.storage
        let next = try await storage.restart(scenario.stream.id)
        var writer = try await scenario.writer(of: next.id)
        try await writer.setResumePosition(.at(0, of: "second"))
        _ = try await storage.createWriteCheckpoint(userKey: "u", head: .at(7, of: "second"))
        _ = try await storage.createWriteCheckpoint(userKey: "u", head: .at(9))
        try await writer.markSnapshotDone(noCheckpointBefore: .at(0))
        _ = try await writer.commit(.at(1), createsEmptyCheckpoints: true)
        let checkpoint = try scenario.checkpoint
        #expect(try await storage.visibleWriteCheckpoint(userKey: "u", at: checkpoint) == nil)
        #expect(try await storage.nextWriteCheckpoint(userKey: "u", after: checkpoint) == .at(7))
    }

    @Test func manyWriteCheckpointsAtATimeAreCountedOnce() async throws {
        let scenario = try await StorageScenario(Self.config, on: .postgres)
        let storages = [scenario.storage, try await scenario.home.open()]
        let numbers = try await withThrowingTaskGroup(of: Int64.self) { group in
            for index in 0..<40 {
                group.addTask {
                    try await storages[index % 2].createWriteCheckpoint(userKey: "u", head: .at(Int64(index))).rawValue
                }
            }
            return try await group.reduce(into: Set<Int64>()) { $0.insert($1) }
        }
        #expect(numbers == Set(1...40))
        try storages[1].close()
    }

    @Test func aConnectionThatIsLostIsMadeAgain() async throws {
        let scenario = try await StorageScenario(Self.config, on: .postgres)
        let checkpoint = try scenario.checkpoint
        let name = BucketName(scenario.stream.bucketPrefix + "g|0[]")
        _ = try await scenario.storage.checksums([name], at: checkpoint)
        try scenario.home.postgres.database.disconnectEverybody()
        #expect(try await scenario.storage.checksums([name], at: checkpoint) == [name: .empty])
    }
}

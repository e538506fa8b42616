import PowerSyncProtocol
import ServiceTestSupport
import Testing

@testable import PowerSyncServiceCore
@testable import PowerSyncServiceSQLite

/// Write checkpoints whose positions belong to different histories of the source.
@Suite struct HistoryVisibilityTests {
    private static let config = """
        config:
          edition: 3
        streams:
          g:
            query: SELECT * FROM test
        """

    private func visible(_ scenario: StorageScenario, _ key: String = "u") async throws -> Int64? {
        try await scenario.storage.visibleWriteCheckpoint(userKey: key, at: try scenario.checkpoint)?.rawValue
    }

    /// Replaces the stream by one of another history, and commits at a position.
    private func activate(_ scenario: StorageScenario, _ position: SourcePosition) async throws {
        let next = try await scenario.storage.restart(scenario.stream.id)
        var writer = try await scenario.writer(of: next.id)
        try await writer.setResumePosition(position)
        try await writer.markSnapshotDone(noCheckpointBefore: position.lsn)
        _ = try await writer.commit(position.lsn, createsEmptyCheckpoints: true)
    }

    @Test(arguments: TestedStorage.durable) func positionsOfALaterHistoryAreNotReachedByTheOldOne(
        _ kind: TestedStorage
    ) async throws {
        var scenario = try await StorageScenario(Self.config, on: kind)
        _ = try await scenario.writer.commit(.at(800), createsEmptyCheckpoints: true)
        _ = try await scenario.storage.createWriteCheckpoint(userKey: "u", head: .at(5, of: "second"))
        #expect(try await visible(scenario) == nil)
        try await activate(scenario, .at(4, of: "second"))
        #expect(try await visible(scenario) == nil)
        var writer = try await scenario.writer(of: ReplicationStreamID(rawValue: 2))
        _ = try await writer.commit(.at(5), createsEmptyCheckpoints: true)
        #expect(try await visible(scenario) == 1)
    }

    @Test(arguments: TestedStorage.durable) func everyCheckpointOfALaterHistoryCoversPositionsOfTheOldOne(
        _ kind: TestedStorage
    ) async throws {
        let scenario = try await StorageScenario(Self.config, on: kind)
        _ = try await scenario.storage.createWriteCheckpoint(userKey: "u", head: .at(900))
        #expect(try await visible(scenario) == nil)
        try await activate(scenario, .at(1, of: "second"))
        #expect(try await visible(scenario) == 1)
        // The number that was visible stays so while one of the new history waits.
        _ = try await scenario.storage.createWriteCheckpoint(userKey: "u", head: .at(9, of: "second"))
        #expect(try await visible(scenario) == 1)
    }

    @Test(arguments: TestedStorage.durable)
    func positionOfTheOldHistoryMayBeRecordedLate(_ kind: TestedStorage) async throws {
        var scenario = try await StorageScenario(Self.config, on: kind)
        _ = try await scenario.writer.commit(.at(800), createsEmptyCheckpoints: true)
        let next = try await scenario.storage.restart(scenario.stream.id)
        var writer = try await scenario.writer(of: next.id)
        try await writer.setResumePosition(.at(1, of: "second"))
        _ = try await scenario.storage.createWriteCheckpoint(userKey: "u", head: .at(900))
        #expect(try await visible(scenario) == nil)
        try await writer.markSnapshotDone(noCheckpointBefore: .at(1))
        _ = try await writer.commit(.at(1), createsEmptyCheckpoints: true)
        #expect(try await visible(scenario) == 1)
        // And nothing is the matter with positions of the new one.
        _ = try await scenario.storage.createWriteCheckpoint(userKey: "v", head: .at(1, of: "second"))
        #expect(try await visible(scenario, "v") == 1)
    }

    @Test(arguments: TestedStorage.durable) func publishedPositionIsThatOfTheServedStream(
        _ kind: TestedStorage
    ) async throws {
        var scenario = try await StorageScenario(Self.config, on: kind)
        try await scenario.writer.setResumePosition(.at(1))
        _ = try await scenario.writer.commit(.at(800), createsEmptyCheckpoints: true)
        #expect(try await scenario.storage.publishedPosition() == .at(800))
        try await activate(scenario, .at(5, of: "second"))
        #expect(try await scenario.storage.publishedPosition() == .at(5, of: "second"))
    }

    @Test(arguments: TestedStorage.durable) func historyThatComesAgainFromABackupIsANewOne(
        _ kind: TestedStorage
    ) async throws {
        var scenario = try await StorageScenario(Self.config, on: kind)
        _ = try await scenario.writer.commit(.at(800), createsEmptyCheckpoints: true)
        try await activate(scenario, .at(1, of: "second"))
        _ = try await scenario.storage.createWriteCheckpoint(userKey: "u", head: .at(500))
        #expect(try await visible(scenario) == nil)
    }

    @Test(arguments: TestedStorage.durable) func streamHasOneWriterAtATime(_ kind: TestedStorage) async throws {
        let scenario = try await StorageScenario(Self.config, on: kind)
        let (storage, id) = (scenario.storage, scenario.stream.id)
        await scenario.home.releaseWriters()
        try await storage.withWriter(of: id) { _ in
            _ = await #expect { try await storage.withWriter(of: id) { _ in } } throws: {
                ($0 as? BucketStorageError)?.code == .inUse
            }
        }
        try await storage.withWriter(of: id) { writer in
            #expect(writer.resumePosition == .at(1))
        }
    }

    @Test(arguments: TestedStorage.durable) func replacedStreamIsNotRead(_ kind: TestedStorage) async throws {
        let scenario = try await StorageScenario(Self.config, on: kind)
        let checkpoint = try scenario.checkpoint
        try await activate(scenario, .at(1, of: "second"))
        let bucket = BucketName(scenario.stream.bucketPrefix + "g|0[]")
        await #expect { try await scenario.storage.checksums([bucket], at: checkpoint) } throws: {
            ($0 as? BucketStorageError)?.code == .unknownStream
        }
        await #expect {
            try await scenario.storage.bucketData([.init(name: bucket, after: .zero)], at: checkpoint)
        } throws: {
            ($0 as? BucketStorageError)?.code == .unknownStream
        }
    }
}

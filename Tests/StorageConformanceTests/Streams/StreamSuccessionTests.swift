import PowerSyncProtocol
import PowerSyncSyncConfig
import ServiceTestSupport
import Testing

@testable import PowerSyncServiceCore

/// Which stream follows which, in every storage (docs/service.md "Replication streams").
@Suite(.timeLimit(.minutes(1))) struct StreamSuccessionTests {
    private static let config = """
        config:
          edition: 3
        streams:
          g:
            query: SELECT * FROM test
        """
    private static let changed = config + "\n# another one"

    private func deploy(_ text: String, in storage: any BucketStorage) async throws -> ReplicationStream {
        try await storage.deploy(text, plan: try plan(text))
    }

    private func states(_ storage: any BucketStorage) async throws -> [ReplicationStream.State] {
        try await storage.streams().map(\.state)
    }

    /// A writer of a stream that is copied, up to its first checkpoint.
    private func copied(
        _ stream: ReplicationStream,
        in scenario: StorageScenario
    ) async throws -> any BucketStorageWriter {
        var writer = try await scenario.writer(of: stream.id)
        try await writer.setResumePosition(.at(0, of: "second"))
        try await writer.markSnapshotDone(noCheckpointBefore: .at(0))
        return writer
    }

    @Test(arguments: TestedStorage.all)
    func anotherLabelAloneIsNoOtherStream(_ kind: TestedStorage) async throws {
        let scenario = try await StorageScenario(Self.config, on: kind)
        let (storage, stream) = (scenario.storage, scenario.stream)
        #expect(stream.versionLabel == nil)
        // Whatever operators write is kept as it is.
        for label in ["release 7", "Größe \u{1b}[2J\n'", "release 7", nil, String(repeating: "x", count: 5000)] {
            let same = try await storage.deploy(Self.config, versionLabel: label, plan: try plan(Self.config))
            #expect(same.id == stream.id && same.versionLabel == label && same.sourceHandle == stream.sourceHandle)
            #expect(try await storage.streams().map(\.versionLabel) == [label])
            #expect(try await states(storage) == [.active])
        }
        #expect(try await storage.activeStream()?.checkpoint == scenario.checkpoint)
    }

    /// What is written then would be left when the data of the stream is deleted.
    @Test(arguments: TestedStorage.all)
    func aWriterOfAStreamThatWasReplacedIsRefused(_ kind: TestedStorage) async throws {
        var scenario = try await StorageScenario(Self.config, on: kind, isActive: false)
        let table = try await scenario.table("test")
        _ = try await deploy(Self.changed, in: scenario.storage)
        var writer = scenario.writer
        _ = try await writer.save([.insert(["id": "1"])], of: table, mode: .snapshot)
        let other = SourceTableDescriptor(
            name: SourceTableName(schema: "main", name: "other"),
            relationID: "other",
            identity: []
        )
        let attempts: [(inout any BucketStorageWriter) async throws -> Void] = [
            { try await $0.flush() }, { _ = try await $0.commit(.at(1), createsEmptyCheckpoints: true) },
            { _ = try await $0.commit(.at(1), createsEmptyCheckpoints: false) }, { try await $0.truncate(table) },
            { try await $0.drop(table) }, { _ = try await $0.resolveTable(other) },
            { try await $0.forbidCheckpoints(before: .at(2)) }, { try await $0.setResumePosition(.at(2)) },
            { try await $0.markSnapshotDone(table, noCheckpointBefore: .at(2)) },
            { try await $0.markSnapshotDone(noCheckpointBefore: .at(2)) }, { _ = try await $0.makeDurable() },
        ]
        for attempt in attempts {
            var code: BucketStorageError.Code?
            do {
                try await attempt(&writer)
            } catch let error as BucketStorageError {
                code = error.code
            }
            #expect(code == .unknownStream)
        }
    }

    @Test(arguments: TestedStorage.distinct)
    func aLabelIsThatOfItsStream(_ kind: TestedStorage) async throws {
        let scenario = try await StorageScenario(Self.config, on: kind)
        let storage = scenario.storage
        func labels() async throws -> [String?] { try await storage.streams().map(\.versionLabel) }
        _ = try await storage.deploy(Self.config, versionLabel: "1", plan: try plan(Self.config))
        let next = try await storage.deploy(Self.changed, versionLabel: "2", plan: try plan(Self.changed))
        #expect(next.versionLabel == "2")
        #expect(try await labels() == ["1", "2"])
        // The one that takes over from a lost one has the same config.
        #expect(try await storage.restart(next.id).versionLabel == "2")
        #expect(try await labels() == ["1", "2", "2"])
        let again = try await storage.deploy(
            Self.config,
            versionLabel: "3",
            plan: try plan(Self.config),
            mode: .again
        )
        #expect(again.versionLabel == "3")
        #expect(try await labels() == ["1", "2", "2", "3"])
    }

    @Test(arguments: TestedStorage.durable)
    func aLabelIsThereInTheNextProcess(_ kind: TestedStorage) async throws {
        var scenario = try await StorageScenario(Self.config, on: kind)
        _ = try await scenario.storage.deploy(Self.config, versionLabel: "1", plan: try plan(Self.config))
        #expect(try await scenario.reopenStorage().streams().map(\.versionLabel) == ["1"])
    }

    @Test(arguments: TestedStorage.distinct)
    func aStreamIsRestartedOnce(_ kind: TestedStorage) async throws {
        let scenario = try await StorageScenario(Self.config, on: kind)
        let storage = scenario.storage
        let next = try await storage.restart(scenario.stream.id)
        #expect(try await storage.restart(scenario.stream.id).id == next.id)
        #expect(try await states(storage) == [.errored, .processing])
        var writer = try await copied(next, in: scenario)
        _ = try await writer.commit(.at(1), createsEmptyCheckpoints: true)
        #expect(try await storage.restart(scenario.stream.id).id == next.id)
        #expect(try await states(storage) == [.stop, .active])
    }

    @Test(arguments: TestedStorage.distinct)
    func aStreamThatIsNotReplicatedHasNoWriter(_ kind: TestedStorage) async throws {
        let scenario = try await StorageScenario(Self.config, on: kind)
        await scenario.home.releaseWriters()
        let next = try await scenario.storage.restart(scenario.stream.id)
        let last = try await deploy(Self.changed, in: scenario.storage)
        #expect(try await states(scenario.storage) == [.errored, .stop, .processing])
        for stream in [scenario.stream, next] {
            await #expect {
                try await scenario.storage.withWriter(of: stream.id) { _ in Issue.record("it is written") }
            } throws: {
                ($0 as? BucketStorageError)?.code == .unknownStream
            }
        }
        try await scenario.storage.withWriter(of: last.id) { _ in }
    }

    @Test(arguments: TestedStorage.distinct, [true, false])
    func theNewestConfigTakesOver(_ kind: TestedStorage, isServedStreamFirst: Bool) async throws {
        let scenario = try await StorageScenario(Self.config, on: kind)
        let storage = scenario.storage
        let copied = try await deploy(Self.changed, in: storage)
        let lost = isServedStreamFirst ? [scenario.stream, copied] : [copied, scenario.stream]
        for stream in lost { _ = try await storage.restart(stream.id) }
        #expect(try await states(storage) == [.errored, .stop, .processing])
        let last = try #require(try await storage.streams().last)
        #expect(last.content == Self.changed)
        var writer = try await self.copied(last, in: scenario)
        _ = try await writer.commit(.at(1), createsEmptyCheckpoints: true)
        #expect(try await states(storage) == [.stop, .stop, .active])
        #expect(try await storage.activeStream()?.id == last.id)
    }

    @Test func clientsNeverGetAnOlderConfigAgain() {
        let states: [ReplicationStream.State] = [.errored, .stop, .processing, .processing]
        let streams = zip((1...4).map { ReplicationStreamID(rawValue: $0) }, states).map { (id: $0, state: $1) }
        var newest = StreamSuccession(streams)
        let isNewestServed = newest.activate(streams[3].id)
        #expect(isNewestServed)
        #expect(newest.changes.map(\.state) == [.stop, .stop, .active])
        var older = StreamSuccession([streams[2], (streams[3].id, .active)])
        let isOlderServed = older.activate(streams[2].id)
        #expect(!isOlderServed)
        #expect(older.changes.map(\.state) == [.stop])
        #expect(older.changes.map(\.id) == [streams[2].id])
    }
}

import NIOConcurrencyHelpers
import PostgresTestSupport
import PowerSyncProtocol
import PowerSyncSyncConfig
import ServiceTestSupport
import Testing

@testable import PowerSyncServiceCore
@testable import PowerSyncServicePostgres

/// What a process keeps in memory of a storage in PostgreSQL that others change (docs/postgres-storage.md "Several processes").
@Suite(.timeLimit(.minutes(1))) struct PostgresMemoryTests {
    private static let config = """
        config:
          edition: 3
        streams:
          g:
            query: SELECT * FROM test
        """

    /// A stream with one row, and another process with its storage.
    private func makeScenario() async throws -> (StorageScenario, table: SourceTable, other: PostgresBucketStorage) {
        var scenario = try await StorageScenario(Self.config, on: .postgres)
        let table = try await scenario.table("test")
        try await scenario.save(.insert(["id": "a"]), of: table)
        try await scenario.commit()
        return (scenario, table, try #require(try await scenario.home.open() as? PostgresBucketStorage))
    }

    /// Whether there are names, a config and a waiting connection of a stream.
    private func remembered(_ stream: ReplicationStreamID, by storage: PostgresBucketStorage) -> [Bool] {
        let serving = ServedConfigID(stream: stream, config: 1)
        return [
            storage.names.withLockedValue { $0[stream] != nil }, storage.configs.known(of: serving) != nil,
            storage.waiting.withLockedValue { $0[stream] != nil },
        ]
    }

    @Test func onlyNamesOfWhatIsPublishedAreKept() async throws {
        let (scenario, table, other) = try await makeScenario()
        let stream = scenario.stream
        // As a flush does that the disk does not have yet.
        try scenario.home.run("INSERT INTO names (stream, name) VALUES (\(stream.id), 'later')")
        let checkpoint = try scenario.checkpoint
        #expect(try await other.allOperations("g|0[]", of: stream, at: checkpoint).map(\.id) == ["a"])
        let names = other.names.withLockedValue { $0[stream.id, default: [:]].values }
        #expect(Set(names.map { String(decoding: $0, as: UTF8.self) }) == [table.id, "test"])
        try other.close()
    }

    @Test(arguments: ["the streams are read", "the storage is followed"])
    func streamsThatAreGoneAreForgotten(noticed: String) async throws {
        let (scenario, _, other) = try await makeScenario()
        let stream = scenario.stream
        let checkpoint = try scenario.checkpoint
        _ = try await other.allOperations("g|0[]", of: stream, at: checkpoint)
        _ = try await other.streams()
        await #expect {
            try await other.withWriter(of: stream.id) { _ in }
        } throws: {
            ($0 as? BucketStorageError)?.code == .inUse
        }
        #expect(remembered(stream.id, by: other) == [true, true, true])
        await scenario.home.releaseWriters()
        try scenario.home.run("UPDATE replication_streams SET state = 'STOP'")
        try await scenario.storage.deleteData(of: stream.id)
        #expect(remembered(stream.id, by: other) == [true, true, true])
        if noticed == "the streams are read" {
            #expect(try await other.streams().isEmpty)
        } else {
            let looked = ChangeSignal()
            try await withThrowingTaskGroup(of: Void.self) { group in
                defer { group.cancelAll() }
                group.addTask { try await other.follow { _ in looked.advance() } }
                try await looked.wait(after: 0)
            }
        }
        #expect(remembered(stream.id, by: other) == [false, false, false])
        try other.close()
    }
}

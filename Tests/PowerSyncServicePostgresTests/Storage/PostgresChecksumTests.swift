import PostgresTestSupport
import PowerSyncProtocol
import PowerSyncSyncConfig
import ServiceTestSupport
import Testing

@testable import PowerSyncServiceCore
@testable import PowerSyncServicePostgres

/// Checksums at a checkpoint while more is written (docs/postgres-storage.md "Tables").
@Suite(.timeLimit(.minutes(1))) struct PostgresChecksumTests {
    private static let config = """
        config:
          edition: 3
        streams:
          g:
            query: SELECT * FROM test
        """

    @Test func whatIsNotPublishedYetIsNotReadHoweverMuchItIs() async throws {
        var scenario = try await StorageScenario(Self.config, on: .postgres)
        let table = try await scenario.table("test")
        let name = BucketName(scenario.stream.bucketPrefix + "g|0[]")
        try await scenario.save(.insert(["id": "a"]), .insert(["id": "b"]), of: table)
        let early = try await scenario.commit()
        let expected = try await scenario.storage.checksums([name], at: early)
        #expect(expected[name]?.count == 2)
        for id in ["c", "d"] {
            try await scenario.save(.insert(["id": .text(id)]), of: table)
            try await scenario.writer.flush()
        }
        try scenario.home.run("UPDATE operations SET checksum = 7 WHERE op_id > \(early.opID)")
        #expect(try await scenario.storage.checksums([name], at: early) == expected)
        // What is published by another commit is in between then, and what follows beyond.
        let later = try await scenario.commit()
        #expect(try await scenario.storage.checksums([name], at: later)[name]?.count == 4)
        try await scenario.save(.insert(["id": "e"]), of: table)
        try await scenario.writer.flush()
        #expect(try await scenario.storage.checksums([name], at: later)[name]?.count == 4)
        #expect(try await scenario.storage.checksums([name], at: early)[name]?.count == 2)
    }

    @Test func aBucketThatWasClearedWhileMoreWasWritten() async throws {
        var scenario = try await StorageScenario(Self.config, on: .postgres)
        let table = try await scenario.table("test")
        let name = BucketName(scenario.stream.bucketPrefix + "g|0[]")
        for _ in 0..<3 {
            try await scenario.save(.insert(["id": "a"]), .delete(key: ["a"]), of: table)
            try await scenario.commit()
        }
        try await scenario.save(.insert(["id": "b"]), of: table)
        let checkpoint = try await scenario.commit()
        let before = try await scenario.storage.checksums([name], at: checkpoint)
        try await scenario.save(.insert(["id": "c"]), of: table)
        try await scenario.writer.flush()
        #expect(try await scenario.storage.compact().clearedOperations > 0)
        let after = try await scenario.storage.checksums([name], at: checkpoint)
        let operations = try await scenario.operations("g|0[]", at: checkpoint)
        #expect(after[name]?.checksum == before[name]?.checksum)
        #expect(after[name]?.count == Int64(operations.count))
        #expect(operations.map(\.checksum).reduce(.zero, +) == after[name]?.checksum)
    }
}

import NIOConcurrencyHelpers
import PowerSyncProtocol
import PowerSyncSyncConfig
import ServiceTestSupport
import Testing

@testable import PowerSyncServiceCore
@testable import PowerSyncServiceSQLite

/// Checksums and chunks (docs/service.md "Reading buckets").
@Suite struct BucketDataTests {
    private static let config = """
        config:
          edition: 3
        streams:
          o:
            query: SELECT id, text FROM test WHERE owner = auth.user_id()
        """

    private func row(_ id: Int, owner: String = "u1", bytes: Int = 0) -> SourceChange {
        .insert([
            "id": .text("\(id)"), "owner": .text(owner), "text": .text(String(repeating: "x", count: bytes)),
        ])
    }

    private func scenario(on kind: TestedStorage, _ changes: [SourceChange]) async throws -> StorageScenario {
        var scenario = try await StorageScenario(Self.config, on: kind)
        let table = try await scenario.table("test")
        _ = try await scenario.writer.save(changes, of: table, mode: .stream)
        try await scenario.commit()
        return scenario
    }

    private func name(_ owner: String) -> BucketName { BucketName(#"1#o|0["\#(owner)"]"#) }

    private func chunks(
        _ scenario: StorageScenario,
        _ positions: [(owner: String, after: Int64)] = [("u1", 0)],
        operations: Int = 1000,
        chunkBytes: Int = 1024 * 1024,
        totalBytes: Int = 8 * 1024 * 1024
    ) async throws -> [Chunk] {
        var limits = BucketDataLimits()
        limits.operations = operations
        limits.chunkBytes = chunkBytes
        limits.totalBytes = totalBytes
        return try await scenario.storage.bucketData(
            positions.map { .init(name: name($0.owner), after: OpID($0.after)) },
            at: try scenario.checkpoint,
            limits: limits
        )
        .map { Chunk($0.line) }
    }

    /// What is compared of a chunk.
    struct Chunk: Equatable {
        var bucket: String
        var count: Int
        var after: Int64
        var nextAfter: Int64
        var hasMore: Bool

        init(_ bucket: String, count: Int, after: Int64, nextAfter: Int64, hasMore: Bool) {
            self.bucket = bucket
            self.count = count
            self.after = after
            self.nextAfter = nextAfter
            self.hasMore = hasMore
        }

        init(_ line: DataLine) {
            bucket = line.bucket.rawValue
            count = line.operations.count
            after = line.after?.rawValue ?? -1
            nextAfter = line.nextAfter?.rawValue ?? -1
            hasMore = line.hasMore
        }
    }

    private let u1 = #"1#o|0["u1"]"#
    private let u2 = #"1#o|0["u2"]"#

    @Test(arguments: TestedStorage.durable)
    func readsAreChainedByTheirPositions(_ kind: TestedStorage) async throws {
        let scenario = try await scenario(on: kind, (1...10).map { row($0) })
        var after: Int64 = 0
        var found: [Chunk] = []
        repeat {
            found += try await chunks(scenario, [("u1", after)], operations: 3)
            after = found.last?.nextAfter ?? 0
        } while found.last?.hasMore == true
        #expect(
            found == [
                Chunk(u1, count: 3, after: 0, nextAfter: 3, hasMore: true),
                Chunk(u1, count: 3, after: 3, nextAfter: 6, hasMore: true),
                Chunk(u1, count: 3, after: 6, nextAfter: 9, hasMore: true),
                Chunk(u1, count: 1, after: 9, nextAfter: 10, hasMore: false),
            ]
        )
    }

    @Test(arguments: TestedStorage.durable)
    func limitCountsAllBuckets(_ kind: TestedStorage) async throws {
        let scenario = try await scenario(
            on: kind,
            [
                row(1), row(2), row(3, owner: "u2"), row(4, owner: "u2"),
            ]
        )
        #expect(
            try await chunks(scenario, [("u2", 0), ("u1", 0)], operations: 3) == [
                Chunk(u1, count: 2, after: 0, nextAfter: 2, hasMore: false),
                Chunk(u2, count: 1, after: 0, nextAfter: 3, hasMore: true),
            ]
        )
    }

    @Test(arguments: TestedStorage.durable)
    func largeOperationIsAloneInItsChunk(_ kind: TestedStorage) async throws {
        let scenario = try await scenario(on: kind, [row(1), row(2, bytes: 5 * 1024 * 1024), row(3), row(4)])
        #expect(
            try await chunks(scenario) == [
                Chunk(u1, count: 1, after: 0, nextAfter: 1, hasMore: true),
                Chunk(u1, count: 1, after: 1, nextAfter: 2, hasMore: true),
                Chunk(u1, count: 2, after: 2, nextAfter: 4, hasMore: false),
            ]
        )
    }

    @Test(arguments: TestedStorage.durable)
    func threeRowsOf600KiBAreThreeChunks(_ kind: TestedStorage) async throws {
        let scenario = try await scenario(on: kind, (1...3).map { row($0, bytes: 600 * 1024) })
        #expect(try await chunks(scenario).map(\.count) == [1, 1, 1])
        #expect(try await chunks(scenario).map(\.hasMore) == [true, true, false])
    }

    @Test(arguments: TestedStorage.durable)
    func exactlyTheLimitHasMoreAndThenNothing(_ kind: TestedStorage) async throws {
        let scenario = try await scenario(on: kind, (1...1000).map { row($0) })
        #expect(
            try await chunks(scenario) == [Chunk(u1, count: 1000, after: 0, nextAfter: 1000, hasMore: true)]
        )
        #expect(try await chunks(scenario, [("u1", 1000)]).isEmpty)
    }

    @Test(arguments: TestedStorage.durable)
    func nothingIsReadBeyondTheCheckpoint(_ kind: TestedStorage) async throws {
        var scenario = try await scenario(on: kind, [row(1)])
        #expect(try await chunks(scenario, [("u1", 99)]).isEmpty)
        #expect(try await chunks(scenario, [("u9", 0)]).isEmpty)
        let table = try await scenario.table("test")
        try await scenario.save(row(2), of: table)
        try await scenario.writer.flush()
        #expect(try await chunks(scenario).map(\.count) == [1])
    }

    @Test(arguments: TestedStorage.durable) func readThatIsLargeEnoughEndsAndSaysThatThereIsMore(
        _ kind: TestedStorage
    ) async throws {
        let changes = (1...6).map { row($0, owner: $0 <= 3 ? "u1" : "u2", bytes: 500) }
        let scenario = try await scenario(on: kind, changes)
        var found: [Chunk] = []
        var after: [String: Int64] = ["u1": 0, "u2": 0]
        repeat {
            let read = try await chunks(
                scenario,
                after.map { ($0.key, $0.value) },
                chunkBytes: 600,
                totalBytes: 900
            )
            for chunk in read { after[chunk.bucket == u1 ? "u1" : "u2"] = chunk.nextAfter }
            found += read
        } while found.last?.hasMore == true
        #expect(found.map(\.count).reduce(0, +) == 6)
        #expect(found.map(\.after) == [0, 1, 2, 0, 4, 5])
    }

    @Test(arguments: TestedStorage.durable) func operationsCarryTheirTexts(_ kind: TestedStorage) async throws {
        var scenario = try await scenario(on: kind, [row(1)])
        let table = try await scenario.table("test")
        try await scenario.save(.delete(key: ["1"]), of: table)
        try await scenario.commit()
        let operations = try await scenario.operations(#"o|0["u1"]"#)
        let key = ReplicaID([SourceRow.Column(name: "id", value: "1")])
        var hasher = ContentHasher(key: [])
        #expect(operations.map(\.subkey) == ["\(table.id)/\(key)", "\(table.id)/\(key)"])
        #expect(operations.map(\.data) == [#"{"id":"1","text":""}"#, nil])
        #expect(operations.map(\.table) == ["test", "test"])
        #expect(
            operations.map(\.checksum) == [
                hasher.put(table: "test", id: "1", data: #"{"id":"1","text":""}"#).checksum,
                Checksum.remove(subkey: "\(table.id)/\(key)".utf8),
            ]
        )
    }

    // MARK: Checksums

    @Test(arguments: TestedStorage.durable)
    func checksumsAreTheSumsOfTheOperations(_ kind: TestedStorage) async throws {
        var scenario = try await scenario(on: kind, (1...5).map { row($0) })
        let first = try scenario.checkpoint
        let table = try await scenario.table("test")
        for id in 6...9 { try await scenario.save(row(id), of: table) }
        let second = try await scenario.commit()

        for checkpoint in [first, second, first] {
            let sums = try await scenario.storage.checksums([name("u1"), name("u9")], at: checkpoint)
            let operations = try await scenario.operations(#"o|0["u1"]"#, at: checkpoint)
            let sum = operations.map(\.checksum).reduce(.zero, +)
            #expect(sums[name("u1")] == BucketChecksum(checksum: sum, count: Int64(operations.count)))
            #expect(sums[name("u9")] == .empty)
        }
    }
}

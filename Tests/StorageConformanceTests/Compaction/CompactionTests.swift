import GRDB
import NIOConcurrencyHelpers
import PostgresTestSupport
import PowerSyncProtocol
import PowerSyncSyncConfig
import ServiceTestSupport
import Testing
import TestSupport

@testable import PowerSyncServiceCore
@testable import PowerSyncServiceSQLite

/// Compaction (docs/service.md "Compaction").
@Suite(.timeLimit(.minutes(1))) struct CompactionTests {
    private static let config = """
        config:
          edition: 3
        streams:
          g:
            query: SELECT * FROM test
          o:
            query: SELECT * FROM test WHERE owner = auth.user_id()
          d:
            query: SELECT * FROM docs WHERE grp IN (SELECT grp FROM m WHERE uid = auth.user_id())
        """
    private static let bucket = "g|0[]"

    private func scenario(_ kind: TestedStorage = .sqlite) async throws -> (StorageScenario, SourceTable) {
        var scenario = try await StorageScenario(Self.config, on: kind)
        let table = try await scenario.table("test")
        return (scenario, table)
    }

    private func checksum(_ scenario: StorageScenario, _ bucket: String = Self.bucket) async throws -> BucketChecksum {
        let name = BucketName(scenario.stream.bucketPrefix + bucket)
        return try await scenario.storage.checksums([name], at: try scenario.checkpoint)[name] ?? .empty
    }

    @Test(arguments: TestedStorage.durable)
    func supersededOperationsBecomeAClear(_ kind: TestedStorage) async throws {
        var (scenario, table) = try await scenario(kind)
        try await scenario.save(
            .insert(["id": "r1", "v": 1]),
            .insert(["id": "r2", "v": 1]),
            .update(["id": "r1", "v": 2]),
            .delete(key: ["r2"]),
            of: table
        )
        try await scenario.commit()
        let before = try await checksum(scenario)
        let rows = try await scenario.rows(Self.bucket)
        let result = try await scenario.storage.compact()
        #expect(result.movedOperations == 2)
        #expect(try await scenario.summary(Self.bucket) == ["CLEAR ", "PUT r1", "REMOVE r2"])
        #expect(try await scenario.rows(Self.bucket) == rows)
        #expect(try await checksum(scenario) == BucketChecksum(checksum: before.checksum, count: 3))
        #expect(try await scenario.operations(Self.bucket).map(\.opID) == [OpID(2), OpID(3), OpID(4)])

        let name = BucketName(scenario.stream.bucketPrefix + Self.bucket)
        let chunks = try await scenario.storage.bucketData([.init(name: name, after: .zero)], at: scenario.checkpoint)
        #expect(chunks.first?.targetOp == OpID(4))
    }

    @Test(arguments: TestedStorage.durable)
    func rowThatChangesOftenIsTwoOperations(_ kind: TestedStorage) async throws {
        var (scenario, table) = try await scenario(kind)
        try await scenario.save(.insert(["id": "a", "v": 0]), of: table)
        for value in 1..<1000 { try await scenario.save(.update(["id": "a", "v": .integer(Int64(value))]), of: table) }
        try await scenario.commit()
        let before = try await checksum(scenario)
        let result = try await scenario.storage.compact()
        #expect(result.movedOperations == 999)
        #expect(try await scenario.summary(Self.bucket) == ["CLEAR ", "PUT a"])
        #expect(try await scenario.operations(Self.bucket).map(\.opID) == [OpID(999), OpID(1000)])
        #expect(try await checksum(scenario).checksum == before.checksum)

        // Again and again: the clear at the beginning takes up what was added.
        for value in 0..<3 {
            try await scenario.save(.update(["id": "a", "v": .integer(Int64(value))]), of: table)
            try await scenario.commit()
            _ = try await scenario.storage.compact()
            #expect(try await scenario.summary(Self.bucket) == ["CLEAR ", "PUT a"])
        }
        #expect(try await scenario.storage.compact() == CompactionResult())
    }

    @Test(arguments: TestedStorage.durable)
    func removedRowsAreOneClear(_ kind: TestedStorage) async throws {
        var (scenario, table) = try await scenario(kind)
        try await scenario.save(
            .insert(["id": "a"]),
            .insert(["id": "b"]),
            .delete(key: ["a"]),
            .delete(key: ["b"]),
            of: table
        )
        try await scenario.commit()
        let before = try await checksum(scenario)
        _ = try await scenario.storage.compact()
        #expect(try await scenario.summary(Self.bucket) == ["CLEAR "])
        #expect(try await scenario.operations(Self.bucket).map(\.opID) == [OpID(4)])
        #expect(try await checksum(scenario) == BucketChecksum(checksum: before.checksum, count: 1))
        let name = BucketName(scenario.stream.bucketPrefix + Self.bucket)
        let chunks = try await scenario.storage.bucketData([.init(name: name, after: .zero)], at: scenario.checkpoint)
        #expect(chunks.first?.targetOp == OpID(4))
    }

    @Test(arguments: TestedStorage.durable)
    func aSingleOperationIsNotCleared(_ kind: TestedStorage) async throws {
        var (scenario, table) = try await scenario(kind)
        try await scenario.save(.insert(["id": "a"]), .insert(["id": "b"]), .insert(["id": "c"]), of: table)
        try await scenario.commit()
        // A bucket gets its first removal behind a row, which compaction takes away together with it.
        let sql = """
            UPDATE operations SET op = 'R', data = NULL WHERE op_id = 1;
            UPDATE buckets SET is_uncleared = true;
            """
        if kind == .postgres {
            try scenario.home.run(sql)
        } else {
            try await scenario.storage.pool.write { db in try db.execute(sql: sql) }
        }
        let before = try await checksum(scenario)
        #expect(try await scenario.storage.compact() == CompactionResult())
        #expect(try await scenario.summary(Self.bucket) == ["REMOVE a", "PUT b", "PUT c"])
        #expect(try await checksum(scenario) == before)
    }

    @Test(arguments: TestedStorage.durable)
    func manyOperationsAreMovedAndClearedInSteps(_ kind: TestedStorage) async throws {
        var (scenario, table) = try await scenario(kind)
        let text = SQLValue.text(String(repeating: "x", count: 200))
        func rows(_ version: Int64) -> [SourceChange] {
            (0..<1250).map { .update(["id": .text("r\($0)"), "v": .integer(version), "text": text]) }
        }
        let changes = [SourceChange.insert(["id": "first"])] + rows(0) + rows(1) + rows(2)
        _ = try await scenario.writer.save(changes, of: table, mode: .stream)
        try await scenario.commit()
        let written = try await scenario.operations(Self.bucket)
        let rowKinds = [String](repeating: "PUT", count: 1250)
        var sum = try await checksum(scenario)
        var result = try await scenario.storage.compact()
        #expect(result.movedOperations == 2500 && result.clearedOperations == 0)
        let moved = try await scenario.operations(Self.bucket)
        #expect(moved.map(\.kind) == ["PUT"] + [String](repeating: "MOVE", count: 2500) + rowKinds)
        #expect(moved.map(\.opID) == written.map(\.opID) && moved.map(\.checksum) == written.map(\.checksum))
        #expect(moved.suffix(1250) == written.suffix(1250))
        #expect(try await checksum(scenario) == sum)

        // Without the row at the beginning, all of these leave nothing behind.
        try await scenario.save(.delete(key: ["first"]), of: table)
        try await scenario.commit()
        let left = try await scenario.rows(Self.bucket)
        sum = try await checksum(scenario)
        result = try await scenario.storage.compact()
        #expect(result.movedOperations == 1 && result.clearedOperations == 2500)
        let cleared = try await scenario.operations(Self.bucket)
        #expect(cleared.map(\.kind) == ["CLEAR"] + rowKinds + ["REMOVE"])
        #expect(cleared.first?.opID == OpID(2501))
        #expect(try await scenario.rows(Self.bucket) == left)
        #expect(try await checksum(scenario) == BucketChecksum(checksum: sum.checksum, count: 1252))
    }

    @Test(arguments: TestedStorage.durable) func operationsAboveTheCheckpointAreLeftAlone(
        _ kind: TestedStorage
    ) async throws {
        var (scenario, table) = try await scenario(kind)
        try await scenario.save(.insert(["id": "a", "v": 1]), .update(["id": "a", "v": 2]), of: table)
        try await scenario.commit()
        try await scenario.save(.update(["id": "a", "v": 3]), .update(["id": "a", "v": 4]), of: table)
        try await scenario.writer.flush()
        #expect(try await scenario.storage.compact().movedOperations == 1)
        #expect(try await scenario.rows(Self.bucket) == ["test/a": #"{"id":"a","v":2}"#])
        try await scenario.commit()
        #expect(try await scenario.summary(Self.bucket) == ["MOVE ", "PUT a", "PUT a", "PUT a"])
        _ = try await scenario.storage.compact()
        #expect(try await scenario.summary(Self.bucket) == ["CLEAR ", "PUT a"])
    }

    @Test(arguments: TestedStorage.durable) func bucketsOfARowAreCompactedByThemselves(
        _ kind: TestedStorage
    ) async throws {
        var (scenario, table) = try await scenario(kind)
        try await scenario.save(
            .insert(["id": "a", "owner": "u1"]),
            .update(["id": "a", "owner": "u2"]),
            .update(["id": "a", "owner": "u2", "v": 1]),
            of: table
        )
        try await scenario.commit()
        _ = try await scenario.storage.compact()
        #expect(try await scenario.summary(#"o|0["u1"]"#) == ["CLEAR "])
        #expect(try await scenario.summary(#"o|0["u2"]"#) == ["MOVE ", "PUT a"])
        #expect(try await scenario.rows(Self.bucket).count == 1)
    }

    @Test(arguments: TestedStorage.durable) func streamThatIsNotActiveIsSkipped(_ kind: TestedStorage) async throws {
        var scenario = try await StorageScenario(Self.config, on: kind, isActive: false)
        let table = try await scenario.table("test")
        try await scenario.save(.insert(["id": "a", "v": 1]), .update(["id": "a", "v": 2]), of: table)
        try await scenario.writer.flush()
        #expect(try await scenario.storage.compact() == CompactionResult())
    }

    @Test(arguments: TestedStorage.durable)
    func earlierCheckpointIsInvalidated(_ kind: TestedStorage) async throws {
        var (scenario, table) = try await scenario(kind)
        let m = try await scenario.table("m")
        try await scenario.save(.insert(["id": "m1", "uid": "u1", "grp": "g1"]), of: m)
        try await scenario.save(.insert(["id": "a", "v": 1]), .insert(["id": "b"]), of: table)
        let early = try await scenario.commit()
        try await scenario.save(.update(["id": "m1", "uid": "u1", "grp": "g2"]), of: m)
        try await scenario.save(
            .update(["id": "a", "v": 2]),
            .delete(key: ["b"]),
            .update(["id": "a", "v": 3]),
            of: table
        )
        let late = try await scenario.commit()
        let lookup = #"0["u1"]"#
        #expect(try await scenario.lookUp(lookup, at: early) == [ParameterRow(values: [.text("g1")])])
        _ = try await scenario.storage.compact()

        func isInvalidated(_ body: () async throws -> Void) async -> Bool {
            do {
                try await body()
                return false
            } catch {
                return (error as? BucketStorageError)?.code == .checkpointInvalidated
            }
        }
        let storage = scenario.storage
        let name = BucketName(scenario.stream.bucketPrefix + Self.bucket)
        let other = BucketName(scenario.stream.bucketPrefix + #"o|0["nobody"]"#)
        #expect(await isInvalidated { _ = try await scenario.lookUp(lookup, at: early) })
        #expect(try await scenario.lookUp(lookup, at: late) == [ParameterRow(values: [.text("g2")])])
        #expect(try await storage.changes(from: early, to: late) != .known(buckets: [], lookups: []))
        _ = try await storage.checksums([other], at: early)
        _ = try await storage.checksums([name], at: late)
        #expect(await isInvalidated { _ = try await storage.checksums([name], at: early) })
        #expect(await isInvalidated { _ = try await storage.bucketData([.init(name: name, after: .zero)], at: early) })
    }

    @Test func anotherProcessCompactsWhileTheServiceRuns() async throws {
        var (scenario, table) = try await scenario()
        try await scenario.save(.insert(["id": "a", "v": 1]), .update(["id": "a", "v": 2]), of: table)
        try await scenario.commit()
        let other = try SQLiteBucketStorage(path: scenario.folder.path("buckets.db"), use: .maintenance)
        #expect(try await other.compact().movedOperations == 1)
        try other.close()
        try await scenario.save(.update(["id": "a", "v": 3]), of: table)
        try await scenario.commit()
        #expect(try await scenario.rows(Self.bucket) == ["test/a": #"{"id":"a","v":3}"#])
    }

    @Test func aCompactionThatIsCancelledHalfWayLeavesWhatIsRightAndTheNextOneDoesTheRest() async throws {
        /// A row of each of three users, written again and again.
        func written() async throws -> StorageScenario {
            var (scenario, table) = try await self.scenario()
            for value in 0..<400 {
                for owner in ["u1", "u2", "u3"] {
                    try await scenario.save(
                        .update(["id": .text(owner), "owner": .text(owner), "v": .integer(Int64(value))]),
                        of: table
                    )
                }
            }
            try await scenario.commit()
            return scenario
        }
        let buckets = [Self.bucket, #"o|0["u1"]"#, #"o|0["u2"]"#, #"o|0["u3"]"#]
        var interrupted = try await written()
        let whole = try await written()
        let superseded = try #require(try await interrupted.rowCount("superseded_operations"))

        let (starts, start) = AsyncStream.makeStream(of: Void.self)
        let compaction = Task { [storage = interrupted.storage] in
            for await _ in starts { break }
            return try await storage.compact()
        }
        let observer = FirstChange { compaction.cancel() }
        interrupted.storage.pool.add(transactionObserver: observer)
        start.yield()
        await #expect(throws: CancellationError.self) { try await compaction.value }
        withExtendedLifetime(observer) {}
        let left = try #require(try await interrupted.rowCount("superseded_operations"))
        #expect(0 < left && left < superseded)

        func expectRows(_ scenario: StorageScenario) async throws {
            for bucket in buckets {
                let operations = try await scenario.operations(bucket)
                var sum = Checksum.zero
                for operation in operations { sum += operation.checksum }
                let checksum = try await self.checksum(scenario, bucket)
                #expect(checksum == BucketChecksum(checksum: sum, count: Int64(operations.count)), "\(bucket)")
                // The other one is as it was written.
                #expect(try await self.checksum(whole, bucket).checksum == sum, "\(bucket)")
                #expect(try await scenario.rows(bucket) == whole.rows(bucket), "\(bucket)")
            }
        }
        try await expectRows(interrupted)
        try await interrupted.reopen()
        try await expectRows(interrupted)

        let rest = try await interrupted.storage.compact()
        try await expectRows(interrupted)
        let all = try await whole.storage.compact()
        #expect(rest.movedOperations == left && all.movedOperations == superseded)
        for bucket in buckets {
            var (operations, others) = (try await interrupted.operations(bucket), try await whole.operations(bucket))
            // Ids of source tables, which are parts of subkeys, are random.
            for index in operations.indices { operations[index].subkey = "" }
            for index in others.indices { others[index].subkey = "" }
            #expect(operations == others, "\(bucket)")
        }
        #expect(try await interrupted.storage.compact() == CompactionResult())
    }

    @Test func storageThatIsNotThereIsNotCompacted() throws {
        let folder = try TemporaryFolder()
        #expect { try SQLiteBucketStorage(path: folder.path("none.db"), use: .maintenance) } throws: {
            ($0 as? BucketStorageError)?.code == .cannotOpen
        }
    }
}

/// Calls back when the transaction is committed with which a compaction changes something for the first time.
private final class FirstChange: TransactionObserver, Sendable {
    private let isSeen = NIOLockedValueBox(false)
    private let didCommit: @Sendable () -> Void

    init(didCommit: @escaping @Sendable () -> Void) {
        self.didCommit = didCommit
    }

    func observes(eventsOfKind eventKind: DatabaseEventKind) -> Bool {
        // Earlier checkpoints become unreadable.
        if case .update(tableName: "replication_streams", columnNames: _) = eventKind { true } else { false }
    }

    func databaseDidChange(with event: DatabaseEvent) {
        isSeen.withLockedValue { $0 = true }
    }

    func databaseDidCommit(_ db: Database) {
        if isSeen.withLockedValue({ $0 }) { didCommit() }
    }

    func databaseDidRollback(_ db: Database) {}
}

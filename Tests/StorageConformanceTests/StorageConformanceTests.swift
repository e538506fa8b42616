import NIOConcurrencyHelpers
import PostgresTestSupport
import PowerSyncProtocol
import PowerSyncSyncConfig
import PowerSyncTesting
import ServiceTestSupport
import Testing
import TestSupport

@testable import PowerSyncServiceCore
@testable import PowerSyncServiceSQLite

/// What every storage does, one list of cases for all of them (docs/service.md "Rows and operations", "Checkpoints").
@Suite(.timeLimit(.minutes(2))) struct StorageConformanceTests {
    private static let config = """
        config:
          edition: 3
        streams:
          g:
            query: SELECT id, description FROM test
          o:
            query: SELECT client_id AS id, owner FROM test WHERE owner = auth.user_id()
          f:
            query: SELECT id FROM test WHERE NOT archived
          d:
            query: SELECT * FROM docs WHERE grp IN (SELECT grp FROM m WHERE uid = auth.user_id())
        """

    /// A storage with a stream.
    private struct Scenario {
        let kind: TestedStorage
        let home: any StorageHome
        let storage: any BucketStorage
        let stream: ReplicationStream
        var position: Int64 = 0

        init(_ kind: TestedStorage) async throws {
            self.kind = kind
            home = try kind.home()
            storage = try await home.open(StorageOptions(makeID: Self.makeIDs()))
            stream = try await storage.deploy(config, plan: try plan(config))
        }

        /// Ids like those of the model: they are part of checksums.
        private static func makeIDs() -> @Sendable () -> String {
            let count = NIOLockedValueBox(-1)
            return {
                count.withLockedValue { count in
                    defer { count += 1 }
                    return count < 0 ? "slot" : "table\(count)of0"
                }
            }
        }

        mutating func commit(_ writer: inout any BucketStorageWriter) async throws -> StorageCheckpoint {
            position += 1
            let result = try await writer.commit(.at(position), createsEmptyCheckpoints: true)
            guard case .created(let checkpoint) = result else { throw ScenarioError.noCheckpoint(result) }
            return checkpoint
        }

        func bucket(_ name: String) -> BucketName { BucketName(stream.bucketPrefix + name) }

        /// All operations of a bucket, a few at a time.
        func operations(_ bucket: String, at checkpoint: StorageCheckpoint) async throws -> [ReadOperation] {
            var operations: [ReadOperation] = []
            var limits = BucketDataLimits()
            limits.operations = 3
            var after = OpID.zero
            while true {
                let chunks = try await storage.bucketData(
                    [.init(name: self.bucket(bucket), after: after)],
                    at: checkpoint,
                    limits: limits
                )
                for chunk in chunks {
                    operations += chunk.line.operations.map { ReadOperation($0, in: chunk.line) }
                    after = chunk.line.nextAfter ?? after
                }
                guard chunks.last?.line.hasMore ?? false else { return operations }
            }
        }
    }

    private static func table(_ name: String, _ writer: inout any BucketStorageWriter) async throws -> SourceTable {
        let descriptor = SourceTableDescriptor(
            name: SourceTableName(schema: "main", name: name),
            relationID: name,
            identity: [SourceTableDescriptor.IdentityColumn(name: "id", type: "TEXT")]
        )
        return try await writer.resolveTable(descriptor).table
    }

    /// Changes of `test`, and the operations that bucket `g` gets.
    struct Case: Sendable, CustomTestStringConvertible {
        var name: String
        var changes: [SourceChange]
        var bucket = "g|0[]"
        var operations: [String]
        var testDescription: String { name }
    }

    static let cases = [
        Case(
            name: "inserted and deleted",
            changes: [.insert(["id": "a"]), .delete(key: ["a"])],
            operations: ["PUT a", "REMOVE a"]
        ),
        Case(
            name: "inserted again in one batch",
            changes: [.insert(["id": "a"]), .delete(key: ["a"]), .insert(["id": "a"])],
            operations: ["PUT a", "REMOVE a", "PUT a"]
        ),
        Case(
            name: "deleted twice",
            changes: [.insert(["id": "a"]), .delete(key: ["a"]), .delete(key: ["a"])],
            operations: ["PUT a", "REMOVE a"]
        ),
        Case(
            name: "replayed insert",
            changes: [.insert(["id": "a"]), .insert(["id": "a"])],
            operations: ["PUT a", "PUT a"]
        ),
        Case(
            name: "updated to the same",
            changes: [.insert(["id": "a"]), .update(["id": "a"])],
            operations: ["PUT a"]
        ),
        Case(
            name: "a column that nobody reads",
            changes: [
                .insert(["id": "a", "seen": 1]), .update(["id": "a", "seen": 2]), .update(["id": "a", "seen": 3]),
            ],
            operations: ["PUT a"]
        ),
        Case(
            name: "updated to the same and deleted",
            changes: [.insert(["id": "a"]), .update(["id": "a"]), .delete(key: ["a"]), .insert(["id": "a"])],
            operations: ["PUT a", "REMOVE a", "PUT a"]
        ),
        Case(
            name: "there and back",
            changes: [
                .insert(["id": "a", "description": "1"]), .update(["id": "a", "description": "2"]),
                .update(["id": "a", "description": "1"]), .update(["id": "a", "description": "1"]),
            ],
            operations: ["PUT a", "PUT a", "PUT a"]
        ),
        Case(
            name: "texts that differ in their bytes only",
            changes: [
                .insert(["id": "a", "description": "\u{e9}"]), .update(["id": "a", "description": "e\u{301}"]),
            ],
            operations: ["PUT a", "PUT a"]
        ),
        Case(
            name: "values that differ in their type only",
            changes: [.insert(["id": "a", "description": "1"]), .update(["id": "a", "description": 1])],
            operations: ["PUT a", "PUT a"]
        ),
        Case(
            name: "out of a bucket and back with the same",
            changes: [
                .insert(["id": "a", "archived": 0]), .update(["id": "a", "archived": 1]),
                .update(["id": "a", "archived": 0]), .update(["id": "a", "archived": 0, "seen": 1]),
            ],
            bucket: "f|0[]",
            operations: ["PUT a", "REMOVE a", "PUT a"]
        ),
        Case(
            name: "another key and back, with the same",
            changes: [
                .insert(["id": "a"]), .update(["id": "b"], oldKey: ["a"]), .update(["id": "a"], oldKey: ["b"]),
            ],
            operations: ["PUT a", "REMOVE a", "PUT b", "REMOVE b", "PUT a"]
        ),
        Case(
            name: "another row id under the same key",
            changes: [
                .insert(["id": "k", "client_id": "a", "owner": "u1"]),
                .update(["id": "k", "client_id": "b", "owner": "u1"]),
            ],
            bucket: #"o|0["u1"]"#,
            operations: ["PUT a", "PUT b", "REMOVE a"]
        ),
        Case(
            name: "another key",
            changes: [.insert(["id": "a"]), .update(["id": "b"], oldKey: ["a"])],
            operations: ["PUT a", "REMOVE a", "PUT b"]
        ),
        Case(
            name: "keys that move up",
            changes: [
                .insert(["id": "1"]), .insert(["id": "2"]), .update(["id": "3"], oldKey: ["2"]),
                .update(["id": "2"], oldKey: ["1"]),
            ],
            operations: ["PUT 1", "PUT 2", "REMOVE 2", "PUT 3", "REMOVE 1", "PUT 2"]
        ),
        Case(
            name: "another owner",
            changes: [.insert(["id": "k", "client_id": "a", "owner": "u1"]), .update(["id": "k", "owner": "u2"])],
            bucket: #"o|0["u1"]"#,
            operations: ["PUT a", "REMOVE a"]
        ),
        Case(
            name: "left out by a filter",
            changes: [.insert(["id": "a", "archived": 0]), .update(["id": "a", "archived": 1])],
            bucket: "f|0[]",
            operations: ["PUT a", "REMOVE a"]
        ),
        Case(
            name: "too large for the bucket, then deleted",
            changes: [.insert(["id": "a"]), .update(["id": "a", "description": tooLarge]), .delete(key: ["a"])],
            operations: ["PUT a", "REMOVE a"]
        ),
        Case(
            name: "too large for the bucket, then small",
            changes: [
                .insert(["id": "a"]), .update(["id": "a", "description": tooLarge]), .update(["id": "a"]),
                .update(["id": "a", "description": "small"]),
            ],
            operations: ["PUT a", "PUT a"]
        ),
        Case(
            name: "too large for another bucket",
            changes: [
                .insert(["id": "k", "client_id": "a", "owner": "u1"]),
                .update(["id": "k", "client_id": "b", "owner": "u1", "description": tooLarge]),
                .update(["id": "k", "client_id": "b", "owner": "u2", "description": tooLarge]),
            ],
            bucket: #"o|0["u1"]"#,
            operations: ["PUT a", "PUT b", "REMOVE a", "REMOVE b"]
        ),
        Case(
            name: "too large when it is inserted",
            changes: [.insert(["id": "a", "description": tooLarge]), .delete(key: ["a"]), .insert(["id": "a"])],
            operations: ["PUT a"]
        ),
    ]

    private static let tooLarge = SQLValue.text(String(repeating: "x", count: RecordBuilder.maximumDataBytes))

    @Test(arguments: TestedStorage.all, cases)
    func changesBecomeOperations(_ kind: TestedStorage, _ testCase: Case) async throws {
        var scenario = try await Scenario(kind)
        let storage = scenario.storage
        let checkpoint = try await storage.withWriter(of: scenario.stream.id) { writer in
            try await writer.setResumePosition(.at(0))
            try await writer.markSnapshotDone(noCheckpointBefore: .at(0))
            let table = try await Self.table("test", &writer)
            _ = try await writer.save(testCase.changes, of: table, mode: .stream)
            return try await scenario.commit(&writer)
        }
        try await storage.seal()
        let found = try await scenario.operations(testCase.bucket, at: checkpoint)
        #expect(found.map { "\($0.kind) \($0.id)" } == testCase.operations)
    }

    /// 1,000 updates of columns that neither buckets nor indexes have.
    @Test(arguments: TestedStorage.all)
    func whatGivesNothingNewIsNotPublished(_ kind: TestedStorage) async throws {
        var scenario = try await Scenario(kind)
        let storage = scenario.storage
        try await storage.withWriter(of: scenario.stream.id) { writer in
            try await writer.setResumePosition(.at(0))
            try await writer.markSnapshotDone(noCheckpointBefore: .at(0))
            // All columns of `docs` are read.
            func rows(seen: SQLValue) -> [(table: String, row: SourceRow)] {
                [
                    ("test", ["id": "a", "client_id": "c", "owner": "u1", "archived": 0, "seen": seen]),
                    ("docs", ["id": "d", "grp": "g1"]), ("m", ["id": "m", "uid": "u1", "grp": "g1", "seen": seen]),
                ]
            }
            for (name, row) in rows(seen: .null) {
                _ = try await writer.save([.insert(row)], of: try await Self.table(name, &writer), mode: .stream)
            }
            let first = try await scenario.commit(&writer)
            for number in 1...1_000 as ClosedRange<Int64> {
                for (name, row) in rows(seen: .integer(number)) {
                    _ = try await writer.save([.update(row)], of: try await Self.table(name, &writer), mode: .stream)
                }
                if number % 100 == 0 {
                    #expect(
                        try await writer.commit(.at(scenario.position), createsEmptyCheckpoints: false) == .unchanged
                    )
                }
            }
            // A position that somebody waits for is published all the same.
            #expect(try await scenario.commit(&writer).opID == first.opID)
            let change = SourceChange.update(["id": "m", "uid": "u2", "grp": "g1", "seen": 0])
            _ = try await writer.save([change], of: try await Self.table("m", &writer), mode: .stream)
            // The new lookup has an entry, and the old one a tombstone.
            #expect(try await scenario.commit(&writer).opID.rawValue == first.opID.rawValue + 2)
        }
    }

    @Test(arguments: TestedStorage.all)
    func checkpointsWaitForTheSnapshotAndNeverGoBack(_ kind: TestedStorage) async throws {
        let scenario = try await Scenario(kind)
        try await scenario.storage.withWriter(of: scenario.stream.id) { writer in
            try await writer.setResumePosition(.at(1))
            #expect(try await writer.commit(.at(5), createsEmptyCheckpoints: true) == .blocked)
            try await writer.markSnapshotDone(noCheckpointBefore: .at(7))
            #expect(try await writer.commit(.at(6), createsEmptyCheckpoints: true) == .blocked)
            #expect(try await writer.makeDurable() == nil)
            let first = StorageCheckpoint(streamID: scenario.stream.id, opID: .zero, lsn: .at(7))
            #expect(try await writer.commit(.at(7), createsEmptyCheckpoints: true) == .created(first))
            #expect(try await writer.commit(.at(6), createsEmptyCheckpoints: true) == .blocked)
            #expect(try await writer.commit(.at(8), createsEmptyCheckpoints: false) == .unchanged)
            #expect(try await writer.makeDurable()?.position == .at(7))
        }
        #expect(try await scenario.storage.activeStream()?.id == scenario.stream.id)
    }

    @Test(arguments: (1...8 as ClosedRange<UInt64>).one(in: 2))
    func randomChangesReadThroughAllStorages(seed: UInt64) async throws {
        var random = SeededGenerator(seed: seed)
        var scenarios: [Scenario] = []
        for kind in TestedStorage.all { scenarios.append(try await Scenario(kind)) }
        let script = (0..<40).map { _ in random.next() }
        var checkpoints = [[StorageCheckpoint]](repeating: [], count: scenarios.count)
        for index in scenarios.indices {
            var scenario = scenarios[index]
            checkpoints[index] = try await scenario.storage.withWriter(of: scenario.stream.id) { writer in
                try await writer.setResumePosition(.at(0))
                try await writer.markSnapshotDone(noCheckpointBefore: .at(0))
                var made: [StorageCheckpoint] = []
                for step in script {
                    var random = SeededGenerator(seed: step)
                    try await Self.write(&random, &writer)
                    if random.number(below: 2) == 0 { try await writer.flush() }
                    made.append(try await scenario.commit(&writer))
                    if random.number(below: 3) == 0 { try await scenario.storage.seal() }
                }
                return made
            }
            scenarios[index] = scenario
        }
        for index in scenarios.indices.dropFirst() {
            #expect(checkpoints[0] == checkpoints[index], "seed \(seed)")
            for (earlier, later) in zip(checkpoints[0], checkpoints[0].dropFirst()) {
                try await expectSame(scenarios[0], scenarios[index], earlier, later, "seed \(seed)")
            }
            // After compaction, the newest checkpoint has the same rows and sums.
            _ = try await scenarios[index].storage.compact()
            guard let newest = checkpoints[0].last else { continue }
            for bucket in Self.buckets {
                let model = try await scenarios[0].operations(bucket, at: newest)
                let found = try await scenarios[index].operations(bucket, at: newest)
                #expect(reduce(found) == reduce(model), "seed \(seed) \(bucket)")
                #expect(found.map(\.checksum).reduce(.zero, +) == model.map(\.checksum).reduce(.zero, +))
                #expect(found.count <= model.count)
            }
        }
    }

    @Test(arguments: [TestedStorage.sqlite, .sealed, .postgres])
    func compactionBesideAWriterLosesNothing(_ kind: TestedStorage) async throws {
        let (model, scenario) = (try await Scenario(.inMemory), try await Scenario(kind))
        let storage = scenario.storage
        let (moved, isWritten) = (NIOLockedValueBox(0), NIOLockedValueBox(false))
        let (steps, newest) = try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                while !isWritten.withLockedValue({ $0 }) {
                    try Task.checkCancellation()
                    let result = try await storage.compact()
                    moved.withLockedValue { $0 += result.movedOperations }
                    try await storage.seal()
                }
            }
            // Not before something was compacted.
            let written = try await Self.write(to: scenario) { count in
                count < 60 || moved.withLockedValue { $0 } == 0
            }
            isWritten.withLockedValue { $0 = true }
            try await group.waitForAll()
            return written
        }
        let (_, expected) = try await Self.write(to: model) { $0 < steps }
        #expect(newest == expected)
        for bucket in Self.buckets {
            let found = try await scenario.operations(bucket, at: newest)
            let others = try await model.operations(bucket, at: newest)
            #expect(reduce(found) == reduce(others), "\(bucket)")
            let sum = found.map(\.checksum).reduce(Checksum.zero, +)
            #expect(sum == others.map(\.checksum).reduce(Checksum.zero, +), "\(bucket)")
            let name = scenario.bucket(bucket)
            let stored = try await storage.checksums([name], at: newest)[name]
            #expect(stored == BucketChecksum(checksum: sum, count: Int64(found.count)), "\(bucket)")
        }
    }

    /// Writes random transactions, the same ones each time.
    ///
    /// - Parameters:
    ///   - scenario: Where to; nothing was written there.
    ///   - isToGoOn: Whether another one is to follow, asked with how many there are.
    /// - Returns: How many there are, and the last checkpoint.
    /// - Throws: An error of the storage.
    private static func write(
        to scenario: Scenario,
        while isToGoOn: @escaping (_ count: Int) -> Bool
    ) async throws -> (count: Int, checkpoint: StorageCheckpoint) {
        var scenario = scenario
        return try await scenario.storage.withWriter(of: scenario.stream.id) { writer in
            try await writer.setResumePosition(.at(0))
            try await writer.markSnapshotDone(noCheckpointBefore: .at(0))
            var count = 0
            while true {
                var random = SeededGenerator(seed: UInt64(count))
                try await write(&random, &writer)
                let checkpoint = try await scenario.commit(&writer)
                count += 1
                if !isToGoOn(count) { return (count, checkpoint) }
            }
        }
    }

    private static let buckets = ["g|0[]", #"o|0["u1"]"#, #"o|0["u2"]"#, #"d|0["g1"]"#, #"d|0["g2"]"#]
    private static let lookups = [#"0["u1"]"#, #"0["u2"]"#].map { ParameterLookup(rawValue: $0) }

    private static func write(_ random: inout SeededGenerator, _ writer: inout any BucketStorageWriter) async throws {
        let (test, docs, m) = try await (table("test", &writer), table("docs", &writer), table("m", &writer))
        for _ in 0...random.number(below: 4) {
            let id = SQLValue.text("r\(random.number(below: 4))")
            let other = SQLValue.text("r\(random.number(below: 4))")
            let user = SQLValue.text("u\(1 + random.number(below: 2))")
            let group = SQLValue.text("g\(1 + random.number(below: 2))")
            let mode: SaveMode = random.number(below: 8) == 0 ? .snapshot : .stream
            let row: SourceRow = ["id": id, "client_id": other, "owner": user, "description": group, "grp": group]
            switch random.number(below: 10) {
            case 0: _ = try await writer.save([.insert(row)], of: test, mode: mode)
            case 1, 2: _ = try await writer.save([.update(row)], of: test, mode: .stream)
            case 3: _ = try await writer.save([.update(row, oldKey: [other])], of: test, mode: .stream)
            case 4: _ = try await writer.save([.delete(key: [id])], of: test, mode: .stream)
            case 5: _ = try await writer.save([.update(row)], of: docs, mode: .stream)
            case 6: _ = try await writer.save([.delete(key: [id])], of: docs, mode: .stream)
            case 7, 8:
                _ = try await writer.save([.update(["id": id, "uid": user, "grp": group])], of: m, mode: .stream)
            default: _ = try await writer.save([.delete(key: [id])], of: m, mode: .stream)
            }
        }
    }

    private func expectSame(
        _ model: Scenario,
        _ other: Scenario,
        _ earlier: StorageCheckpoint,
        _ later: StorageCheckpoint,
        _ comment: Comment
    ) async throws {
        let names = Self.buckets.map { model.bucket($0) }
        #expect(
            try await other.storage.checksums(names, at: later) == model.storage.checksums(names, at: later),
            comment
        )
        let changes = try await other.storage.changes(from: earlier, to: later)
        let isKnown = try await changes == model.storage.changes(from: earlier, to: later)
        #expect(isKnown || changes == .unknown && other.kind == .sealed, comment)
        let found = try await other.storage.parameterRows(Self.lookups, at: later, limit: 100)
        let expected = try await model.storage.parameterRows(Self.lookups, at: later, limit: 100)
        #expect(found.mapValues { Set($0) } == expected.mapValues { Set($0) }, comment)
        for (search, offset, limit) in [("", 0, 100), ("|0[", 1, 2), ("docs", 0, 1), ("no bucket", 0, 5)] {
            let lists = try await [
                model.storage.buckets(of: model.stream.id, search: search, offset: offset, limit: limit),
                other.storage.buckets(of: other.stream.id, search: search, offset: offset, limit: limit),
            ]
            #expect(lists[0].total == lists[1].total && lists[0].operations == lists[1].operations, comment)
            #expect(
                lists[0].buckets.map { "\($0.name) \($0.operations)" }
                    == lists[1].buckets.map { "\($0.name) \($0.operations)" }
            )
            #expect(lists[1].buckets.allSatisfy { ($0.bytes ?? 0) > 0 }, comment)
        }
        for bucket in Self.buckets {
            let found = try await other.operations(bucket, at: later).map { "\($0.opID) \($0.kind) \($0.id)" }
            let expected = try await model.operations(bucket, at: later).map { "\($0.opID) \($0.kind) \($0.id)" }
            #expect(found == expected, comment)
        }
    }
}

import Logging
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

/// Updates of which the change stream leaves out large cells: no checkpoint has a row that the source did not have.
@Suite(.timeLimit(.minutes(1))) struct PartialUpdateTests {
    private static let config = """
        config:
          edition: 3
        streams:
          all:
            query: SELECT * FROM items
          short:
            query: SELECT body AS id, name FROM items WHERE name = 1
          others:
            query: SELECT * FROM others
        """

    /// A source, a storage and what makes checkpoints of one in the other.
    private struct Scenario: Sendable {
        let home: any StorageHome
        let source: ModelSource
        let storage: any BucketStorage
        let plan: SyncPlan
        /// Advances while replication is alive.
        let progress = ChangeSignal()

        /// Two or three rows are a full answer.
        init(
            _ kind: TestedStorage,
            maximumPresentBytes: Int = 64,
            transactionsAtOnce: Int = 1,
            statesAhead: Int? = nil
        ) async throws {
            source = ModelSource(
                largeColumns: ["body"],
                maximumPresentBytes: maximumPresentBytes,
                transactionsAtOnce: transactionsAtOnce,
                statesAhead: statesAhead
            )
            plan = try ServiceTestSupport.plan(config)
            home = try kind.home()
            storage = try await home.open()
            source.alter(.create("items", columns: ["id", "name", "body"]))
            source.alter(.create("others", columns: ["id", "name", "body"]))
        }

        /// Replicates while `body` runs.
        func replicating(_ body: @escaping @Sendable () async throws -> Void) async throws {
            _ = try await storage.deploy(config, plan: plan)
            let replicator = Replicator(
                storage: storage,
                source: source,
                streamsChanged: ChangeSignal(),
                logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() },
                touch: { progress.advance() }
            )
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await replicator.run() }
                group.addTask { try await body() }
                try await group.next()
                group.cancelAll()
            }
        }

        /// The stream, once it is active.
        func active() async throws -> ActiveReplicationStream {
            while true {
                let seen = progress.version
                if let stream = try await storage.activeStream() { return stream }
                try await progress.wait(after: seen)
            }
        }

        /// Waits for a checkpoint that has everything that is committed now; every checkpoint before it, and itself, must be
        /// a state of the source.
        @discardableResult
        func settle() async throws -> StorageCheckpoint {
            let head = source.content.head
            try await source.emitMarker()
            for try await checkpoint in storage.checkpoints(of: try await active()) {
                try await expectState(at: checkpoint)
                if checkpoint.lsn >= head.lsn { return checkpoint }
            }
            throw ReplicatorEnded()
        }

        /// What clients have at a checkpoint is what the source had at its position.
        func expectState(at checkpoint: StorageCheckpoint) async throws {
            let stream = try #require(try await storage.streams().first { $0.id == checkpoint.streamID })
            let rows = try #require(source.rows(of: "items", at: checkpoint.lsn))
            let name = SourceTableName(schema: "main", name: "items")
            let expected = rows.flatMap { plan.evaluate($0, of: name, bucketPrefix: stream.bucketPrefix) }
            for bucket in ["all|0[]", "short|0[]"] {
                let found = try await storage.allOperations(bucket, of: stream, at: checkpoint)
                let data = expected.filter { $0.bucket.rawValue == stream.bucketPrefix + bucket }.map(\.data)
                #expect(reduceByIdentity(found).values.compactMap(\.data).sorted() == data.sorted())
            }
        }
    }

    @Test(arguments: TestedStorage.distinct)
    func largeCellsAreKept(_ kind: TestedStorage) async throws {
        let scenario = try await Scenario(kind)
        scenario.source.write([
            .insert("items", id: "a", ["name": 1, "body": "large a"]),
            .insert("items", id: "b", ["name": 1, "body": "large b"]),
        ])
        try await scenario.replicating {
            try await scenario.settle()
            scenario.source.write([.update("items", id: "a", ["name": 2])])
            try await scenario.settle()
            // With another key, too; and a row that comes into a bucket only now.
            scenario.source.write([
                .update("items", id: "a", ["name": 1, "id": "c"]), .update("items", id: "b", ["name": 3]),
            ])
            let checkpoint = try await scenario.settle()
            let stream = try #require(try await scenario.storage.streams().first)
            let rows = reduce(try await scenario.storage.allOperations("all|0[]", of: stream, at: checkpoint))
            #expect(
                rows == [
                    "items/c": #"{"id":"c","name":1,"body":"large a"}"#,
                    "items/b": #"{"id":"b","name":3,"body":"large b"}"#,
                ]
            )
        }
    }

    @Test(arguments: TestedStorage.distinct)
    func rowsAreReadForManyTransactionsAtOnce(_ kind: TestedStorage) async throws {
        let scenario = try await Scenario(
            kind,
            maximumPresentBytes: PresentRows.maximumBytes,
            transactionsAtOnce: 1000
        )
        let source = scenario.source
        source.write((0..<250).map { .insert("items", id: "r\($0)", ["name": 2, "body": .text("large \($0)")]) })
        try await scenario.replicating { try await scenario.settle() }
        let reads = NIOLockedValueBox(0)
        source.beforeRows.withLockedValue { $0 = { reads.withLockedValue { $0 += 1 } } }
        for number in 0..<250 { source.write([.update("items", id: "r\(number)", ["name": 1])]) }
        // A later transaction of the same row.
        source.write([.update("items", id: "r7", ["name": 3])])
        try await scenario.replicating { try await scenario.settle() }
        #expect(reads.withLockedValue(\.self) == 3)
    }

    @Test(arguments: TestedStorage.distinct)
    func transactionsOfSeveralTablesShareTheirReads(_ kind: TestedStorage) async throws {
        let scenario = try await Scenario(
            kind,
            maximumPresentBytes: PresentRows.maximumBytes,
            transactionsAtOnce: 1000
        )
        let source = scenario.source
        for table in ["items", "others"] {
            source.write((0..<50).map { .insert(table, id: "r\($0)", ["name": 2, "body": .text("large \($0)")]) })
        }
        try await scenario.replicating { try await scenario.settle() }
        let reads = NIOLockedValueBox(0)
        source.beforeRows.withLockedValue { $0 = { reads.withLockedValue { $0 += 1 } } }
        for number in 0..<50 {
            for table in ["items", "others"] { source.write([.update(table, id: "r\(number)", ["name": 1])]) }
        }
        try await scenario.replicating { try await scenario.settle() }
        #expect(reads.withLockedValue(\.self) == 2)
    }

    /// While such updates do not cease, each state that rows are read of is passed before a newer one is read: a checkpoint is made there.
    @Test(arguments: TestedStorage.distinct)
    func updatesThatHaveComeDoNotPutCheckpointsOff(_ kind: TestedStorage) async throws {
        let scenario = try await Scenario(
            kind,
            maximumPresentBytes: PresentRows.maximumBytes,
            transactionsAtOnce: 5,
            statesAhead: 3
        )
        let source = scenario.source
        source.write((0..<40).map { .insert("items", id: "r\($0)", ["name": 2, "body": .text("large \($0)")]) })
        try await scenario.replicating { try await scenario.settle() }
        let reads = NIOLockedValueBox(0)
        source.beforeRows.withLockedValue { $0 = { reads.withLockedValue { $0 += 1 } } }
        for number in 0..<40 { source.write([.update("items", id: "r\(number)", ["name": 1])]) }
        try await scenario.replicating { try await scenario.settle() }
        // Five come at a time. A state shows three after them: these are read of it, a checkpoint is made, and the other two are read of the
        // next state. The first five may begin with a marker.
        #expect(source.releases.withLockedValue(\.self) >= 7)
        #expect(reads.withLockedValue(\.self) <= 18)
    }

    struct Race: CustomTestStringConvertible, Sendable {
        var testDescription: String
        var later: [RowWrite]

        init(_ name: String, _ later: [RowWrite]) {
            testDescription = name
            self.later = later
        }

        static let all = [
            Race("the cell was changed", [.update("items", id: "a", ["body": "new"])]),
            Race("another cell was changed", [.update("items", id: "a", ["name": 1])]),
            Race("both were changed", [.update("items", id: "a", ["name": 4, "body": "new"])]),
            Race("the row is gone", [.delete("items", id: "a")]),
            Race("all rows are gone", [.truncate("items")]),
            Race("the row has another key", [.update("items", id: "a", ["id": "c"])]),
            Race(
                "another row has its key",
                [.update("items", id: "a", ["id": "c"]), .update("items", id: "b", ["id": "a"])]
            ),
            Race(
                "the row came again",
                [.delete("items", id: "a"), .insert("items", id: "a", ["name": 5, "body": "other"])]
            ),
        ]
    }

    @Test(arguments: TestedStorage.distinct, Race.all)
    func rowsThatHaveChangedMeanwhile(_ kind: TestedStorage, _ race: Race) async throws {
        let scenario = try await Scenario(kind)
        let source = scenario.source
        source.write([
            .insert("items", id: "a", ["name": 1, "body": "large a"]),
            .insert("items", id: "b", ["name": 1, "body": "large b"]),
        ])
        try await scenario.replicating {
            try await scenario.settle()
            let pending = NIOLockedValueBox(true)
            source.beforeRows.withLockedValue { hook in
                hook = {
                    let isFirst = pending.withLockedValue { pending in
                        defer { pending = false }
                        return pending
                    }
                    if isFirst { for write in race.later { source.write([write]) } }
                }
            }
            let before = source.content.log.count
            source.write([.update("items", id: "a", ["name": 2])])
            try await scenario.settle()
            // The hook writes while the first update is followed.
            try await scenario.settle()
            #expect(source.content.log.count > before + race.later.count)
        }
    }

    @Test(
        arguments: TestedStorage.distinct,
        (1...8 as ClosedRange<UInt64>).one(in: 3)
    )
    func everyCheckpointIsAStateOfTheSource(_ kind: TestedStorage, _ seed: UInt64) async throws {
        var random = SeededGenerator(seed: seed)
        let scenario = try await Scenario(
            kind,
            transactionsAtOnce: seed.isMultiple(of: 2) ? 1 : 5,
            statesAhead: seed % 3 == 2 ? 2 : nil
        )
        let source = scenario.source
        let hooks = NIOLockedValueBox(SeededGenerator(seed: seed &+ 1000))
        source.beforeRows.withLockedValue { hook in
            hook = {
                hooks.withLockedValue { random in
                    guard random.number(below: 3) == 0 else { return }
                    source.write((0...random.number(below: 2)).map { _ in RowWrite.random(&random) })
                }
            }
        }
        for _ in 0..<3 {
            let rounds = (0..<20).map { _ in random.next() }
            try await scenario.replicating {
                for seed in rounds {
                    var random = SeededGenerator(seed: seed)
                    for _ in 0...random.number(below: 3) {
                        source.write((0...random.number(below: 4)).map { _ in RowWrite.random(&random) })
                    }
                    if random.number(below: 3) > 0 { try await scenario.settle() }
                }
            }
        }
        try await scenario.replicating { try await scenario.settle() }
    }
}

import GRDB
import PowerSyncCoreTestSupport
import PowerSyncProtocol
import Testing

@testable import PowerSyncCore

/// Local writes hold checkpoints back (docs/client-sync.md "Local write gate").
@Suite struct LocalWriteGateScenarioTests {
    private func started() throws -> SyncScenario {
        let scenario = try SyncScenario()
        try scenario.start()
        return scenario
    }

    private func writeLocally(_ scenario: SyncScenario, _ id: String = "local") throws {
        try scenario.database.write("INSERT INTO items (id, col) VALUES (?, 'mine')", [id])
    }

    /// What `complete()` does after an upload.
    private func emptyQueue(_ scenario: SyncScenario, writeCheckpoint: Int64? = nil) throws {
        try scenario.write { db in
            let last = try #require(try UploadQueue.sequence(db))
            try UploadQueue.complete(db, through: last, writeCheckpoint: writeCheckpoint.map { WriteCheckpoint($0) })
        }
    }

    private func setTarget(_ target: Int64, _ scenario: SyncScenario) throws {
        try scenario.write { try LocalWriteGate.setTarget($0, WriteCheckpoint(target)) }
    }

    private func keyValue(_ key: KeyValueStore.Key, _ scenario: SyncScenario) throws -> Int64? {
        try scenario.write { try KeyValueStore.integer($0, key) }
    }

    private let row = SyncLine.ops("a", .put(1, "remote"))

    @Test
    func localWriteHoldsACompleteCheckpointBack() throws {
        let scenario = try started()
        try writeLocally(scenario)
        try scenario.receive(.checkpoint(1, [.bucket("a", count: 1)]), row)
        let actions = try scenario.receive(.done)
        #expect(actions.kinds == ["log info"])
        #expect(actions.messages(.info)[0].hasPrefix("Could not apply checkpoint due to local data"))
        #expect(try scenario.itemIDs == ["local"])
        #expect(scenario.status.progress != nil)
        #expect(scenario.engine.hasPendingCheckpoint)
        // Validated data is a place to continue from.
        #expect(try scenario.bucket("last_op") == 1)
        #expect(try scenario.bucket("last_applied_op") == 0)
    }

    @Test(arguments: [Int64.max, 1])
    func priority0LeavesLocalWritesOfRowsAloneAboutWhichItSaysNothingNew(_ bulkLoadThreshold: Int64) throws {
        let scenario = try SyncScenario(bulkLoadThreshold: bulkLoadThreshold)
        try scenario.start()
        let rest = BucketDescription.bucket("b", count: 9)
        try scenario.receive(.checkpoint(1, [.bucket("a", count: 1, priority: 0), rest]), row, .done(0))
        try scenario.database.write("UPDATE items SET col = 'mine' WHERE id = 'remote'")
        try scenario.receive(
            .diff(2, [.bucket("a", count: 2, priority: 0)]),
            .ops("a", .put(2, "other", data: #"{"col":"theirs"}"#)),
            .done(0)
        )
        #expect(try scenario.database.rows("SELECT id, col FROM items ORDER BY id") == ["other|theirs", "remote|mine"])
    }

    @Test
    func priority0IsPublishedNextToALocalWrite() throws {
        let scenario = try started()
        try writeLocally(scenario)
        try scenario.receive(.checkpoint(1, [.bucket("a", priority: 0), .bucket("b")]), row, .done(0))
        #expect(try scenario.itemIDs == ["local", "remote"])
    }

    /// Operations below what priority 0 has published are not lost while a local write holds the rest back.
    @Test
    func operationsBelowTheAppliedOne() throws {
        let scenario = try SyncScenario(delivery: .batched)
        try scenario.start()
        try writeLocally(scenario)
        let buckets = [BucketDescription.bucket("a", priority: 0), .bucket("b")]
        try scenario.receive(.checkpoint(.max, buckets), row, .done(0), .done)
        try scenario.receive(
            .diff(8, buckets),
            .ops("a", .put(7, "second")),
            .done(0),
            .diff(12, buckets),
            .ops("a", .put(10, "third")),
            .done(0),
            .done
        )
        // What was applied is 8 by then, so the third row needs no complete checkpoint.
        #expect(try scenario.itemIDs == ["local", "remote", "third"])
        try emptyQueue(scenario, writeCheckpoint: 1)
        try scenario.receive(.diff(13, buckets, writeCheckpoint: 1), .done(0), .done)
        #expect(try scenario.itemIDs == ["remote", "second", "third"])
    }

    @Test
    func otherPartialCheckpointsWaitWithoutAWord() throws {
        let scenario = try started()
        try writeLocally(scenario)
        try scenario.receive(.checkpoint(1, [.bucket("a", priority: 1), .bucket("b")]), row)
        #expect(try scenario.receive(.done(1)).kinds.isEmpty)
        #expect(try scenario.itemIDs == ["local"])
        #expect(!scenario.engine.hasPendingCheckpoint)
    }

    @Test
    func checkpointThatWasHeldBackIsAppliedAfterTheUpload() throws {
        let scenario = try started()
        try writeLocally(scenario)
        try emptyQueue(scenario)
        try scenario.receive(.checkpoint(1, [.bucket("a")], writeCheckpoint: 1), row, .done)
        #expect(try scenario.itemIDs == ["local"])
        try setTarget(1, scenario)
        let actions = try scenario.send(.uploadCompleted)
        #expect(actions.kinds == ["log debug", "did complete", "status"])
        #expect(actions.contains(.didCompleteSync))
        #expect(scenario.status.lastApplied == WriteCheckpoint(1))
        #expect(try scenario.itemIDs == ["remote"])
        #expect(!scenario.engine.hasPendingCheckpoint)
    }

    @Test
    func checkpointThatWasHeldBackMayCoverMoreThanIsAwaited() throws {
        let scenario = try started()
        try writeLocally(scenario)
        try emptyQueue(scenario)
        try scenario.receive(.checkpoint(1, [.bucket("a")], writeCheckpoint: 5), row, .done)
        try setTarget(3, scenario)
        #expect(try scenario.send(.uploadCompleted).contains(.didCompleteSync))
        #expect(scenario.status.lastApplied == WriteCheckpoint(5))
        #expect(try scenario.itemIDs == ["remote"])
    }

    @Test
    func checkpointThatIsCompletedOnceMoreAfterTheUploadWaitsNoLonger() throws {
        let scenario = try started()
        try writeLocally(scenario)
        try scenario.receive(.checkpoint(1, [.bucket("a")], writeCheckpoint: 1), row, .done)
        try emptyQueue(scenario, writeCheckpoint: 1)
        #expect(scenario.engine.hasPendingCheckpoint)
        try scenario.receive(.done)
        #expect(try scenario.itemIDs == ["remote"])
        #expect(!scenario.engine.hasPendingCheckpoint)
        #expect(try scenario.send(.uploadCompleted).kinds.isEmpty)
    }

    @Test
    func checkpointAfterTheUploadIsAppliedAtOnce() throws {
        let scenario = try started()
        try writeLocally(scenario)
        try emptyQueue(scenario)
        try setTarget(1, scenario)
        #expect(try scenario.send(.uploadCompleted).kinds.isEmpty)
        try scenario.receive(.checkpoint(1, [.bucket("a")], writeCheckpoint: 1), row, .done)
        #expect(try scenario.itemIDs == ["remote"])
    }

    @Test
    func checkpointWithoutWriteCheckpointIsNotTheAwaitedOne() throws {
        let scenario = try started()
        try writeLocally(scenario)
        try emptyQueue(scenario)
        try scenario.receive(.checkpoint(1, [.bucket("a")]), row, .done)
        try setTarget(1, scenario)
        #expect(try scenario.send(.uploadCompleted).kinds.isEmpty)
        #expect(try scenario.itemIDs == ["local"])
        try scenario.receive(.checkpoint(1, [.bucket("a")], writeCheckpoint: 1), .done)
        #expect(try scenario.itemIDs == ["remote"])
    }

    @Test
    func secondLocalWriteKeepsTheCheckpointBackWithAWarning() throws {
        let scenario = try started()
        try writeLocally(scenario)
        try emptyQueue(scenario)
        try scenario.receive(.checkpoint(1, [.bucket("a")], writeCheckpoint: 1), row, .done)
        try setTarget(1, scenario)
        try scenario.database.write("INSERT INTO ps_crud (data) VALUES ('{}')")
        let actions = try scenario.send(.uploadCompleted)
        #expect(actions.kinds == ["log warning"])
        #expect(try scenario.itemIDs == ["local"])
        #expect(!scenario.engine.hasPendingCheckpoint)
        #expect(scenario.engine.isActive)
    }

    @Test
    func localWriteRaisesTheTargetSoTheCheckpointIsNotEvenTried() throws {
        let scenario = try started()
        try writeLocally(scenario)
        try emptyQueue(scenario)
        try scenario.receive(.checkpoint(1, [.bucket("a")], writeCheckpoint: 1), row, .done)
        try setTarget(1, scenario)
        try writeLocally(scenario, "local 2")
        #expect(try scenario.send(.uploadCompleted).kinds.isEmpty)
        #expect(try scenario.itemIDs == ["local", "local 2"])
        // It is the one to show when that write is uploaded, too, if it covers it.
        try emptyQueue(scenario, writeCheckpoint: 1)
        #expect(try scenario.send(.uploadCompleted).contains(.didCompleteSync))
        #expect(scenario.status.lastApplied == WriteCheckpoint(1))
        #expect(try scenario.itemIDs == ["remote"])
    }

    @Test
    func newerCheckpointSupersedesTheOneThatWasHeldBack() throws {
        let scenario = try started()
        try writeLocally(scenario)
        try emptyQueue(scenario)
        try scenario.receive(.checkpoint(1, [.bucket("a")], writeCheckpoint: 1), row, .done)
        try scenario.receive(.diff(2, [], writeCheckpoint: 1))
        try setTarget(1, scenario)
        #expect(!scenario.engine.hasPendingCheckpoint)
        #expect(try scenario.send(.uploadCompleted).kinds.isEmpty)
        #expect(try scenario.itemIDs == ["local"])
    }

    @Test
    func idsSeenBeforeALocalWriteDoNotAcknowledgeIt() throws {
        let scenario = try started()
        try scenario.receive(.checkpoint(1, [.bucket("a")], writeCheckpoint: 5), row, .done)
        #expect(try keyValue(.lastSeenWriteCheckpoint, scenario) == 5)
        #expect(try keyValue(.lastAppliedWriteCheckpoint, scenario) == 5)
        try writeLocally(scenario)
        #expect(try keyValue(.targetWriteCheckpoint, scenario) == .max)
        #expect(try keyValue(.lastSeenWriteCheckpoint, scenario) == nil)
        #expect(try keyValue(.lastAppliedWriteCheckpoint, scenario) == nil)
        try emptyQueue(scenario)
        try setTarget(6, scenario)
        try scenario.receive(.checkpoint(1, [.bucket("a")], writeCheckpoint: 5), .done)
        #expect(try scenario.itemIDs == ["local", "remote"])
        try scenario.receive(.diff(1, [], writeCheckpoint: 6), .done)
        #expect(try scenario.itemIDs == ["remote"])
    }

    @Test
    func writeCheckpointIsRememberedWhenALaterCheckpointHasNone() throws {
        let scenario = try started()
        try scenario.receive(.checkpoint(1, [.bucket("a")], writeCheckpoint: 5), .done)
        #expect(scenario.status.lastApplied == WriteCheckpoint(5))
        let actions = try scenario.receive(.diff(2), .done)
        #expect(actions.contains(.didCompleteSync))
        #expect(scenario.status.lastApplied == nil)
        #expect(try keyValue(.lastSeenWriteCheckpoint, scenario) == 5)
        #expect(try keyValue(.lastAppliedWriteCheckpoint, scenario) == 5)
        #expect(scenario.status.lastApplied == nil)
    }

    @Test
    func partialCompletionSaysNothingAboutWriteCheckpoints() throws {
        let scenario = try started()
        try scenario.receive(.checkpoint(1, [.bucket("a", priority: 1)], writeCheckpoint: 5), row, .done(1))
        #expect(try scenario.itemIDs == ["remote"])
        #expect(try keyValue(.lastSeenWriteCheckpoint, scenario) == nil)
        #expect(try keyValue(.lastAppliedWriteCheckpoint, scenario) == nil)
        #expect(scenario.status.lastApplied == nil)
    }

    @Test
    func customWriteCheckpointCountsOnlyWhenTheQueueIsEmpty() throws {
        let scenario = try started()
        try writeLocally(scenario)
        try emptyQueue(scenario, writeCheckpoint: 7)
        #expect(try keyValue(.targetWriteCheckpoint, scenario) == 7)
        try scenario.receive(.checkpoint(1, [.bucket("a")], writeCheckpoint: 7), row, .done)
        #expect(try scenario.itemIDs == ["remote"])

        try writeLocally(scenario, "1")
        try writeLocally(scenario, "2")
        try scenario.write { db in
            let first = try #require(try UploadQueue.firstID(db))
            try UploadQueue.complete(db, through: first, writeCheckpoint: WriteCheckpoint(8))
        }
        #expect(try keyValue(.targetWriteCheckpoint, scenario) == .max)
    }

    /// A client with a checkpoint that an insert-only write has held back.
    private func heldBackByInsertOnlyWrite() throws -> SyncScenario {
        let scenario = try SyncScenario(
            .items(),
            ClientTable(name: "logs", columns: [ClientColumn(name: "text", type: .text)], isInsertOnly: true)
        )
        try scenario.start()
        try scenario.database.write("INSERT INTO logs (id, text) VALUES ('1', 'hello')")
        #expect(try keyValue(.targetWriteCheckpoint, scenario) == nil)
        try scenario.receive(.checkpoint(1, [.bucket("a")]), row, .done)
        #expect(try scenario.items.isEmpty)
        return scenario
    }

    @Test
    func insertOnlyWritesHoldBackUntilTheyAreUploadedAndNeedNoWriteCheckpoint() throws {
        let scenario = try heldBackByInsertOnlyWrite()
        try emptyQueue(scenario)
        #expect(try keyValue(.targetWriteCheckpoint, scenario) == nil)
        try scenario.send(.uploadCompleted)
        #expect(try scenario.itemIDs == ["remote"])
    }

    /// Nothing would make the service send another checkpoint.
    @Test
    func checkpointWaitsForAsManyUploadsOfInsertOnlyWritesAsItTakes() throws {
        let scenario = try heldBackByInsertOnlyWrite()
        for id in 2...3 {
            try emptyQueue(scenario)
            try scenario.database.write("INSERT INTO logs (id, text) VALUES (?, 'hello')", ["\(id)"])
            #expect(try scenario.send(.uploadCompleted).kinds == ["log debug"])
            #expect(scenario.engine.hasPendingCheckpoint)
            #expect(scenario.status.progress != nil)
            #expect(try scenario.items.isEmpty)
        }
        try emptyQueue(scenario)
        #expect(try scenario.send(.uploadCompleted).contains(.didCompleteSync))
        #expect(scenario.status.lastApplied == nil)
        #expect(!scenario.engine.hasPendingCheckpoint)
        #expect(try scenario.itemIDs == ["remote"])
    }

    @Test
    func checkpointThatIsHeldBackIsTriedAgainInTheSameIterationOnly() throws {
        let scenario = try started()
        try writeLocally(scenario)
        try scenario.receive(.checkpoint(1, [.bucket("a")]), row, .done)
        #expect(scenario.engine.hasPendingCheckpoint)
        try scenario.send(.stop)
        #expect(!scenario.engine.hasPendingCheckpoint)
        #expect(throws: SyncEngineError.self) { try scenario.send(.uploadCompleted) }
    }

    @Test
    func partialCheckpointDoesNotMakeAnybodyForgetTheOneThatIsHeldBack() throws {
        let scenario = try started()
        try writeLocally(scenario)
        try scenario.receive(
            .checkpoint(2, [.bucket("a", count: 1, priority: 0), .bucket("b", count: 1)], writeCheckpoint: 1),
            row,
            .ops("b", .put(2, "other")),
            .done,
            .done(0)
        )
        #expect(try scenario.itemIDs == ["local", "remote"])
        #expect(scenario.engine.hasPendingCheckpoint)
        try emptyQueue(scenario, writeCheckpoint: 1)
        let actions = try scenario.send(.uploadCompleted)
        #expect(actions.contains(.didCompleteSync))
        #expect(scenario.status.lastApplied == WriteCheckpoint(1))
        #expect(try scenario.itemIDs == ["other", "remote"])
    }
}

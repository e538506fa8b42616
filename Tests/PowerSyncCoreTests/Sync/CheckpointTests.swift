import GRDB
import PowerSyncCoreTestSupport
import PowerSyncProtocol
import Testing

@testable import PowerSyncCore

/// Tracking and completing checkpoints (docs/client-sync.md "Completing a checkpoint"), except for raw tables.
@Suite struct CheckpointTests {
    @Test(arguments: Delivery.allCases)
    func bucketsOfTheRequestThatTheCheckpointLacksAreDeletedAtOnce(_ delivery: Delivery) throws {
        let scenario = try SyncScenario.started(delivery)
        let buckets = ["one", "two", "three"].map { BucketDescription.bucket($0) }
        try scenario.receive(
            .checkpoint(3, buckets),
            .ops("one", .put(1, "a")),
            .ops("two", .put(2, "b")),
            .ops("three", .put(3, "c")),
            .done
        )
        scenario.restart()
        let request = try scenario.start()
        #expect(request.buckets.map(\.name) == ["one", "two", "three"].map { BucketName($0) })
        try scenario.receive(.checkpoint(3, [.bucket("one")]))
        #expect(try scenario.bucketNames == ["one"])
        #expect(try scenario.updatedRows == ["items|b", "items|c"])
        #expect(try scenario.itemIDs == ["a", "b", "c"])
        try scenario.receive(.done)
        #expect(try scenario.itemIDs == ["a"])
    }

    @Test(arguments: Delivery.allCases)
    func rowsOfARemovedBucketGoUnlessAnotherBucketHasThem(_ delivery: Delivery) throws {
        let scenario = try SyncScenario.started(delivery)
        try scenario.receive(
            .checkpoint(4, [.bucket("a"), .bucket("b")]),
            .ops("a", .put(1, "shared")),
            .ops("b", .put(2, "shared", data: #"{"of":"b"}"#), .put(3, "only b")),
            .done
        )
        #expect(try scenario.items == ["only b|{}", #"shared|{"of":"b"}"#])
        try scenario.receive(.diff(5, removed: ["b", "unknown"]))
        #expect(try scenario.bucketNames == ["a"])
        #expect(try scenario.itemIDs == ["only b", "shared"])
        try scenario.receive(.done)
        #expect(try scenario.items == ["shared|{}"])
    }

    @Test
    func bucketCanBeRemovedAndAddedInOneDiff() throws {
        let scenario = try SyncScenario.started()
        try scenario.receive(.checkpoint(1, [.bucket("a"), .bucket("b")]), .ops("a", .put(1, "x")), .done)
        try scenario.receive(.diff(2, [.bucket("a")], removed: ["a"]))
        #expect(try scenario.bucketNames.isEmpty)
        try scenario.receive(.ops("a", .put(1, "x", data: #"{"v":2}"#)), .done)
        #expect(try scenario.items == [#"x|{"v":2}"#])
        // It belongs to the checkpoint, and is where the next download continues.
        #expect(try scenario.bucket("last_op") == 2)
    }

    @Test(
        arguments: [
            (SyncLine.diff(1), SyncEngineError.Code.protocol), (.done, .state), (.done(1), .state),
        ]
    )
    func nothingMayBeCompletedOrChangedBeforeACheckpoint(_ line: SyncLine, _ code: SyncEngineError.Code) throws {
        let scenario = try SyncScenario.started()
        let error = #expect(throws: SyncEngineError.self) { try scenario.receive(line) }
        #expect(error?.code == code)
        #expect(error?.isRetriable == false)
        scenario.failIteration()
        #expect(!scenario.engine.isActive)
        #expect(scenario.status.isConnected == false)
        #expect(try scenario.send(.stop).isEmpty)
    }

    @Test(arguments: Delivery.allCases)
    func wrongChecksumDeletesTheBucketAndEndsTheIteration(_ delivery: Delivery) throws {
        let scenario = try SyncScenario.started(delivery)
        try scenario.receive(.checkpoint(1, [.bucket("a", checksum: 1234)]), .ops("a", .put(1, "x", 4321)))
        let actions = try scenario.receive(.done)
        #expect(actions.kinds == ["log warning", "status", "close(false)"])
        let expected = "a (expected 0x000004d2, got 0x000010e1 = 0x000010e1 (op) + 0x00000000 (add))"
        #expect(actions.messages(.warning).first?.contains(expected) == true)
        #expect(scenario.status.isConnected == false)
        #expect(scenario.status.progress == nil)
        #expect(try scenario.bucketNames.isEmpty)
        #expect(try scenario.oplog.isEmpty)
        #expect(try scenario.items.isEmpty)
        #expect(try scenario.start().buckets.isEmpty)
    }

    @Test
    func onlyBucketsWithWrongChecksumsAreDeletedAllOfThemAtOnce() throws {
        let scenario = try SyncScenario.started()
        try scenario.receive(
            .checkpoint(3, [.bucket("a", checksum: 1), .bucket("b", checksum: 9), .bucket("c", checksum: 9)]),
            .ops("a", .put(1, "x", 1)),
            .ops("b", .put(2, "y", 2)),
            .ops("c", .put(3, "z", 3))
        )
        let actions = try scenario.receive(.done)
        #expect(actions.last == .closeStream(hideDisconnect: false))
        #expect(try scenario.bucketNames == ["a"])
        #expect(try scenario.bucket("last_op") == 1)
        #expect(try scenario.items.isEmpty)
        let request = try scenario.start()
        #expect(request.buckets == [.init(name: BucketName("a"), after: OpID(1))])
    }

    @Test
    func bucketWithChecksum0ThatWasNeverSentIsValid() throws {
        let scenario = try SyncScenario.started()
        let actions = try scenario.receive(.checkpoint(1, [.bucket("a", count: 0)]), .done)
        #expect(actions.contains(.didCompleteSync))
        #expect(scenario.status.lastApplied == nil)
        #expect(try scenario.bucketNames.isEmpty)
    }

    @Test(arguments: Delivery.allCases)
    func rowsOfUnknownTypesWaitInPsUntyped(_ delivery: Delivery) throws {
        let scenario = try SyncScenario.started(delivery)
        try scenario.receive(
            .checkpoint(2, [.bucket("a")]),
            .ops("a", .put(1, "x", type: "other"), .put(2, "y", type: "it\"em's")),
            .done
        )
        let untyped = "SELECT type, id, data FROM ps_untyped ORDER BY type"
        #expect(try scenario.database.rows(untyped) == ["it\"em's|y|{}", "other|x|{}"])
        try scenario.receive(.diff(3), .ops("a", .remove(3, "x", type: "other")), .done)
        #expect(try scenario.database.rows(untyped) == ["it\"em's|y|{}"])
    }

    @Test
    func typeWhoseNameOnlyLooksLikeThatOfARawTableIsAnUnknownOne() throws {
        let raw = ClientRawTable(name: "\u{e9}", structure: .init(tableName: "mine"))
        let scenario = try SyncScenario(rawTables: [raw])
        try scenario.database.run("CREATE TABLE mine (id TEXT PRIMARY KEY)")
        try scenario.start()
        try scenario.receive(
            .checkpoint(2, [.bucket("a")]),
            .ops("a", .put(1, "x", type: "e\u{301}"), .put(2, "y", type: "\u{e9}")),
            .done
        )
        #expect(try scenario.database.rows("SELECT id FROM ps_untyped") == ["x"])
        #expect(try scenario.database.rows("SELECT id FROM mine") == ["y"])
    }

    @Test
    func localOnlyTableNeverGetsSyncedRows() throws {
        let scenario = try SyncScenario.started(.oneByOne, .items(isLocalOnly: true))
        try scenario.receive(.checkpoint(1, [.bucket("a")]), .ops("a", .put(1, "x")), .done)
        #expect(try scenario.database.rows("SELECT type, id FROM ps_untyped") == ["items|x"])
        #expect(try scenario.database.rows("SELECT * FROM ps_data_local__items").isEmpty)
    }

    @Test
    func secondCompletionOfTheSameCheckpoint() throws {
        let scenario = try SyncScenario.started()
        try scenario.receive(.checkpoint(1, [.bucket("a")]), .ops("a", .put(1, "x")), .done)
        try scenario.database.write("DELETE FROM ps_data__items")
        scenario.now = scenario.now.adding(seconds: 1)
        let actions = try scenario.receive(.done)
        #expect(actions.kinds == ["log debug", "did complete", "status"])
        #expect(try scenario.items.isEmpty)
        #expect(try scenario.syncState == ["2147483647|\(scenario.now.rawValue)"])
    }

    @Test(arguments: Delivery.allCases)
    func whereTheNextRequestContinues(_ delivery: Delivery) throws {
        let scenario = try SyncScenario.started(delivery)
        try scenario.receive(
            .checkpoint(10, [.bucket("a", priority: 0), .bucket("b", priority: 3)]),
            .ops("a", .put(3, "x"), .put(5, "y")),
            .done(0),
            .ops("b", .put(6, "z"))
        )
        scenario.restart()
        let request = try scenario.start()
        #expect(
            request.buckets == [
                .init(name: BucketName("a"), after: OpID(10)), .init(name: BucketName("b"), after: OpID(6)),
            ]
        )
    }

    @Test
    func newCheckpointSupersedesOneThatWasNotCompleted() throws {
        let scenario = try SyncScenario.started()
        try scenario.receive(.checkpoint(1, [.bucket("a", checksum: 1)]), .ops("a", .put(1, "x", 1)))
        try scenario.receive(.checkpoint(2, [.bucket("a", checksum: 3)]), .ops("a", .put(2, "y", 2)))
        #expect(try scenario.items.isEmpty)
        try scenario.receive(.done)
        #expect(try scenario.itemIDs == ["x", "y"])
        #expect(try scenario.bucket("last_applied_op") == 2)
    }

    @Test
    func triggersOfTheUserSeeTheOperationFlag() throws {
        let scenario = try SyncScenario.started()
        try scenario.database.write(
            """
            CREATE TABLE seen (flag INTEGER);
            CREATE TRIGGER see AFTER INSERT ON ps_data__items
            BEGIN INSERT INTO seen VALUES (powersync_in_sync_operation()); END;
            """
        )
        try scenario.receive(.checkpoint(1, [.bucket("a")]), .ops("a", .put(1, "x")), .done)
        #expect(try scenario.database.rows("SELECT flag FROM seen") == ["1"])
        #expect(try scenario.database.integer("SELECT powersync_in_sync_operation()") == 0)

        try scenario.database.write(
            "CREATE TRIGGER fail AFTER INSERT ON ps_data__items BEGIN SELECT RAISE(ABORT, 'no'); END"
        )
        try scenario.receive(.diff(2), .ops("a", .put(2, "y")), .done)
        #expect(scenario.status.setAside.rows.map(\.id) == ["y"])
        #expect(try scenario.database.integer("SELECT powersync_in_sync_operation()") == 0)
        #expect(try scenario.itemIDs == ["x"])
    }

    @Test
    func completionWithNothingNew() throws {
        let scenario = try SyncScenario.started()
        try scenario.receive(.checkpoint(1, [.bucket("a")]), .ops("a", .put(1, "x")), .done)
        scenario.now = scenario.now.adding(seconds: 5)
        let actions = try scenario.receive(.diff(1), .done)
        #expect(actions.contains(.didCompleteSync))
        #expect(scenario.status.lastApplied == nil)
        #expect(scenario.status.lastSyncedAt == scenario.now)
    }

    @Test
    func softClearPublishesEverythingAgain() throws {
        let scenario = try SyncScenario.started()
        try scenario.receive(.checkpoint(2, [.bucket("a")]), .ops("a", .put(1, "x"), .put(2, "y", data: nil)), .done)
        try scenario.send(.stop)
        try scenario.write { try LocalData.clear($0, .soft) }
        #expect(try scenario.items.isEmpty)
        let request = try scenario.start()
        #expect(request.buckets == [.init(name: BucketName("a"), after: OpID(2))])
        try scenario.receive(.checkpoint(2, [.bucket("a")]), .done)
        #expect(try scenario.itemIDs == ["x"])
    }

    /// An app may run ANALYZE once, when there is next to nothing.
    @Test
    func statisticsOfAnOperationLogThatHasGrownSinceDoNotMakeAnybodyReadAllOfIt() throws {
        let scenario = try SyncScenario.started()
        try scenario.receive(.checkpoint(1, [.bucket("a")]), .ops("a", .put(1, "x")), .done)
        try scenario.database.run("ANALYZE")
        try scenario.write { db in
            for rows in [
                ChangedRows.everything, .complete(unapplied: nil), .complete(unapplied: [1]),
                .complete(unapplied: [1, 2]),
                .partial(covered: [1], unapplied: [1], published: .zero, beforeReset: .zero),
            ] {
                let plan = try rows.plan(db)
                let looks = plan.filter { $0.hasPrefix("SCAN") || $0.hasPrefix("SEARCH") }
                    .filter { ["o", "r"].contains($0.split(separator: " ")[1]) }
                #expect(!looks.isEmpty, "\(plan)")
                #expect(looks.allSatisfy { $0.hasPrefix("SEARCH") && $0.contains("USING INDEX ps_oplog_") }, "\(plan)")
            }
        }
    }

    @Test(arguments: [5, 40])
    func positionOfManyBucketsMovesWithOneStatement(_ count: Int) throws {
        let scenario = try SyncScenario.started(.batched)
        let buckets = (0..<count).map { BucketDescription.bucket("\($0)", count: 1) }
        try scenario.send(
            [.line(.checkpoint(50, buckets))] + (0..<count).map { .line(.ops("\($0)", .put(Int64($0) + 1, "\($0)"))) }
                + [.line(.done)]
        )
        #expect(try scenario.database.integer("SELECT count(*) FROM ps_buckets WHERE last_op = 50") == Int64(count))
        // One bucket changes; the others only move.
        try scenario.receive(.diff(60, [.bucket("3", count: 2)]), .ops("3", .put(51, "new")), .done)
        let moved = "SELECT count(*) FROM ps_buckets WHERE last_op = 60 AND last_applied_op = 60"
        #expect(try scenario.database.integer(moved) == Int64(count))
        #expect(try scenario.bucket("count_at_last", of: "3") == 2)
        // With a bucket that is not tracked, positions cannot be set for the whole table.
        try scenario.receive(.ops("untracked", .put(61, "u")))
        try scenario.receive(.diff(70, []), .done)
        #expect(try scenario.bucket("last_op", of: "untracked") == 61)
        #expect(try scenario.database.integer("SELECT count(*) FROM ps_buckets WHERE last_op = 70") == Int64(count))
    }

    /// Most checkpoints change few of many buckets.
    @Test
    func completionLooksIntoThoseBucketsOnlyThatHaveGotOperationsSinceTheLastOne() throws {
        let scenario = try SyncScenario.started()
        #expect(scenario.engine.file.buckets.unappliedBucketIDs == nil)
        try scenario.receive(
            .checkpoint(2, [.bucket("a"), .bucket("b"), .bucket("c")]),
            .ops("a", .put(1, "x")),
            .ops("b", .put(2, "y")),
            .done
        )
        #expect(scenario.engine.file.buckets.unappliedBucketIDs == [])
        let id = try #require(try scenario.bucket("id", of: "b"))
        // The second one is new and empty.
        try scenario.receive(.diff(3), .ops("b", .put(3, "z")), .ops("c"))
        #expect(scenario.engine.file.buckets.unappliedBucketIDs == [id])
        try scenario.receive(.done)
        #expect(scenario.engine.file.buckets.unappliedBucketIDs == [])
    }
}

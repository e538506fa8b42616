import PowerSyncCoreTestSupport
import PowerSyncProtocol
import TestSupport
import Testing

@testable import PowerSyncCore

/// Up to where buckets are downloaded and published: what shows with a second bucket, a restart, or in one transaction.
@Suite struct BucketPositionTests {
    @Test(
        arguments: Delivery.allCases
    )
    func partialCompletionTakesCoveredBucketsIntoAccountThatHaveNothingNew(_ delivery: Delivery) throws {
        let scenario = try SyncScenario(delivery: delivery)
        try scenario.start()
        try scenario.receive(.checkpoint(5, [.bucket("a", priority: 1)]), .ops("a", .put(5, "x", data: "5")), .done)
        // As after subscribing to another stream: its bucket comes with an older version of the row.
        try scenario.receive(.diff(6, [.bucket("c", priority: 1)]), .ops("c", .put(3, "x", data: "3")), .done(1))
        #expect(try scenario.items == ["x|5"])
        try scenario.receive(.done)
        #expect(try scenario.items == ["x|5"])
    }

    @Test(arguments: Delivery.allCases)
    func whatFollowsACLEARIsPublishedBesideABucketThatWasPublishedBefore(_ delivery: Delivery) throws {
        let scenario = try SyncScenario(delivery: delivery)
        try scenario.start()
        try scenario.receive(
            .checkpoint(10, [.bucket("a"), .bucket("b")]),
            .ops("a", .put(9, "x")),
            .ops("b", .put(10, "y")),
            .done
        )
        // The ids are smaller than what was published of the bucket.
        try scenario.receive(.diff(11), .ops("a", .clear(3), .put(4, "z")), .done)
        #expect(try scenario.itemIDs == ["y", "z"])
    }

    @Test
    func bucketThatWasHeldBackIsPublishedAfterAnotherOneThatHasTheSamePosition() throws {
        let scenario = try SyncScenario()
        try scenario.start()
        try scenario.receive(.checkpoint(5, [.bucket("a")]), .ops("a", .put(5, "x")), .done)
        try scenario.database.write("INSERT INTO items (id) VALUES ('local')")
        let checkpoint = SyncLine.checkpoint(6, [.bucket("a"), .bucket("b")])
        try scenario.receive(checkpoint, .ops("b", .put(3, "y")), .done)
        let positions = "SELECT name, last_applied_op, last_op FROM ps_buckets ORDER BY name"
        #expect(try scenario.database.rows(positions) == ["a|5|6", "b|0|6"])
        scenario.restart()
        try scenario.write { try UploadQueue.complete($0, through: 1, writeCheckpoint: WriteCheckpoint(1)) }
        try scenario.start()
        try scenario.receive(.checkpoint(6, [.bucket("a"), .bucket("b")], writeCheckpoint: 1), .done)
        #expect(try scenario.itemIDs == ["x", "y"])
    }

    @Test(arguments: Delivery.allCases)
    func bucketsMoveToDifferentPositionsAlthoughAsMuchOfThemWasPublished(_ delivery: Delivery) throws {
        let scenario = try SyncScenario(delivery: delivery)
        try scenario.start()
        let checkpoint = SyncLine.checkpoint(5, [.bucket("a", priority: 1), .bucket("b")])
        try scenario.receive(checkpoint, .ops("a", .put(5, "x")), .ops("b", .put(4, "y")), .done)
        try scenario.database.write("INSERT INTO items (id) VALUES ('local')")
        // The local write holds both back.
        try scenario.receive(.diff(6), .done, .diff(8), .done(1))
        let positions = "SELECT name, last_applied_op, last_op FROM ps_buckets ORDER BY name"
        #expect(try scenario.database.rows(positions) == ["a|5|8", "b|5|6"])
    }

    @Test(arguments: Delivery.allCases)
    func bucketThatHasNoOperationsMovesNoOtherOneWhenItIsHeldBack(_ delivery: Delivery) throws {
        let scenario = try SyncScenario.started(delivery)
        try scenario.database.write("INSERT INTO items (id) VALUES ('local')")
        let buckets: [BucketDescription] = [
            .bucket("a", priority: 1), .bucket("empty", priority: 1), .bucket("b", checksum: 5),
        ]
        try scenario.receive(.checkpoint(9, buckets), .ops("a", .put(1, "x")), .ops("b", .put(2, "y", 2)))
        try scenario.receive(.done(1))
        let positions = "SELECT name, last_applied_op, last_op FROM ps_buckets ORDER BY name"
        #expect(try scenario.database.rows(positions) == ["a|0|9", "b|0|2"])
    }

    @Test(arguments: Delivery.allCases)
    func positionsFollowACheckpointThatGoesBack(_ delivery: Delivery) throws {
        let scenario = try SyncScenario(delivery: delivery)
        try scenario.start()
        try scenario.receive(
            .checkpoint(10, [.bucket("a", priority: 1), .bucket("b")]),
            .ops("a", .put(1, "x")),
            .done
        )
        try scenario.receive(.diff(5), .done)
        #expect(try scenario.bucket("last_op") == 5)
        #expect(try scenario.bucket("last_applied_op") == 5)
        try scenario.receive(.diff(8), .ops("a", .put(7, "y")), .done(1))
        #expect(try scenario.itemIDs == ["x", "y"])
        try scenario.receive(.ops("a", .put(8, "z")), .done)
        #expect(try scenario.itemIDs == ["x", "y", "z"])
    }

    @Test(
        arguments: Delivery.allCases
    )
    func partialCompletionMovesTheBucketsThatItCoversBesideOneThatADiffRemoves(_ delivery: Delivery) throws {
        let scenario = try SyncScenario(delivery: delivery)
        try scenario.start()
        try scenario.receive(
            .checkpoint(
                4,
                [
                    .bucket("a", count: 1, priority: 1), .bucket("b", count: 1, priority: 1),
                    .bucket("c", count: 1, priority: 1), .bucket("d", count: 1),
                ]
            ),
            .ops("a", .put(1, "1")),
            .ops("b", .put(2, "2")),
            .ops("c", .put(3, "3")),
            .ops("d", .put(4, "4"))
        )
        try scenario.receive(.ops("a", .put(5, "5")), .diff(9, removed: ["a"]), .done(1))
        #expect(try scenario.itemIDs == ["2", "3"])
        #expect(
            try scenario.database.rows("SELECT name, last_applied_op, last_op FROM ps_buckets ORDER BY name") == [
                "b|9|9", "c|9|9", "d|0|4",
            ]
        )
        try scenario.receive(.done)
        #expect(try scenario.itemIDs == ["2", "3", "4"])
    }

    @Test(arguments: Delivery.allCases)
    func diffThatRemovesABucketMaySaySomethingNewAboutThoseThatRemain(_ delivery: Delivery) throws {
        let scenario = try SyncScenario(delivery: delivery)
        try scenario.start()
        try scenario.receive(
            .checkpoint(3, [.bucket("a", checksum: 1), .bucket("b", checksum: 2), .bucket("c", checksum: 3)]),
            .ops("a", .put(1, "x", 1)),
            .ops("b", .put(2, "y", 2)),
            .ops("c", .put(3, "z", 3)),
            .done
        )
        try scenario.receive(
            .diff(5, [.bucket("b", checksum: 6), .bucket("c", checksum: 8)], removed: ["a"]),
            .ops("b", .put(4, "v", 4)),
            .ops("c", .put(5, "w", 5)),
            .done
        )
        #expect(try scenario.itemIDs == ["v", "w", "y", "z"])
        #expect(scenario.status.progress == nil)
    }

    @Test(arguments: Delivery.allCases)
    func operationWithExactlyTheIdUpToWhichEverythingWasPublished(_ delivery: Delivery) throws {
        let scenario = try SyncScenario(delivery: delivery)
        try scenario.start()
        try scenario.receive(.checkpoint(7, [.bucket("a")]), .ops("a", .put(5, "x")), .done)
        try scenario.receive(.diff(8), .ops("a", .put(7, "y")), .done)
        #expect(try scenario.itemIDs == ["x", "y"])
    }

    @Test(arguments: Delivery.allCases)
    func secondCheckpointDeletesTheBucketsThatItLacks(_ delivery: Delivery) throws {
        let scenario = try SyncScenario(delivery: delivery)
        try scenario.start()
        try scenario.receive(
            .checkpoint(2, [.bucket("a"), .bucket("b")]),
            .ops("a", .put(1, "x")),
            .ops("b", .put(2, "y")),
            .done
        )
        try scenario.receive(.checkpoint(3, [.bucket("a")]))
        #expect(try scenario.bucketNames == ["a"])
        #expect(try scenario.itemIDs == ["x", "y"])
        try scenario.receive(.done)
        #expect(try scenario.itemIDs == ["x"])
    }

    @Test
    func bucketThatAnotherProcessHasDeletedBeginsAnew() throws {
        let folder = try TemporaryFolder()
        let scenario = SyncScenario(database: try LocalTestDatabase(itemsIn: folder.path("shared.db")))
        let other = try LocalTestDatabase(itemsIn: folder.path("shared.db"))
        try scenario.start()
        let checkpoint = SyncLine.checkpoint(2, [.bucket("a"), .bucket("b")])
        try scenario.receive(checkpoint, .ops("a", .put(1, "x")), .ops("b", .put(2, "y")), .done)
        try other.write("DELETE FROM ps_oplog WHERE row_id = 'y'; DELETE FROM ps_buckets WHERE name = 'b'")
        try scenario.receive(.diff(3), .ops("b", .put(3, "z")), .done)
        #expect(try scenario.bucketNames == ["a", "b"])
        #expect(try scenario.bucket("last_op", of: "b") == 3)
        #expect(try scenario.oplog == ["a|1|items/x/null|0", "b|3|items/z/null|0"])
    }

    @Test(arguments: Delivery.allCases)
    func whatWasStoredInTheTransactionInWhichTheNextIterationStartsIsKept(_ delivery: Delivery) throws {
        let scenario = try SyncScenario(delivery: delivery)
        try scenario.start()
        let checkpoint = SyncLine.checkpoint(2, [.bucket("a", checksum: 3)])
        try scenario.send(
            .line(checkpoint),
            .line(.ops("a", .put(1, "x", 1), .put(2, "y", 2))),
            .start(SyncStart()),
            .streamOpened,
            .line(checkpoint),
            .line(.done)
        )
        #expect(scenario.status.hasSynced == true)
        #expect(try scenario.itemIDs == ["x", "y"])
    }
}

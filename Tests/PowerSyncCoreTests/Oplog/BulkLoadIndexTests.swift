import GRDB
import PowerSyncCoreTestSupport
import PowerSyncProtocol
import Testing

@testable import PowerSyncCore

/// When a large first download creates the indexes that it did without: at its end, one in each transaction.
@Suite struct BulkLoadIndexTests {
    private static let checkpoint = SyncLine.checkpoint(
        9,
        [.bucket("a", checksum: 3, count: 2, priority: 1), .bucket("b", checksum: 9, count: 7)]
    )
    private static let first = SyncLine.ops("a", .put(1, "x", 1), .put(2, "y", 2))
    private static let second = SyncLine.ops("b", .put(3, "x", 3), .put(9, "z", 6))

    /// A first download of which everything has arrived, and nothing is published.
    private func downloaded() throws -> SyncScenario {
        let scenario = try SyncScenario(bulkLoadThreshold: 1)
        try scenario.start()
        try scenario.receive(Self.checkpoint, Self.first, Self.second)
        #expect(try scenario.oplogIndexes.isEmpty)
        return scenario
    }

    @Test func eachIndexIsCreatedInATransactionOfItsOwn() throws {
        let scenario = try downloaded()
        let lines: [SyncEvent] = [.line(.done), .line(.tokenExpires(in: 600))]
        for count in 1...3 {
            let step = try scenario.submit(lines)
            #expect(step.handledEvents == 0)
            #expect(step.actions.kinds.isEmpty)
            #expect(try scenario.oplogIndexes.count == count)
            #expect(try scenario.itemIDs.isEmpty)
            // Others write in between.
            try scenario.database.write("INSERT INTO ps_kv VALUES (?, 1)", ["app\(count)"])
        }
        let step = try scenario.submit(lines)
        #expect(step.handledEvents == 2)
        #expect(step.actions.kinds == ["log debug", "did complete", "status"])
        #expect(try scenario.itemIDs == ["x", "y", "z"])
        // Only what sorts does with a smaller one.
        #expect(try scenario.database.integer("PRAGMA cache_size") == -Int64(ConnectionSetUp.writerCacheSize))
    }

    @Test func linesBeforeTheCompletionAreKept() throws {
        let scenario = try SyncScenario(bulkLoadThreshold: 1)
        try scenario.start()
        let step = try scenario.submit([Self.checkpoint, Self.first, Self.second, .done].map { .line($0) })
        #expect(step.handledEvents == 3)
        #expect(try scenario.bucket("last_op", of: "b") == 9)
        #expect(try scenario.oplogIndexes.count == 1)
        try scenario.receive(.done)
        #expect(try scenario.itemIDs == ["x", "y", "z"])
    }

    @Test(arguments: Delivery.allCases)
    func partialCheckpointsCreateNone(_ delivery: Delivery) throws {
        let scenario = try SyncScenario(delivery: delivery, bulkLoadThreshold: 1)
        try scenario.start()
        try scenario.receive(Self.checkpoint, Self.first, .done(1))
        #expect(try scenario.oplogIndexes.isEmpty)
        #expect(try scenario.itemIDs == ["x", "y"])
        try scenario.receive(Self.second)
        #expect(try scenario.oplogIndexes.isEmpty)
        #expect(try scenario.itemIDs == ["x", "y"])
        try scenario.receive(.done)
        #expect(try scenario.oplogIndexes == SyncScenario.allOplogIndexes)
        #expect(try scenario.itemIDs == ["x", "y", "z"])
    }

    /// Who opens the file would wait for all three.
    @Test func openingTheFileCreatesNoneBeforeTheFirstCompleteCheckpoint() throws {
        let scenario = try downloaded()
        try scenario.receive(.done(1))
        #expect(try scenario.syncState.count == 1)
        try scenario.database.apply(.items())
        #expect(try scenario.oplogIndexes.isEmpty)
        try scenario.receive(.done)
        #expect(try scenario.itemIDs == ["x", "y", "z"])
    }

    /// The download begins with little, so that the indexes are there, and goes on with much.
    @Test func theIndexesAreDroppedAfterAPartialCheckpoint() throws {
        let scenario = try SyncScenario(bulkLoadThreshold: 5)
        try scenario.start()
        try scenario.receive(.checkpoint(2, [.bucket("a", checksum: 3, count: 2, priority: 1)]), Self.first, .done(1))
        #expect(try scenario.oplogIndexes == SyncScenario.allOplogIndexes)
        try scenario.receive(Self.checkpoint, Self.second)
        #expect(try scenario.oplogIndexes.isEmpty)
        try scenario.receive(.done(1), .done)
        #expect(try scenario.itemIDs == ["x", "y", "z"])
    }

    /// Creating them once more takes longer the more there is.
    @Test(arguments: [(15, false), (16, true)] as [(Int64, Bool)])
    func theIndexesAreDroppedIfAsMuchIsToComeAsThereIs(count: Int64, areDropped: Bool) throws {
        let scenario = try SyncScenario(bulkLoadThreshold: 5)
        try scenario.start()
        for first in [1, 5] as [Int64] {
            let operations = (first..<first + 4).map { Operation.put($0, "\($0)") }
            try scenario.receive(.checkpoint(20, [.bucket("a", count: first + 3)]), .data(.line("a", operations)))
        }
        #expect(try scenario.oplogIndexes == SyncScenario.allOplogIndexes)
        try scenario.receive(.checkpoint(20, [.bucket("a", count: count)]), .ops("a", .put(9, "9")))
        #expect(try scenario.oplogIndexes.isEmpty == areDropped)
    }

    @Test func aLocalWriteBetweenTwoIndexesHoldsTheCheckpointBack() throws {
        let scenario = try downloaded()
        try scenario.receive(
            .checkpoint(9, [.bucket("a", checksum: 3, priority: 1), .bucket("b", checksum: 9)], writeCheckpoint: 1)
        )
        #expect(try scenario.submit([.line(.done)]).handledEvents == 0)
        try scenario.database.write("INSERT INTO items (id, col) VALUES ('local', 'mine')")
        #expect(try scenario.receive(.done).kinds == ["log info"])
        #expect(try scenario.oplogIndexes.count == 1)
        #expect(try scenario.itemIDs == ["local"])

        // After the upload the rest is created, and the checkpoint published.
        try scenario.write { db in
            let last = try #require(try UploadQueue.sequence(db))
            try UploadQueue.complete(db, through: last, writeCheckpoint: WriteCheckpoint(1))
        }
        for count in 2...3 {
            #expect(try scenario.submit([.uploadCompleted]).handledEvents == 0)
            #expect(scenario.engine.hasPendingCheckpoint)
            #expect(try scenario.oplogIndexes.count == count)
        }
        #expect(try scenario.submit([.uploadCompleted]).handledEvents == 1)
        #expect(!scenario.engine.hasPendingCheckpoint)
        #expect(try scenario.itemIDs == ["x", "y", "z"])
    }

    @Test(arguments: 0...3)
    func processThatEndsBetweenTwoIndexes(afterIndexes count: Int) throws {
        let scenario = try downloaded()
        for _ in 0..<count { #expect(try scenario.submit([.line(.done)]).handledEvents == 0) }
        // A new process opens the file, which leaves the indexes to the engine.
        try scenario.database.apply(.items())
        #expect(try scenario.oplogIndexes.count == count)
        scenario.restart()
        try scenario.start()
        // Nothing is left to download.
        try scenario.receive(Self.checkpoint, .done(1))
        #expect(try scenario.oplogIndexes.count == count)
        #expect(try scenario.itemIDs == ["x", "y"])
        try scenario.receive(.done)
        #expect(try scenario.oplogIndexes == SyncScenario.allOplogIndexes)
        #expect(try scenario.itemIDs == ["x", "y", "z"])
    }

    @Test(arguments: 0...3, [1, 100] as [Int64])
    func processThatEndsBetweenTwoIndexesAndMoreToDownload(afterIndexes count: Int, beforeMore threshold: Int64) throws
    {
        let scenario = try downloaded()
        for _ in 0..<count { #expect(try scenario.submit([.line(.done)]).handledEvents == 0) }
        scenario.restart(bulkLoadThreshold: threshold)
        try scenario.database.apply(.items())
        try scenario.start()
        try scenario.receive(
            .checkpoint(40, [.bucket("a", checksum: 7, count: 3, priority: 1), .bucket("b", checksum: 9, count: 30)])
        )
        let step = try scenario.submit([.line(.ops("a", .put(10, "y", 4)))])
        if threshold == 1 {
            // Once more without indexes.
            #expect(step.handledEvents == 1)
            #expect(try scenario.oplogIndexes.isEmpty)
        } else {
            #expect(step.handledEvents == (count == 3 ? 1 : 0))
            #expect(try scenario.oplogIndexes.count == min(3, count + 1))
            if count < 3 { try scenario.receive(.ops("a", .put(10, "y", 4))) }
        }
        try scenario.receive(.done(1))
        #expect(
            try scenario.oplog == [
                "a|1|items/x/null|1", "a|10|items/y/null|4", "b|3|items/x/null|3", "b|9|items/z/null|6",
            ]
        )
        #expect(try scenario.itemIDs == ["x", "y"])
        try scenario.receive(.done)
        #expect(try scenario.oplogIndexes == SyncScenario.allOplogIndexes)
        #expect(try scenario.itemIDs == ["x", "y", "z"])
    }

    @Test func anotherImplementationMayCreateTheIndexesAndPublish() throws {
        let scenario = try downloaded()
        scenario.restart()
        try scenario.write { db in
            while try OplogIndexes.createNext(db) {}
            try db.execute(
                sql: """
                    INSERT INTO ps_data__items (id, data) SELECT row_id, data FROM ps_oplog GROUP BY row_id;
                    UPDATE ps_buckets SET last_applied_op = last_op;
                    """
            )
        }
        try scenario.start()
        try scenario.receive(Self.checkpoint, .done(1), .done)
        #expect(try scenario.itemIDs == ["x", "y", "z"])
        #expect(scenario.status.hasSynced == true)
    }

    @Test func deletingBucketsNeedsNoIndex() throws {
        let scenario = try downloaded()
        let buckets = [
            BucketDescription.bucket("a", checksum: 3, count: 2, priority: 1), .bucket("c", checksum: 5, count: 9),
        ]
        try scenario.receive(.checkpoint(10, buckets), .ops("c", .put(10, "y", 5)))
        #expect(try scenario.oplogIndexes.isEmpty)
        #expect(try scenario.bucketNames == ["a", "c"])
        #expect(try scenario.updatedRows == ["items|x", "items|z"])
        // A wrong checksum deletes the bucket, too.
        try scenario.receive(
            .checkpoint(10, [.bucket("a", checksum: 4, priority: 1), .bucket("c", checksum: 5)]),
            .done
        )
        #expect(try scenario.oplogIndexes.isEmpty)
        #expect(try scenario.oplog == ["c|10|items/y/null|5"])
        try scenario.start()
        try scenario.receive(.checkpoint(10, [.bucket("c", checksum: 5)]), .done)
        #expect(try scenario.items == ["y|{}"])
    }
}

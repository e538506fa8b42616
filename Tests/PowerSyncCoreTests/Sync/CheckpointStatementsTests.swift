import GRDB
import PowerSyncCoreTestSupport
import PowerSyncProtocol
import Testing

@testable import PowerSyncCore

/// How many statements a checkpoint runs that changes one row: more than the row itself costs what has to be found out.
@Suite struct CheckpointStatementsTests {
    private static let buckets = (0..<10).map { "b\($0)" }

    @Test func oneRowAmongTenBuckets() throws {
        let scenario = try SyncScenario.started(.batched)
        let first = Self.buckets.map { BucketDescription.bucket($0, count: 1) }
        let operations = Self.buckets.enumerated().map { SyncLine.ops($1, .put(Int64($0 + 1), "row\($0)")) }
        try scenario.send(([.checkpoint(10, first)] + operations + [.done]).map { .line($0) })
        // What is learned of the tables is kept from here on.
        let changes: [[SyncEvent]] = ([11, 12] as [Int64]).map { opID in
            [
                .line(.diff(opID, [.bucket("b3", count: opID - 9)])), .line(.ops("b3", .put(opID, "row3"))),
                .line(.done),
            ]
        }
        try scenario.send(changes[0])
        var texts: [String] = []
        try scenario.database.queue.write { db in
            var engine = scenario.engine
            texts = try db.statementsRun { _ = try engine.handle(changes[1], in: db, now: scenario.now) }
        }
        let expected = [
            "PRAGMA data_version",
            "ps_stream_subscriptions",
            // The operation takes the place of the one with its key.
            "FROM ps_oplog INDEXED BY ps_oplog_key", "UPDATE ps_oplog",
            // The local write gate and the upload queue.
            "FROM ps_crud",
            "PRAGMA main.schema_version", "PRAGMA temp.schema_version",
            "WITH changed", "REPLACE INTO",
            "EXISTS (SELECT 1 FROM \"ps_updated_rows\")",
            "UPDATE ps_sync_state",
            // The position of all buckets, and what one of them holds.
            "UPDATE ps_buckets", "UPDATE ps_buckets",
        ]
        #expect(texts.count == expected.count, "\(texts)")
        for (text, part) in zip(texts, expected) { #expect(text.contains(part)) }
    }
}

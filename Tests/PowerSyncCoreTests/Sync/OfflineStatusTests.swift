import GRDB
import PowerSyncCoreTestSupport
import PowerSyncProtocol
import Testing

@testable import PowerSyncCore

/// What the database knows of earlier syncs.
@Suite struct OfflineStatusTests {
    private func offline(_ scenario: SyncScenario) throws -> DownloadStatus {
        try scenario.database.queue.read { try DownloadStatus.offline($0) }
    }

    @Test func nothingIsKnownOfAFreshDatabase() throws {
        let status = try offline(SyncScenario())
        #expect(status == DownloadStatus(streams: []))
        #expect(status.hasSynced == false)
    }

    @Test func aLostConnectionLeavesNothingOfItsOwn() {
        var status = DownloadStatus(isConnected: true, streams: [], lastApplied: WriteCheckpoint(7))
        status.showDisconnected()
        #expect(status == DownloadStatus(streams: []))
    }

    @Test func laterPartsReplaceEarlierOnes() throws {
        let scenario = try SyncScenario()
        try scenario.start()
        try scenario.receive(
            .checkpoint(1, [.bucket("a", priority: 1), .bucket("b", priority: 2), .bucket("c")]),
            .done(1)
        )
        #expect(try offline(scenario).priorities.map(\.priority) == [Priority(1)])
        scenario.now = scenario.now.adding(seconds: 1)
        try scenario.receive(.done(2))
        let partial = try offline(scenario)
        #expect(partial.priorities == [PriorityStatus(priority: Priority(2), lastSyncedAt: scenario.now)])
        #expect(partial.hasSynced == false)
        scenario.now = scenario.now.adding(seconds: 1)
        try scenario.receive(.done)
        let complete = try offline(scenario)
        #expect(complete.priorities == [PriorityStatus(priority: .complete, lastSyncedAt: scenario.now)])
        #expect(complete.lastSyncedAt == scenario.now)
        #expect(!complete.isConnected)
    }

    @Test func subscriptionsAreListed() throws {
        let scenario = try SyncScenario()
        let key = StreamKey(name: "s", parameters: ["a": 1])
        try scenario.write { db in
            try StreamSubscriptions.subscribe(db, key, timeToLive: 60, priority: Priority(1), now: scenario.now)
        }
        let stream = try #require(try offline(scenario).streams?.first)
        #expect(stream.key == key)
        #expect(stream.hasExplicitSubscription)
        #expect(!stream.isDefault)
        #expect(stream.lastSyncedAt == nil)
        #expect(stream.expiresAt == scenario.now.adding(seconds: 60))
        #expect(stream.progress == nil)
    }

    @Test func detailsOfStreamsAreKeptFromAnEarlierStatus() throws {
        let streams = ["s", "t"].map { StreamDescription(name: $0, isDefault: false) }
        let scenario = try SyncScenario()
        try scenario.write { db in
            for stream in streams {
                try StreamSubscriptions.subscribe(db, StreamKey(name: stream.name), now: scenario.now)
            }
        }
        try scenario.start()
        try scenario.receive(
            .checkpoint(1, [.bucket("a", priority: 1, .subscription(0))], streams: [streams[0]]),
            .done
        )
        let earlier = scenario.status
        #expect(earlier.isConnected)
        let status = try offline(scenario).keepingDetails(of: earlier)
        #expect(!status.isConnected)
        #expect(status.streams?.map(\.priority) == [Priority(1), nil])
        #expect(status.streams?.map(\.unknown?.name) == [nil, "t"])
        // Listed meanwhile, it is not unknown any more.
        try scenario.receive(.checkpoint(1, [], streams: streams))
        #expect(try offline(scenario).keepingDetails(of: earlier).streams?.map(\.unknown) == [nil, nil])
    }

    @Test func partialPublicationLeavesRowsOfOtherBucketsAndLocalWritesAlone() throws {
        let scenario = try SyncScenario()
        try scenario.start()
        try scenario.database.write(
            """
            INSERT INTO ps_data__items VALUES ('left', '{}');
            INSERT INTO ps_updated_rows VALUES ('items', 'left');
            """
        )
        try scenario.receive(
            .checkpoint(2, [.bucket("a", priority: 1), .bucket("b")]),
            .ops("a", .put(1, "x")),
            .ops("b", .put(2, "y")),
            .done(1)
        )
        #expect(try scenario.itemIDs == ["left", "x"])
        #expect(try scenario.updatedRows == ["items|left"])
        #expect(try scenario.bucket("last_applied_op", of: "b") == 0)
        try scenario.receive(.done)
        #expect(try scenario.itemIDs == ["x", "y"])
        #expect(try scenario.updatedRows.isEmpty)
    }
}

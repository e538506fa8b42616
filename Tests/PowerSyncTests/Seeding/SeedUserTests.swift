import Foundation
import PowerSyncCoreTestSupport
import PowerSyncProtocol
import PowerSyncTesting
import Testing

@testable import PowerSyncClient

/// Whose rows a database shows that has begun with a seed.
@Suite(.timeLimit(.minutes(1))) struct SeedUserTests {
    private func seedIsThere(_ harness: SyncHarness) async throws -> Bool {
        try await harness.integer("SELECT count(*) FROM ps_kv WHERE key = 'swift_seed'") == 1
    }

    @Test func itsUserDownloadsWhatCameLater() async throws {
        let fixture = try await SeedFixture()
        let harness = try await fixture.harness("app.db", user: SeedFixture.user)
        let stream = try await harness.connectAndAccept()
        #expect(stream.request.buckets == [.init(name: BucketName("a"), after: OpID(3))])
        #expect(try await !seedIsThere(harness))
        harness.date.advance(by: 60)
        stream.send(.checkpoint(4, [.bucket("a", count: 4)]), .put("a", 4...4), .done)
        try await harness.wait { $0.lastSyncedAt == harness.date.now }
        #expect(try await harness.database.listIDs() == ["a1", "a2", "a4"])
        try await harness.database.close()
    }

    @Test(arguments: ["bert", "Anna", nil])
    func ofAnotherUserNothingIsShown(_ user: String?) async throws {
        let fixture = try await SeedFixture()
        let harness = try await fixture.harness("app.db", user: user)
        try await harness.database.execute("INSERT INTO drafts (id, text) VALUES ('d', 'of the device')")
        let subscription = try await harness.database.syncStream(name: "extra", params: nil).subscribe()
        let clientID = try await harness.database.getClientId()
        let stream = try await harness.connectAndAccept()
        // The only stream that was opened knows of no bucket.
        #expect(harness.service.streamRequests == 1)
        #expect(stream.request.buckets.isEmpty)
        #expect(stream.request.streams.subscriptions.map(\.stream) == ["extra"])
        #expect(try await harness.database.listIDs().isEmpty)
        #expect(try await harness.integer("SELECT count(*) FROM ps_oplog") == 0)
        #expect(harness.database.currentStatus.hasSynced != true)
        #expect(try await harness.integer("SELECT count(*) FROM drafts") == 1)
        #expect(try await harness.database.getClientId() == clientID)
        #expect(try await !seedIsThere(harness))
        stream.send(.checkpoint(9, [.bucket("b", count: 1)]), .put("b", 9...9), .done)
        try await harness.wait { $0.hasSynced == true }
        #expect(try await harness.database.listIDs() == ["b9"])
        withExtendedLifetime(subscription) {}
        try await harness.database.close()
    }

    @Test func accountOfTheAppStaysWhenTheRowsOfAnotherGo() async throws {
        let fixture = try await SeedFixture()
        let harness = try await fixture.harness("app.db", user: "bert")
        try await harness.database.connect(connector: harness.connector, account: "account of bert")
        _ = try await harness.acceptNext()
        #expect(try await harness.database.listIDs().isEmpty)
        let error = await #expect(throws: PowerSyncError.self) {
            try await harness.database.connect(connector: harness.connector, account: "account of anna")
        }
        #expect(error?.code == .otherAccount)
        try await harness.database.close()
    }

    @Test(arguments: [ConnectionMode.full, .uploadOnly])
    func writesAreNotLostWithTheRowsOfAnother(_ mode: ConnectionMode) async throws {
        let fixture = try await SeedFixture()
        let harness = try await fixture.harness("app.db", user: "bert")
        try await harness.insert("x")
        try await harness.connect(ConnectOptions(mode: mode))
        try await harness.wait { status in
            let error = (mode == .full ? status.lastDownloadError : status.lastUploadError) as? PowerSyncError
            return error?.code == .otherAccount
        }
        #expect(harness.service.streamRequests == 0)
        #expect(harness.connector.uploads == 0)
        #expect(try await harness.database.listIDs() == ["a1", "a2", "x"])
        try await harness.database.disconnectAndClear()
        let stream = try await harness.connectAndAccept()
        #expect(stream.request.buckets.isEmpty)
        #expect(try await harness.database.listIDs().isEmpty)
        try await harness.database.close()
    }

    @Test func softClearDoesNotMakeThemAnybodys() async throws {
        let fixture = try await SeedFixture()
        let harness = try await fixture.harness("app.db", user: "bert")
        try await harness.database.disconnectAndClear(clearLocal: false, soft: true)
        let stream = try await harness.connectAndAccept()
        #expect(stream.request.buckets.isEmpty)
        try await harness.database.close()
    }

    @Test func userThatTheAppNamesDecidesAtTheOpening() async throws {
        let fixture = try await SeedFixture()
        let own = fixture.database("own.db", user: SeedFixture.user)
        #expect(try await own.listIDs() == ["a1", "a2"])
        try await own.close()
        let other = fixture.database("other.db", user: "bert")
        #expect(try await other.listIDs().isEmpty)
        #expect(other.currentStatus.hasSynced != true)
        try await other.close()
        // The file is there now.
        let again = fixture.database("other.db", user: SeedFixture.user)
        #expect(try await again.listIDs().isEmpty)
        try await again.close()
    }
}

import Foundation
import PowerSyncCoreTestSupport
import PowerSyncProtocol
import PowerSyncTesting
import Testing

@testable import PowerSyncClient

@Suite(.timeLimit(.minutes(1))) struct UnknownSyncStreamTests {
    private let harness = SyncHarness()
    private let lists = StreamDescription(name: "lists", isDefault: false)

    @Test func waitingForAnUnknownStreamThrows() async throws {
        let subscription = try await harness.database.syncStream(name: "list", params: ["id": .int(1)]).subscribe()
        let other = try await harness.database.syncStream(name: "lists", params: nil).subscribe()
        let waiting = Task { try await subscription.waitForFirstSync() }
        let service = try await harness.connectAndAccept()
        service.send(.checkpoint(1, [.bucket("a", .subscription(1))], streams: [lists]))
        let error = await #expect(throws: UnknownSyncStreamError.self) { try await waiting.value }
        #expect(error?.streamName == "list")
        #expect(error?.similarNames == ["lists"])
        #expect(error?.knownNames == ["lists"])
        #expect(error?.localizedDescription.contains("Did you mean 'lists'?") == true)

        service.send(.done)
        try await other.waitForFirstSync()
        let status = try #require(harness.database.currentStatus.forStream(stream: subscription)?.subscription)
        #expect(status.unknownStream == error)
        #expect(!status.hasSynced)
        #expect(!status.active)
        #expect(harness.database.currentStatus.forStream(stream: other)?.subscription.unknownStream == nil)
        #expect(harness.log.messages(.warning).filter { $0.contains("'list'") }.count == 1)
        // Everything else has been synced.
        try await harness.database.waitForFirstSync()
        await #expect(throws: UnknownSyncStreamError.self) { try await subscription.waitForFirstSync() }
    }

    @Test func whatIsUnknownStaysSoWhenAnotherProcessHasSynced() async throws {
        let subscription = try await harness.database.syncStream(name: "list", params: nil).subscribe()
        try await harness.connectAndAccept().send(.checkpoint(1, streams: [lists]))
        try await harness.wait { $0.forStream(stream: subscription)?.subscription.unknownStream != nil }
        try await harness.database.disconnect()
        // What another process leaves.
        try await harness.database.execute("INSERT INTO ps_sync_state VALUES (2147483647, 1700000000000000)")
        try await harness.wait { $0.hasSynced == true }
        #expect(harness.database.currentStatus.forStream(stream: subscription)?.subscription.unknownStream != nil)
    }

    @Test func whatIsUnknownStaysSoWhenOtherStreamsAreSubscribedTo() async throws {
        let subscription = try await harness.database.syncStream(name: "list", params: nil).subscribe()
        try await harness.connectAndAccept().send(.checkpoint(1, streams: [lists]))
        try await harness.wait { $0.forStream(stream: subscription)?.subscription.unknownStream != nil }
        try await harness.database.disconnect()
        let other = try await harness.database.syncStream(name: "lists", params: nil).subscribe()
        let status = harness.database.currentStatus
        #expect(status.forStream(stream: other)?.subscription.unknownStream == nil)
        #expect(status.forStream(stream: subscription)?.subscription.unknownStream != nil)
        await #expect(throws: UnknownSyncStreamError.self) { try await subscription.waitForFirstSync() }
    }

    @Test func aLaterConnectionMayKnowTheStream() async throws {
        let subscription = try await harness.database.syncStream(name: "lists", params: nil).subscribe()
        let service = try await harness.connectAndAccept()
        service.send(.checkpoint(1), .done)
        try await harness.wait { $0.hasSynced == true }
        await #expect(throws: UnknownSyncStreamError.self) { try await subscription.waitForFirstSync() }
        let next = try await harness.connectAndAccept()
        next.send(.checkpoint(2, [.bucket("a", count: 0, .subscription(0))], streams: [lists]), .done)
        try await harness.wait { $0.forStream(stream: subscription)?.subscription.hasSynced == true }
        try await subscription.waitForFirstSync()
        #expect(harness.database.currentStatus.forStream(stream: subscription)?.subscription.unknownStream == nil)
    }
}

import Foundation
import PowerSyncTesting
import Testing

@testable import PowerSync

@Suite(.timeLimit(.minutes(1))) struct ClockJumpTests {
    @Test("a wall clock that jumps by a day does not disturb a connection", arguments: [86_400, -86_400])
    func clockThatJumps(by seconds: TimeInterval) async throws {
        let harness = SyncHarness()
        let stream = try await harness.connectAndAccept()
        stream.send(.checkpoint(1, [.bucket("a", count: 1)]), .put("a", 1...1), .done)
        try await harness.database.waitForFirstSync()
        harness.date.advance(by: seconds)
        let now = harness.date.now
        stream.send(.checkpoint(2, [.bucket("a", count: 2)]), .put("a", 2...2), .done)
        try await harness.wait { $0.lastSyncedAt == now }
        #expect(try await harness.lists() == ["a1": "remote", "a2": "remote"])
        #expect(harness.database.currentStatus.connected)
        #expect(harness.database.currentStatus.downloadError == nil)
        try await harness.database.close()
    }
}

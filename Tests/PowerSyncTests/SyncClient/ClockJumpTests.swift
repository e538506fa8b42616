import Foundation
import PowerSyncCoreTestSupport
import PowerSyncProtocol
import PowerSyncTesting
import Testing

@testable import PowerSyncClient

/// A wall clock that somebody sets to another day, or that was wrong until the network corrected it.
@Suite(.timeLimit(.minutes(1))) struct ClockJumpTests {
    private static let jumps: [TimeInterval] = [86_400, -86_400]

    private let harness = SyncHarness()

    private func options(_ transport: SyncTransportMethod) -> ConnectOptions {
        ConnectOptions(clientConfiguration: SyncClientConfiguration(transport: transport))
    }

    @Test(
        arguments: jumps,
        [SyncTransportMethod.http, .webSocket]
    )
    func wallClockThatJumpsByADayDoesNotDisturbAConnection(
        by seconds: TimeInterval,
        _ transport: SyncTransportMethod
    ) async throws {
        let stream = try await harness.connectAndAccept(options(transport))
        stream.send(.checkpoint(1, [.bucket("a", count: 1)]), .put("a", 1...1), .done)
        try await harness.database.waitForFirstSync()
        harness.date.advance(by: seconds)
        let now = harness.date.now
        stream.send(.checkpoint(2, [.bucket("a", count: 2)]), .put("a", 2...2), .done)
        try await harness.wait { $0.lastSyncedAt == now }
        // Keepalives, tokens and silence are measured by another clock.
        stream.send(.keepalive(tokenExpiresIn: 4000))
        try await stream.waitUntilRead()
        #expect(!stream.isClosed)
        #expect(harness.connector.fetches == 1)
        #expect(try await harness.lists() == ["a1": "remote", "a2": "remote"])
        #expect(harness.database.currentStatus.connected)
        #expect(harness.database.currentStatus.downloadError == nil)
        try await harness.database.close()
    }

    @Test(arguments: jumps)
    func clockThatJumpsWhileNobodyIsConnectedDoesNotDisturbTheNextConnection(by seconds: TimeInterval) async throws {
        let subscription = try await harness.database.syncStream(name: "kept", params: nil).subscribe(
            ttl: 60,
            priority: nil
        )
        let first = try await harness.connectAndAccept()
        first.send(.checkpoint(1, [.bucket("a", count: 1)]), .put("a", 1...1), .done)
        try await harness.database.waitForFirstSync()
        try await harness.database.disconnect()
        harness.date.advance(by: seconds)
        let now = harness.date.now
        try await harness.insert("mine")
        let second = try await harness.connectAndAccept()
        #expect(second.request.streams.subscriptions.map(\.stream) == [subscription.name])
        #expect(second.request.buckets.map(\.after.rawValue) == [1])
        second.send(.checkpoint(1, [.bucket("a", count: 1)]))
        try await harness.connector.waitForUploads(1)
        try await harness.service.nextWriteCheckpoint().respond(1)
        second.send(.checkpoint(2, [.bucket("a", count: 2)], writeCheckpoint: 1), .put("a", 2...2), .done)
        try await harness.wait { $0.lastSyncedAt == now }
        #expect(try await harness.lists() == ["a1": "remote", "a2": "remote"])
        #expect(harness.database.currentStatus.anyError == nil)
        try await harness.database.close()
    }

    @Test(arguments: jumps)
    func subscriptionThatIsHeldOutlivesAJumpOneThatIsNotEndsADayEarlyOrLate(by seconds: TimeInterval) async throws {
        let kept = try await harness.database.syncStream(name: "kept", params: nil).subscribe(ttl: 60, priority: nil)
        let left = try await harness.database.syncStream(name: "left", params: nil).subscribe(ttl: 60, priority: nil)
        try await left.unsubscribe()
        let stream = try await harness.connectAndAccept()
        #expect(stream.request.streams.subscriptions.map(\.stream) == ["kept", "left"])
        harness.date.advance(by: seconds)
        stream.send(.keepalive(tokenExpiresIn: 4000))
        if seconds < 0 {
            try await stream.waitUntilRead()
            #expect(!stream.isClosed)
            harness.date.advance(by: -seconds + 61)
            stream.send(.keepalive(tokenExpiresIn: 4000))
        }
        let next = try await harness.acceptNext()
        #expect(next.request.streams.subscriptions.map(\.stream) == [kept.name])
        #expect(harness.database.currentStatus.anyError == nil)
        try await harness.database.close()
    }
}

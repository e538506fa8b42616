import Foundation
import PowerSyncCoreTestSupport
import PowerSyncProtocol
import PowerSyncTesting
import TestSupport
import Testing

@testable import PowerSyncClient

/// Clearing a database resets the status, which all instances of the file show.
@Suite(.timeLimit(.minutes(1))) struct ClearedStatusTests {
    /// Two instances of one file; both know of a complete sync.
    private func withSyncedPair(_ body: (_ first: SyncHarness, _ second: SyncHarness) async throws -> Void) async throws
    {
        try await withTemporaryDirectory { directory in
            let path = directory.appending(path: "test.db").path
            let first = SyncHarness(path: path)
            let second = SyncHarness(path: path, service: first.service, clock: first.clock)
            _ = try await first.database.syncStream(name: "s", params: nil).subscribe()
            let stream = try await first.connectAndAccept()
            stream.send(.checkpoint(1, [.bucket("a", count: 1)]), .put("a", 1...1), .done)
            try await first.wait { $0.hasSynced == true }
            try await second.database.waitForFirstSync()
            try await body(first, second)
            try await first.database.close()
            try await second.database.close()
        }
    }

    private func expectCleared(_ harness: SyncHarness, sourceLocation: SourceLocation = #_sourceLocation) {
        let status = harness.database.currentStatus
        #expect(status.hasSynced == false, sourceLocation: sourceLocation)
        #expect(status.lastSyncedAt == nil, sourceLocation: sourceLocation)
        #expect(status.priorityStatusEntries.isEmpty, sourceLocation: sourceLocation)
        #expect(status.syncStreams?.isEmpty == true, sourceLocation: sourceLocation)
        #expect(!status.connected, sourceLocation: sourceLocation)
    }

    @Test(
        arguments: [true, false],
        [true, false]
    )
    func clearingResetsAllInstancesWhicheverIsAskedAndWhicheverSyncs(_ asksFirst: Bool, _ soft: Bool) async throws {
        try await withSyncedPair { first, second in
            #expect(second.database.currentStatus.syncStreams?.count == 1)
            try await (asksFirst ? first : second).database.disconnectAndClear(soft: soft)
            expectCleared(first)
            expectCleared(second)
            #expect(first.service.openStreams == 0)
        }
    }

    @Test func instanceThatWasNotUsedShowsTheStatusOfTheFile() async throws {
        try await withSyncedPair { first, _ in
            let path = try await first.database.get("SELECT file FROM pragma_database_list") {
                try $0.getString(index: 0)
            }
            let third = SyncHarness(path: path)
            #expect(third.database.currentStatus.hasSynced == true)
            try await first.database.disconnectAndClear()
            expectCleared(third)
            try await third.database.waitForReady()
            expectCleared(third)
            try await third.database.close()
        }
    }

    @Test func clearedInstanceSyncsAgain() async throws {
        try await withSyncedPair { first, second in
            try await second.database.disconnectAndClear()
            let stream = try await second.connectAndAccept()
            #expect(stream.request.buckets.isEmpty)
            stream.send(.checkpoint(1, [.bucket("a", count: 1)]), .put("a", 1...1), .done)
            try await second.wait { $0.hasSynced == true }
            #expect(try await first.lists() == ["a1": "remote"])
        }
    }

    @Test(arguments: ["powersync_clear(1)", "powersync_clear(2)", "powersync_clear(0)"])
    func appsMayClearInSQL(_ call: String) async throws {
        try await withSyncedPair { first, second in
            try await first.database.disconnect()
            _ = try await second.database.writeTransaction { try $0.execute(sql: "SELECT \(call)", parameters: []) }
            expectCleared(first)
            expectCleared(second)
        }
    }

    @Test(arguments: [false, true])
    func resyncForgetsTheStatusOnlyWhenAskedTo(_ forgets: Bool) async throws {
        try await withSyncedPair { first, second in
            try await first.database.disconnect()
            let sql = "SELECT powersync_trigger_resync(\(forgets ? 1 : 0))"
            _ = try await first.database.writeTransaction { try $0.execute(sql: sql, parameters: []) }
            for status in [first, second].map(\.database.currentStatus) {
                #expect(status.hasSynced == !forgets)
                #expect(status.syncStreams?.count == 1)
            }
        }
    }

    @Test func clearThatIsRolledBackChangesNothing() async throws {
        struct Refusal: Error {}
        try await withSyncedPair { first, _ in
            try await first.database.disconnect()
            await #expect(throws: Refusal.self) {
                try await first.database.writeTransaction { transaction in
                    try transaction.execute(sql: "SELECT powersync_clear(1)", parameters: [])
                    throw Refusal()
                }
            }
            try await first.insert("x")
            #expect(first.database.currentStatus.hasSynced == true)
            #expect(try await first.lists() == ["a1": "remote", "x": "local"])
        }
    }

    @Test func whatIsClearedWhileAStreamIsOpenedIsNotShownAsSynced() async throws {
        let harness = SyncHarness()
        let stream = try await harness.connectAndAccept()
        stream.send(.checkpoint(1, [.bucket("a", count: 1)]), .put("a", 1...1), .done)
        try await harness.wait { $0.hasSynced == true }
        stream.end()
        try await harness.wait { !$0.connected }
        _ = try await harness.clock.withoutDelays { try await harness.service.nextStream() }
        #expect(harness.database.currentStatus.hasSynced == true)
        _ = try await harness.database.writeTransaction {
            try $0.execute(sql: "SELECT powersync_clear(1)", parameters: [])
        }
        // Although the stream is not open.
        try await harness.wait { $0.hasSynced == false }
    }

    @Test(arguments: [true, false])
    func whileConnectedEverythingIsDownloadedAgainWhicheverInstanceIsAsked(_ asksFirst: Bool) async throws {
        try await withSyncedPair { first, second in
            _ = try await (asksFirst ? first : second).database.writeTransaction {
                try $0.execute(sql: "SELECT powersync_clear(1)", parameters: [])
            }
            // Although the service had nothing to say.
            let stream = try await first.clock.withoutDelays { try await first.service.nextStream() }
            stream.accept()
            try await first.wait { $0.connected }
            #expect(stream.request.buckets.isEmpty)
            #expect(first.database.currentStatus.hasSynced == false)
            #expect(first.database.currentStatus.syncStreams?.isEmpty == true)
            #expect(try await first.lists().isEmpty)
            stream.send(.checkpoint(1, [.bucket("a", count: 1)]), .put("a", 1...1), .done)
            try await first.wait { $0.hasSynced == true }
            #expect(try await first.lists() == ["a1": "remote"])
        }
    }

    @Test func whileConnectedTheAnsweredRequestIsForgotten() async throws {
        let harness = SyncHarness()
        let stream = try await harness.connectAndAccept()
        stream.send(.checkpoint(1, [.bucket("a", count: 1)], writeCheckpoint: 5), .put("a", 1...1), .done)
        try await harness.wait { $0.hasSynced == true }
        #expect(harness.database.currentStatus.lastAppliedCheckpointRequestId == 5)
        _ = try await harness.database.writeTransaction {
            try $0.execute(sql: "SELECT powersync_clear(1)", parameters: [])
        }
        #expect(harness.database.currentStatus.lastAppliedCheckpointRequestId == nil)
        try await harness.wait { $0.hasSynced == false }
        #expect(harness.database.currentStatus.lastAppliedCheckpointRequestId == nil)
        try await harness.database.close()
    }

    @Test func instanceThatWaitsForItsNextAttemptIsReset() async throws {
        let harness = SyncHarness()
        let stream = try await harness.connectAndAccept()
        stream.send(.checkpoint(1, [.bucket("a", count: 1)]), .put("a", 1...1), .done)
        try await harness.wait { $0.hasSynced == true }
        stream.end()
        try await harness.wait { !$0.connected && !$0.connecting }
        try await harness.clock.waitForTimer(of: .seconds(5))
        _ = try await harness.database.writeTransaction {
            try $0.execute(sql: "SELECT powersync_clear(1)", parameters: [])
        }
        expectCleared(harness)
        try await harness.database.close()
    }
}

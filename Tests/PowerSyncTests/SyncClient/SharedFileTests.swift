import Foundation
import GRDB
import PowerSyncCoreTestSupport
import PowerSyncProtocol
import PowerSyncTesting
import Testing

@testable import PowerSyncClient

@Suite(.timeLimit(.minutes(1))) struct SharedFileTests {
    private let directory = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
    private var path: String { directory.appending(path: "test.db").path }

    @Test func secondInstanceTakesOver() async throws {
        defer { try? FileManager.default.removeItem(at: directory) }
        let first = SyncHarness(path: path)
        let second = SyncHarness(path: path, service: first.service, clock: first.clock)
        #expect(
            second.log.messages(.warning).contains {
                $0.contains("Multiple PowerSync instances for the same database have been detected.")
            }
        )
        let stream = try await first.connectAndAccept()
        _ = try await second.connectAndAccept()
        #expect(stream.isClosed)
        #expect(first.database.currentStatus.connected)
        #expect(second.database.currentStatus.connected)
        #expect(first.service.mostOpenStreams == 1)
        // Not its connection.
        try await first.database.disconnect()
        #expect(second.database.currentStatus.connected)
        #expect(first.database.currentStatus.connected)
        try await first.database.close()
        try await second.database.close()
    }

    @Test func connectionOfAnotherInstanceIsNotTakenOverToSyncOnce() async throws {
        defer { try? FileManager.default.removeItem(at: directory) }
        let first = SyncHarness(path: path)
        let second = SyncHarness(path: path, service: first.service, clock: first.clock)
        _ = try await first.connectAndAccept()
        await #expect(throws: PowerSyncError.self) {
            try await second.database.syncOnce(connector: second.connector, deadline: .seconds(25))
        }
        #expect(first.database.currentStatus.connected)
        try await first.database.close()
        try await second.database.close()
    }

    @Test func writesOfAnotherInstanceAreUploaded() async throws {
        defer { try? FileManager.default.removeItem(at: directory) }
        let first = SyncHarness(path: path)
        let second = SyncHarness(path: path, service: first.service, clock: first.clock)
        // Opened before: preparing the file is a commit as well, and begins a pass of its own.
        #expect(try await second.lists().isEmpty)
        _ = try await first.connectAndAccept()
        try await second.insert("x")
        try await first.connector.waitForUploads(1)
        try await first.service.nextWriteCheckpoint().respond(1)
        try await first.database.close()
        try await second.database.close()
    }

    @Test func instancesShowOneStatus() async throws {
        defer { try? FileManager.default.removeItem(at: directory) }
        let first = SyncHarness(path: path)
        let second = SyncHarness(path: path, service: first.service, clock: first.clock)
        var flow = second.database.currentStatus.asFlow().makeAsyncIterator()
        #expect(await flow.next()?.connecting == false)
        try await first.connect()
        while let status = await flow.next(), !status.connecting {}
        try await first.service.nextStream().accept()
        while let status = await flow.next(), !status.connected {}
        // The flow of an instance ends with the instance, the status does not.
        try await second.database.close()
        while await flow.next() != nil {}
        #expect(first.database.currentStatus.connected)
        try await first.database.close()
        #expect(!first.database.currentStatus.connected)
    }

    @Test func aCheckpointIsRequestedThroughAnyInstance() async throws {
        defer { try? FileManager.default.removeItem(at: directory) }
        let first = SyncHarness(path: path)
        let second = SyncHarness(path: path, service: first.service, clock: first.clock)
        _ = try await first.connectAndAccept(ConnectOptions(checkpointMode: .requests()))
        try await first.service.nextCheckpointRequest().respond(1)
        async let request = second.database.requestCheckpoint()
        try await first.service.nextCheckpointRequest().respond(2)
        #expect(try await !request.hasSynced)
        // Not through one that was closed, although the connection goes on.
        try await second.database.close()
        await #expect {
            try await second.database.requestCheckpoint()
        } throws: { error in
            if case .notConnecting = error as? CheckpointRequestError { true } else { false }
        }
        #expect(first.database.currentStatus.connected)
        try await first.database.close()
    }

    @Test func earlierSyncIsKnownOffline() async throws {
        defer { try? FileManager.default.removeItem(at: directory) }
        let first = SyncHarness(path: path)
        let stream = try await first.connectAndAccept()
        stream.send(.checkpoint(1), .done)
        try await first.wait { $0.hasSynced == true }
        try await first.database.close()

        let second = SyncHarness(path: path)
        #expect(second.database.currentStatus.hasSynced == nil)
        try await second.database.waitForFirstSync()
        #expect(second.database.currentStatus.lastSyncedAt == Date(timeIntervalSince1970: 1_700_000_000))
        try await second.database.close(deleteDatabase: true)
    }

    @Test func syncOfAnotherInstanceIsSeen() async throws {
        defer { try? FileManager.default.removeItem(at: directory) }
        let first = SyncHarness(path: path)
        let second = SyncHarness(path: path, service: first.service, clock: first.clock)
        let subscription = try await second.database.syncStream(name: "s", params: nil).subscribe()
        #expect(second.database.currentStatus.hasSynced == false)
        let stream = try await first.connectAndAccept()
        stream.send(
            .checkpoint(
                1,
                [.bucket("a", count: 0, priority: 1, .subscription(0)), .bucket("b", count: 0)],
                streams: [StreamDescription(name: "s", isDefault: false)]
            ),
            .done(1)
        )
        try await second.database.waitForFirstSync(priority: 1)
        try await subscription.waitForFirstSync()
        #expect(second.database.currentStatus.hasSynced == false)
        stream.send(.done)
        try await second.database.waitForFirstSync()
        #expect(second.database.currentStatus.lastSyncedAt == Date(timeIntervalSince1970: 1_700_000_000))
        #expect(second.database.currentStatus.connected)
        try await subscription.unsubscribe()
        try await first.database.close()
        try await second.database.close()
    }

    /// A session shows what it knows itself, which is nothing while the service does not answer.
    @Test func syncOfAnotherProcessDuringASessionIsSeenAfterIt() async throws {
        defer { try? FileManager.default.removeItem(at: directory) }
        let harness = SyncHarness(path: path)
        try await harness.connect()
        _ = try await harness.service.nextStream()
        var counts = try harness.database.watch("SELECT count(*) FROM ps_sync_state") { try $0.getInt(index: 0) }
            .makeAsyncIterator()
        #expect(try await counts.next() == [0])
        let other = try DatabaseQueue(path: path)
        try await other.write {
            try $0.execute(sql: "INSERT INTO ps_sync_state VALUES (2147483647, 1700000000000000)")
        }
        while let count = try await counts.next(), count != [1] {}
        #expect(harness.database.currentStatus.hasSynced == false)
        #expect(harness.database.currentStatus.connecting)
        try await harness.database.disconnect()
        try await harness.database.waitForFirstSync()
        try other.close()
        try await harness.database.close()
    }
}

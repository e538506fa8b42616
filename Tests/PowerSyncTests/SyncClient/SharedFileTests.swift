import Foundation
import PowerSyncProtocol
import PowerSyncTesting
import Testing

@testable import PowerSync

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
        #expect(!first.database.currentStatus.connected)
        #expect(second.database.currentStatus.connected)
        #expect(first.service.mostOpenStreams == 1)
        // Not its connection.
        try await first.database.disconnect()
        #expect(second.database.currentStatus.connected)
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
}

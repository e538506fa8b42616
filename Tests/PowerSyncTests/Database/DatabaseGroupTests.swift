import Foundation
import PowerSyncTesting
import TestSupport
import Testing

@testable import PowerSyncClient

/// Instances of one file share what they share until the last one is gone.
@Suite(.timeLimit(.minutes(1))) struct DatabaseGroupTests {
    @Test func groupOutlivesItsFirstMember() async throws {
        try await withTemporaryDirectory { directory in
            let path = directory.appending(path: "test.db").path
            var first: SyncHarness? = SyncHarness(path: path)
            let second = SyncHarness(path: path)
            try await first?.database.close()
            first = nil

            let stream = try await second.connectAndAccept()
            let third = SyncHarness(path: path)
            #expect(third.log.messages(.warning).contains { $0.hasPrefix("Multiple PowerSync instances") })
            _ = try await third.connectAndAccept()
            #expect(stream.isClosed)
            #expect(!second.database.currentStatus.connected)
            try await second.database.close()
            #expect(third.database.currentStatus.connected)
            try await third.database.close()

            let alone = SyncHarness(path: path)
            #expect(alone.log.messages(.warning).isEmpty)
            try await alone.database.close()
        }
    }

    @Test("The schema cannot change while another instance syncs")
    func schemaWaitsForAllInstances() async throws {
        try await withTemporaryDirectory { directory in
            let path = directory.appending(path: "test.db").path
            let first = SyncHarness(path: path)
            let second = SyncHarness(path: path)
            _ = try await first.connectAndAccept()
            await #expect(throws: PowerSyncError.self) {
                try await second.database.updateSchema(schema: SyncHarness.schema)
            }
            try await first.database.disconnect()
            try await second.database.updateSchema(schema: SyncHarness.schema)
            try await first.database.close()
            try await second.database.close()
        }
    }
}

import Foundation
import PowerSyncCoreTestSupport
import PowerSyncProtocol
import PowerSyncTesting
import TestSupport
import Testing

@testable import PowerSyncClient

@Suite(.timeLimit(.minutes(2))) struct FullDiskDownloadTests {
    private func setLimit(_ database: any PowerSyncDatabaseProtocol, pages: Int) async throws {
        try await database.writeLock { context in
            // The statement gives the limit that is now in force.
            _ = try context.get(sql: "PRAGMA max_page_count = \(pages)", parameters: []) { try $0.getInt(index: 0) }
        }
    }

    @Test
    func whileDownloadingIsShownAsAnErrorAndTheDownloadGoesOnWhenThereIsRoom() async throws {
        try await withTemporaryDirectory { directory async throws in
            let harness = SyncHarness(path: directory.appending(path: "a.db").path)
            let first = try await harness.connectAndAccept()
            first.send(.checkpoint(1, [.bucket("a", count: 1)]), .put("a", 1...1), .done)
            try await harness.database.waitForFirstSync()
            // No room any more: the least limit that SQLite accepts is the present size.
            try await setLimit(harness.database, pages: 1)
            first.send(.checkpoint(3000, [.bucket("a", count: 3000)]), .put("a", 2...3000), .done)
            try await harness.wait { status in
                guard case .sqliteError(let code, _, _, _, _) = status.downloadError as? PowerSyncError else {
                    return false
                }
                return code & 0xff == 13
            }
            #expect(try await harness.lists() == ["a1": "remote"])
            let problems = try await harness.database.get("PRAGMA integrity_check") { try $0.getString(index: 0) }
            #expect(problems == "ok")

            try await setLimit(harness.database, pages: 1_000_000)
            try await harness.clock.waitForTimer(of: .seconds(5))
            harness.clock.advance(by: .seconds(5))
            let second = try await harness.acceptNext()
            #expect(second.request.buckets == [.init(name: BucketName("a"), after: OpID(1))])
            second.send(.checkpoint(3000, [.bucket("a", count: 3000)]), .put("a", 2...3000), .done)
            try await harness.wait { $0.downloadError == nil && !$0.downloading && $0.connected }
            var counts = try harness.database.watch("SELECT count(*) FROM lists") { try $0.getInt(index: 0) }
                .makeAsyncIterator()
            while let count = try await counts.next(), count != [3000] {}
            try await harness.database.close()
        }
    }
}

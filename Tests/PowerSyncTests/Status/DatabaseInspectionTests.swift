import Foundation
import PowerSyncCoreTestSupport
import PowerSyncTesting
import TestSupport
import Testing

@testable import PowerSyncClient

/// What a look inside shows, while nothing is connected, in the middle of a download, and after errors.
@Suite(.timeLimit(.minutes(1))) struct DatabaseInspectionTests {
    private let harness = SyncHarness()

    @Test func theQueueIsCountedOffline() async throws {
        let empty = try await harness.database.inspection()
        #expect(!empty.isConnected && empty.buckets.isEmpty && empty.streams.isEmpty && empty.lastSyncedAt == nil)
        #expect(empty.queue.writes == 0 && empty.queue.transactions == 0 && empty.queue.bytes == 0)
        try await harness.insert("1")
        try await harness.database.writeTransaction { transaction in
            for id in ["2", "3"] {
                try transaction.execute(sql: "INSERT INTO lists (id) VALUES (?)", parameters: [id])
            }
        }
        harness.date.advance(by: 7)
        let inspection = try await harness.database.inspection()
        #expect(inspection.date == harness.date.now)
        #expect(inspection.queue.writes == 3 && inspection.queue.transactions == 2 && inspection.queue.bytes > 100)
        #expect(inspection.queue.rejectedWrites == 0)
        #expect(inspection.activity.upload == nil)
        let text = "\(inspection)"
        #expect(
            text.hasPrefix("not connected\nnever synced\nwaiting for nothing\n3 writes of 2 transactions to upload")
        )
    }

    @Test func bucketsShowHowFarTheirDownloadIs() async throws {
        let stream = try await harness.connectAndAccept()
        stream.send(
            .checkpoint(3, [.bucket("b", count: 1), .bucket("a", count: 2, priority: 1)]),
            .row("a", 1, "lists", "1", #"{"name":"x"}"#)
        )
        try await harness.wait { $0.downloadProgress?.downloadedOperations == 1 }
        let middle = try await harness.database.inspection()
        #expect(middle.isConnected)
        #expect(middle.buckets.map(\.name) == ["a", "b"])
        let first = try #require(middle.buckets.first)
        #expect(first.priority == BucketPriority(1))
        #expect(first.operationsToDownload == 2 && first.operationsOfDownload == 1 && first.progress == 0.5)
        #expect(first.downloadedOperations == 1 && first.downloadedBytes > 0)
        #expect(!first.isShown && !first.isComplete)
        let second = try #require(middle.buckets.last)
        #expect(second.priority == BucketPriority(3))
        #expect(second.progress == 0 && second.downloadedOperations == 0 && !second.isComplete)
        #expect("\(middle)".contains("bucket a: 1 operation, "))
        #expect("\(middle)".contains("priority 1, downloading 1 of 2, not shown yet"))

        stream.send(
            .row("a", 2, "lists", "2", #"{"name":"y"}"#),
            .row("b", 3, "lists", "3", #"{"name":"z"}"#),
            .done
        )
        try await harness.database.waitForFirstSync()
        let end = try await harness.database.inspection()
        #expect(end.buckets.map(\.downloadedOperations) == [2, 1])
        #expect(end.buckets.map(\.operationsToDownload) == [0, 0])
        #expect(end.buckets.allSatisfy { $0.isComplete && $0.progress == nil })
        #expect(end.lastSyncedAt == harness.date.now)

        try await harness.database.disconnect()
        let offline = try await harness.database.inspection()
        #expect(offline.buckets.map(\.downloadedOperations) == [2, 1])
        #expect(offline.buckets.allSatisfy { $0.priority == nil && $0.operationsToDownload == nil && $0.isComplete })
        #expect(offline.buckets.map(\.downloadedBytes) == end.buckets.map(\.downloadedBytes))
    }

    @Test func waitsAndErrorsAreThoseOfTheStatus() async throws {
        try await harness.insert("1")
        try await harness.connect()
        let error = SyncTransportError(.connection, message: "no route")
        try await harness.service.nextStream().refuse(error)
        try await harness.clock.waitForTimer(of: .seconds(5))
        let inspection = try await harness.database.inspection()
        #expect((inspection.downloadError as? SyncTransportError)?.code == .connection)
        #expect(inspection.uploadError == nil)
        #expect(inspection.activity.download?.reason.kind == .retry)
        #expect("\(inspection)".contains("download error: "))
        #expect("\(inspection)".contains("no route"))
    }

    @Test func aLookWaitsForNoTransaction() async throws {
        try await withTemporaryDirectory { directory in
            let harness = SyncHarness(path: directory.appending(path: "a.db").path)
            try await harness.insert("1")
            let (started, begin) = AsyncStream.makeStream(of: Void.self)
            let gate = DispatchSemaphore(value: 0)
            async let write: Void = harness.database.writeTransaction { transaction in
                try transaction.execute(sql: "INSERT INTO lists (id) VALUES ('2')", parameters: [])
                begin.finish()
                gate.wait()
            }
            for await _ in started {}
            #expect(try await harness.database.inspection().queue.writes == 1)
            gate.signal()
            try await write
            #expect(try await harness.database.inspection().queue.writes == 2)
            try await harness.database.close()
            await #expect(throws: PowerSyncError.self) { try await harness.database.inspection() }
        }
    }
}

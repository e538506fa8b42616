import PowerSyncCoreTestSupport
import PowerSyncProtocol
import PowerSyncTesting
import Testing

@testable import PowerSyncClient

@Suite(.timeLimit(.minutes(1))) struct DownloadTests {
    private let harness = SyncHarness()

    @Test func prioritiesBecomeVisibleOneAfterTheOther() async throws {
        let stream = try await harness.connectAndAccept()
        stream.send(.checkpoint(4, (0...3).map { .bucket("p\($0)", count: 1, priority: Int32($0)) }))
        for priority in Int32(0)...2 {
            stream.send(.put("p\(priority)", Int64(priority + 1)...Int64(priority + 1)), .done(priority))
            try await harness.database.waitForFirstSync(priority: priority)
            #expect(try await harness.lists().count == Int(priority) + 1)
            #expect(harness.database.currentStatus.hasSynced == false)
            #expect(harness.database.currentStatus.statusForPriority(BucketPriority(priority)).hasSynced == true)
        }
        stream.send(.put("p3", 4...4), .done)
        try await harness.database.waitForFirstSync()
        #expect(try await harness.lists().count == 4)
        #expect(harness.database.currentStatus.priorityStatusEntries.map(\.priority) == [.fullSyncPriority])
    }

    @Test func lowerPriorityAnswersForHigherOnes() async throws {
        let stream = try await harness.connectAndAccept()
        stream.send(.checkpoint(1, [.bucket("p2", count: 1, priority: 2), .bucket("p3")]), .put("p2", 1...1), .done(2))
        try await harness.database.waitForFirstSync(priority: 2)
        // These return although nothing more is sent.
        try await harness.database.waitForFirstSync(priority: 1)
        try await harness.database.waitForFirstSync(priority: 0)
        #expect(harness.database.currentStatus.statusForPriority(BucketPriority(1)).priority == BucketPriority(2))
        #expect(harness.database.currentStatus.statusForPriority(BucketPriority(3)).hasSynced == false)
    }

    @Test func eachStepIsOneStatus() async throws {
        var flow = harness.database.currentStatus.asFlow().makeAsyncIterator()
        let stream = try await harness.connectAndAccept()
        while await flow.next()?.connected != true {}
        let steps: [(line: SyncLine, progress: [Int32]?)] = [
            (.checkpoint(10, [.bucket("a", count: 10)]), [0, 10]),
            (.put("a", 1...10), [10, 10]),
            (.checkpoint(12, [.bucket("a", count: 12)]), [10, 12]),
            (.put("a", 11...12), [12, 12]),
            (.done, nil),
        ]
        for step in steps {
            stream.send(step.line)
            let progress = await flow.next()?.downloadProgress
            #expect(progress.map { [$0.downloadedOperations, $0.totalOperations] } == step.progress)
        }
    }

    @Test func interruptedDownloadContinues() async throws {
        let first = try await harness.connectAndAccept()
        first.send(.checkpoint(10, [.bucket("a", count: 10)]), .put("a", 1...5))
        try await harness.wait { $0.downloadProgress?.downloadedOperations == 5 }
        first.end()
        try await harness.clock.waitForTimer(of: .seconds(5))
        #expect(!harness.database.currentStatus.downloading)
        harness.clock.advance(by: .seconds(5))
        let second = try await harness.acceptNext()
        #expect(second.request.buckets == [.init(name: BucketName("a"), after: OpID(5))])
        second.send(.checkpoint(10, [.bucket("a", count: 10)]))
        try await harness.wait {
            $0.downloadProgress?.downloadedOperations == 5 && $0.downloadProgress?.totalOperations == 10
        }
    }

    @Test func checksumMismatchReconnectsAndDownloadsTheBucketAgain() async throws {
        let stream = try await harness.connectAndAccept()
        var bucket = BucketDescription.bucket("a", count: 1)
        bucket.checksum = Checksum(1)
        stream.send(.checkpoint(1, [bucket]), .put("a", 1...1), .done)
        try await harness.wait { !$0.connected }
        #expect(harness.database.currentStatus.downloadError == nil)
        #expect(!harness.log.messages(.warning).isEmpty)
        try await harness.clock.waitForTimer(of: .seconds(5))
        harness.clock.advance(by: .seconds(5))
        #expect(try await harness.acceptNext().request.buckets.isEmpty)
    }

    @Test func manyBufferedLinesArriveCompletely() async throws {
        let stream = try await harness.connectAndAccept()
        stream.send(.checkpoint(2000, [.bucket("a", count: 2000)]))
        for first in stride(from: Int64(1), to: 2000, by: 10) {
            stream.send(.put("a", first...(first + 9)))
        }
        stream.send(.done)
        try await harness.database.waitForFirstSync()
        #expect(try await harness.lists().count == 2000)
    }
}

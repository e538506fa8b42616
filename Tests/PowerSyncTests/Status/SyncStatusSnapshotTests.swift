import Foundation
import PowerSyncCore
import PowerSyncProtocol
import Testing

@testable import PowerSyncClient

@Suite struct SyncStatusSnapshotTests {
    struct Case: CustomTestStringConvertible {
        var entries: [(priority: Int32, seconds: Int64)]
        var asked: Int32
        var expected: (priority: Int32, seconds: Int64?, hasSynced: Bool)

        var testDescription: String { "\(entries.map(\.priority)) answers for \(asked)" }
    }

    @Test(
        arguments: [
            Case(entries: [], asked: 1, expected: (1, nil, false)),
            Case(entries: [(.max, 20)], asked: 0, expected: (.max, 20, true)),
            Case(entries: [(.max, 20)], asked: .max, expected: (.max, 20, true)),
            Case(entries: [(1, 10)], asked: 3, expected: (3, nil, false)),
            Case(entries: [(2, 10)], asked: 1, expected: (2, 10, true)),
            Case(entries: [(2, 30), (.max, 20)], asked: 0, expected: (2, 30, true)),
            Case(entries: [(2, 30), (.max, 20)], asked: 2, expected: (2, 30, true)),
            Case(entries: [(2, 30), (.max, 20)], asked: 3, expected: (.max, 20, true)),
        ]
    )
    func firstEntryThatIncludesThePriorityAnswers(_ testCase: Case) {
        var status = SyncStatusSnapshot()
        status.download.streams = []
        status.download.priorities = testCase.entries.map {
            PriorityStatus(
                priority: Priority($0.priority),
                lastSyncedAt: SyncInstant(microseconds: $0.seconds * 1_000_000)
            )
        }
        let entry = status.statusForPriority(BucketPriority(testCase.asked))
        #expect(entry.priority.priorityCode == testCase.expected.priority)
        #expect(entry.lastSyncedAt == testCase.expected.seconds.map { Date(timeIntervalSince1970: Double($0)) })
        #expect(entry.hasSynced == testCase.expected.hasSynced)
    }

    @Test func nothingIsKnownBeforeTheDatabaseIsOpen() {
        let status = SyncStatusSnapshot()
        #expect(status.hasSynced == nil)
        #expect(status.syncStreams == nil)
        #expect(status.statusForPriority(BucketPriority(1)).hasSynced == nil)
    }

    @Test func countsSaturate() throws {
        var status = SyncStatusSnapshot()
        status.download.progress = DownloadProgress(priorities: [
            .init(priority: Priority(1), counts: OperationCounts(total: 1 << 40, downloaded: 1 << 39)),
            .init(priority: Priority(3), counts: OperationCounts(total: 10, downloaded: 0)),
        ])
        let progress = try #require(status.downloadProgress)
        #expect(status.downloading)
        #expect(progress.totalOperations == .max)
        #expect(progress.untilPriority(priority: BucketPriority(0)).fraction == 0)
    }

    @Test func emptyDownloadHasFractionZero() {
        var status = SyncStatusSnapshot()
        status.download.progress = DownloadProgress()
        #expect(status.downloadProgress?.fraction == 0)
    }
}

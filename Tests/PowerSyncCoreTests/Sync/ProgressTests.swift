import GRDB
import PowerSyncCoreTestSupport
import PowerSyncProtocol
import Testing

@testable import PowerSyncCore

/// The engine's part of progress and status (docs/client-sync.md "Progress").
@Suite struct ProgressTests {
    private func started() throws -> SyncScenario {
        let scenario = try SyncScenario()
        try scenario.start()
        return scenario
    }

    /// `count` operations that only count.
    private func moves(_ bucket: String, _ count: Int, from opID: Int64 = 1) -> SyncLine {
        .data(.line(bucket, (0..<count).map { .move(opID + Int64($0)) }))
    }

    /// `downloaded/total` of all buckets.
    private func overall(_ scenario: SyncScenario) -> String? {
        scenario.status.progress.map { "\($0.overall.downloaded)/\($0.overall.total)" }
    }

    @Test
    func progressCountsFromOneCompleteCheckpointToTheNext() throws {
        let scenario = try started()
        try scenario.receive(.checkpoint(10, [.bucket("a", count: 10)]))
        #expect(overall(scenario) == "0/10")
        try scenario.receive(moves("a", 10))
        #expect(overall(scenario) == "10/10")
        try scenario.receive(.done)
        #expect(overall(scenario) == nil)
        try scenario.receive(.diff(12, [.bucket("a", count: 12)]))
        #expect(overall(scenario) == "0/2")
        try scenario.receive(moves("a", 2, from: 11))
        #expect(overall(scenario) == "2/2")
        try scenario.receive(.done)
        #expect(overall(scenario) == nil)
    }

    @Test(
        arguments: [(10, "5/10", 5), (12, "5/12", 5), (5, "5/5", 5), (4, "0/4", 0)]
    )
    func progressAfterARestart(_ count: Int64, _ expected: String, _ stored: Int64) throws {
        let scenario = try started()
        try scenario.receive(.checkpoint(10, [.bucket("a", count: 10)]), moves("a", 5))
        scenario.restart()
        try scenario.start()
        #expect(overall(scenario) == nil)
        try scenario.receive(.checkpoint(10, [.bucket("a", count: count)]))
        #expect(overall(scenario) == expected)
        #expect(try scenario.bucket("count_since_last") == stored)
    }

    @Test
    func bucketThatHoldsNoMoreThanAtTheLastCompleteCheckpointHasNotShrunk() throws {
        let scenario = try started()
        try scenario.receive(.checkpoint(10, [.bucket("a", count: 10)]), moves("a", 10), .done)
        try scenario.receive(.checkpoint(10, [.bucket("a", count: 10), .bucket("b", count: 1)]))
        #expect(overall(scenario) == "0/1")
        #expect(try scenario.bucket("count_at_last") == 10)
    }

    @Test(arguments: Delivery.allCases)
    func bucketThatHasShrunkStartsAgainAndNoOther(_ delivery: Delivery) throws {
        let scenario = try SyncScenario(delivery: delivery)
        try scenario.start()
        let large = BucketDescription.bucket("a", count: 14_800)
        try scenario.receive(.checkpoint(10, [large, .bucket("b", count: 10)]), moves("a", 1), moves("b", 10), .done)
        // Compacted, with two new operations.
        try scenario.receive(.diff(12, [.bucket("a", count: 14_802), .bucket("b", count: 4)]))
        #expect(overall(scenario) == "0/6")
        try scenario.receive(moves("a", 2, from: 11))
        #expect(overall(scenario) == "2/6")
        #expect(try scenario.bucket("count_at_last") == 14_800)
        try scenario.receive(.done, .diff(14, [.bucket("a", count: 14_804)]), moves("a", 2, from: 13))
        #expect(overall(scenario) == "2/2")
    }

    @Test
    func bucketThatIsSentAnewStartsAgainAndNoOther() throws {
        let scenario = try started()
        let buckets = [BucketDescription.bucket("a", count: 5), .bucket("b", count: 5)]
        try scenario.receive(.checkpoint(10, buckets), moves("a", 5), moves("b", 5), .done)
        try scenario.receive(.diff(16, [.bucket("a", count: 8), .bucket("b", count: 6)]), moves("b", 1, from: 11))
        #expect(overall(scenario) == "1/4")
        try scenario.receive(.ops("a", .clear(12), .move(13)))
        #expect(overall(scenario) == "3/9")
        try scenario.receive(moves("a", 6, from: 14))
        #expect(overall(scenario) == "9/9")
        #expect(scenario.status.streams?.isEmpty == true)
    }

    @Test
    func moreOperationsThanWereAnnouncedDoNotCount() throws {
        let scenario = try started()
        try scenario.receive(
            .checkpoint(10, [.bucket("a", count: 2, priority: 1), .bucket("b", count: 2)]),
            moves("a", 3)
        )
        #expect(overall(scenario) == "2/4")
        #expect(scenario.status.progress?.untilPriority(Priority(1)) == OperationCounts(total: 2, downloaded: 2))
    }

    @Test
    func progressCountsFromACompleteCheckpointForWhichThereWasNothingToDownload() throws {
        let scenario = try started()
        try scenario.receive(.checkpoint(10, [.bucket("a", count: 10)]), moves("a", 10), .done)
        try scenario.receive(.checkpoint(10, [.bucket("a", count: 4)]))
        #expect(overall(scenario) == "0/4")
        try scenario.receive(.done, .diff(12, [.bucket("a", count: 6)]))
        #expect(overall(scenario) == "0/2")
    }

    @Test
    func progressByPriority() throws {
        let scenario = try started()
        func expect(_ highest: String, _ overall: String, _ location: SourceLocation = #_sourceLocation) throws {
            let progress = try #require(scenario.status.progress)
            let counts = [progress.untilPriority(.highest), progress.overall]
            #expect(counts.map { "\($0.downloaded)/\($0.total)" } == [highest, overall], sourceLocation: location)
        }
        try scenario.receive(
            .checkpoint(10, [.bucket("a", count: 5, priority: 0), .bucket("b", count: 5, priority: 2)])
        )
        try expect("0/5", "0/10")
        try scenario.receive(moves("a", 5))
        try expect("5/5", "5/10")
        try scenario.receive(moves("b", 2))
        try expect("5/5", "7/10")
        try scenario.receive(
            .checkpoint(14, [.bucket("a", count: 8, priority: 0), .bucket("b", count: 6, priority: 2)])
        )
        try expect("5/8", "7/14")
        try scenario.receive(moves("a", 3, from: 6))
        try expect("8/8", "10/14")
        try scenario.receive(moves("b", 4, from: 3))
        try expect("8/8", "14/14")
    }

    @Test
    func partialCompletionDoesNotChangeTheNumbers() throws {
        let scenario = try started()
        try scenario.receive(
            .checkpoint(4, [.bucket("a", count: 2, priority: 1), .bucket("b", count: 2)]),
            moves("a", 2)
        )
        let before = scenario.status.progress
        try scenario.receive(.done(1))
        #expect(scenario.status.progress == before)
        #expect(overall(scenario) == "2/4")
    }

    @Test
    func bucketWithoutCount() throws {
        let scenario = try started()
        try scenario.receive(.checkpoint(4, [.bucket("a")]), moves("a", 2))
        #expect(scenario.status.progress?.overall.total == 0)
        #expect(scenario.status.progress?.overall.fraction == 0)
        try scenario.receive(.done)
        #expect(try scenario.bucket("count_since_last") == 2)
    }

    @Test
    func entryThatAnswersForAPriority() throws {
        func status(_ priorities: Priority...) -> DownloadStatus {
            DownloadStatus(
                priorities: priorities.map { .init(priority: $0, lastSyncedAt: SyncInstant(microseconds: 1)) },
                streams: []
            )
        }
        let (two, three) = (Priority(2), Priority(3))
        #expect(status().entry(covering: two) == nil)
        #expect(status().hasSynced == false)
        #expect(DownloadStatus().hasSynced == nil)
        #expect(status(.complete).entry(covering: two)?.priority == .complete)
        #expect(status(Priority(1)).entry(covering: two) == nil)
        #expect(status(Priority(1)).entry(covering: .highest)?.priority == Priority(1))
        #expect(status(two, .complete).entry(covering: .highest)?.priority == two)
        #expect(status(two, .complete).entry(covering: three)?.priority == .complete)
        #expect(status(two, .complete).hasSynced == true)
    }

    @Test
    func connectingConnectedNeither() throws {
        let scenario = try SyncScenario()
        let statuses =
            try scenario.send(.start(SyncStart())).statuses + scenario.send(.streamOpened).statuses
            + scenario.send(.streamEnded).statuses
        #expect(statuses.map(\.isConnecting) == [true, false, false])
        #expect(statuses.map(\.isConnected) == [false, true, false])
    }

    @Test
    func startNeverShowsAnEmptyOfflineState() throws {
        let scenario = try started()
        try scenario.receive(.checkpoint(1, []), .done)
        scenario.restart()
        let statuses = try scenario.send(.start(SyncStart())).statuses
        #expect(statuses.map(\.hasSynced) == [true])
    }

    @Test
    func whatChangesNothingIsNotPublished() throws {
        let scenario = try started()
        #expect(try scenario.receive(.tokenExpires(in: 4000)).kinds.isEmpty)
        #expect(try scenario.send(.streamOpened).isEmpty)
        try scenario.receive(.checkpoint(1, [.bucket("a", count: 1)]))
        #expect(try scenario.receive(.checkpoint(1, [.bucket("a", count: 1)])).kinds.isEmpty)
    }

    @Test
    func numbersOfAHostileServiceSaturate() throws {
        let scenario = try started()
        try scenario.receive(
            .checkpoint(1, [.bucket("a", count: .max), .bucket("b", count: .max), .bucket("c", count: .min)])
        )
        #expect(scenario.status.progress != nil)
        try scenario.receive(.checkpoint(1, [.bucket("a", count: .max), .bucket("b", count: .max)]), moves("a", 1))
        #expect(overall(scenario) == "1/\(Int64.max)")
    }

    @Test
    func linesThatShareATransactionPublishProgressBeforeEachOtherChange() throws {
        let scenario = try SyncScenario(delivery: .batched)
        try scenario.start()
        let actions = try scenario.receive(
            .checkpoint(4, [.bucket("a", count: 4)]),
            moves("a", 1),
            moves("a", 1, from: 2),
            moves("a", 2, from: 3),
            .done,
            .diff(5, [.bucket("a", count: 5)]),
            moves("a", 1, from: 5)
        )
        #expect(actions.kinds == ["status", "status", "log debug", "did complete", "status", "status", "status"])
        let progress = actions.statuses.map { $0.progress.map { "\($0.overall.downloaded)/\($0.overall.total)" } }
        #expect(progress == ["0/4", "4/4", nil, "0/1", "1/1"])
    }
}

import NIOConcurrencyHelpers
import PowerSyncProtocol
import PowerSyncTesting
import ServiceTestSupport
import Testing

@testable import PowerSyncServiceCore

/// What is known of open streams.
@Suite struct ClientStreamStatisticsTests {
    @Test func aWriteThatTakesLongWaitsForTheClient() {
        let time = NIOLockedValueBox(100.0)
        let statistics = ClientStreamStatistics(now: { time.withLockedValue(\.self) })
        statistics.began(.sending)
        statistics.willWrite()
        time.withLockedValue { $0 = 100.5 }
        #expect(statistics.state.activity == .sending)
        // The session has handed over everything, and the network has not.
        statistics.began(.waitingForCheckpoint)
        time.withLockedValue { $0 = 103 }
        #expect(statistics.state.activity == .waitingForClient)
        #expect(statistics.state.activeSince == 100)
        statistics.didWrite(byteCount: 7)
        #expect(statistics.state.activity == .waitingForCheckpoint)
        #expect(statistics.state.activeSince == 100.5)
        #expect(statistics.state.bytes == 7)
    }

    @Test func anActivityThatGoesOnKeepsItsBeginning() {
        let time = NIOLockedValueBox(1.0)
        let statistics = ClientStreamStatistics(now: { time.withLockedValue(\.self) })
        statistics.began(.reading)
        time.withLockedValue { $0 = 2 }
        statistics.began(.reading)
        #expect(statistics.state.activeSince == 1)
    }

    @Test func progressIsThatOfTheNewestCheckpoint() {
        let statistics = ClientStreamStatistics()
        statistics.didAnnounce(OpID(5), buckets: 9, downloads: 3)
        statistics.didSend([.put: 2], bucketsLeft: 1)
        #expect(
            statistics.state.progress
                == ClientStreamProgress(checkpoint: OpID(5), buckets: 9, downloads: 3, bucketsLeft: 1)
        )
        statistics.didComplete(OpID(5))
        #expect(statistics.state.progress.bucketsLeft == 0)
        #expect(statistics.state.progress.completed == OpID(5))
        #expect(statistics.state.operations == 2)
    }

    @Test func theDurationOfAStreamIsMeasuredOnTheInjectedClock() throws {
        let clock = TestClock()
        let log = CollectedLog()
        let stream = try UserStreams(limit: 1, clock: clock).enter(StreamClient(userID: "a"))
        let beginning = stream.statistics.didStart()
        clock.advance(by: .seconds(3600))
        stream.statistics.didEnd(.completed, code: nil, over: .http, begun: beginning, logger: log.logger)
        #expect(log.lines.contains { $0.contains("Sync stream complete") && $0.contains("stream_ms=3600000") })
    }

    @Test func whatEndedStreamsHaveSentCounts() throws {
        let streams = UserStreams(limit: 2, now: { 7 })
        let kept = try streams.enter(StreamClient(userID: "a", clientID: "c", userAgent: "x"))
        kept.statistics.didSend([.put: 1], bucketsLeft: 0)
        do {
            let place = try streams.enter(StreamClient(userID: "b"))
            place.statistics.didSend([.put: 2, .remove: 3], bucketsLeft: 0)
            place.statistics.didWrite(byteCount: 10)
            #expect(streams.report().streams.map(\.client.userID) == ["a", "b"])
        }
        let report = streams.report()
        #expect(report.streams.map(\.client) == [StreamClient(userID: "a", clientID: "c", userAgent: "x")])
        #expect(report.streams.map(\.openedAt) == [7])
        #expect(report.totals == UserStreams.Totals(operations: 6, bytes: 10))
        #expect(streams.streamCount == 1)
        withExtendedLifetime(kept) {}
    }
}

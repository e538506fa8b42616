import Foundation
import PowerSyncCore
import PowerSyncCoreTestSupport
import PowerSyncProtocol
import PowerSyncTesting
import Testing

@testable import PowerSyncClient

/// An app that subscribes again and again, and changes of subscriptions in every state of a connection.
@Suite(.timeLimit(.minutes(5))) struct SteadySubscribingTests {
    private let harness = SyncHarness()

    private func subscribe(_ name: String) async throws -> any SyncStreamSubscription {
        try await harness.database.syncStream(name: name, params: nil).subscribe()
    }

    private func options(_ transport: SyncTransportMethod) -> ConnectOptions {
        ConnectOptions(clientConfiguration: SyncClientConfiguration(transport: transport))
    }

    // MARK: - At a steady pace

    struct Pace: Sendable, CustomTestStringConvertible {
        var transport: SyncTransportMethod
        /// The time between two subscriptions.
        var interval: Duration
        /// How long a service takes to accept a request, in intervals.
        var opening: Int

        var testDescription: String { "\(transport), each \(interval), opening takes \(interval * opening)" }
    }

    static let paces = [SyncTransportMethod.http, .webSocket].flatMap { transport in
        [
            Pace(transport: transport, interval: .milliseconds(50), opening: 3),
            Pace(transport: transport, interval: .milliseconds(300), opening: 1),
            Pace(transport: transport, interval: .milliseconds(300), opening: 5),
        ]
    }

    @Test(arguments: paces) func aClientThatSubscribesForMinutesIsConnected(_ pace: Pace) async throws {
        try await harness.connect(options(pace.transport))
        var stream = try await harness.service.nextStream()
        var subscriptions: [any SyncStreamSubscription] = []
        var (ticks, connectedTicks, openingTicks, streams) = (0, 0, 0, 1)
        var isOpen = false
        while pace.interval * ticks < .seconds(120) {
            ticks += 1
            subscriptions.append(try await subscribe("stream \(ticks)"))
            harness.clock.advance(by: pace.interval)
            if stream.isClosed {
                // A stream that is being opened is not given up.
                #expect(isOpen)
                stream = try await harness.service.nextStream()
                (isOpen, openingTicks) = (false, 0)
                streams += 1
            }
            if isOpen {
                connectedTicks += 1
                // A service is not silent for long, also when the request is as large as it may be and does not change any more.
                if connectedTicks.isMultiple(of: 50) { stream.send(.checkpoint(Int64(streams), []), .done) }
            } else if openingTicks < pace.opening {
                openingTicks += 1
            } else {
                stream.accept()
                stream.send(.checkpoint(Int64(streams), []), .done)
                try await harness.wait { $0.connected }
                // The status of the stream before is as connected: only this shows that the client knows of this one.
                try await stream.waitUntilRead()
                isOpen = true
            }
        }
        // 120 s at most once in 8 s, but for the pauses that grow.
        #expect(streams <= 20, "\(streams) streams")
        #expect(connectedTicks > ticks * 3 / 4, "\(connectedTicks) of \(ticks)")
        // In the end all of it is asked for.
        let last = try await harness.clock.withoutPauses { [harness] in
            while true {
                stream.accept()
                if stream.request.streams.subscriptions.count == min(ticks, 1_000) { return stream }
                stream = try await harness.service.nextStream()
            }
        }
        #expect(last.request.streams.subscriptions.count == min(ticks, 1_000))
        #expect(harness.service.mostOpenStreams == 1)
    }

    @Test func aSubscriptionOnAnIdleConnectionIsAskedForAtOnce() async throws {
        _ = try await harness.connectAndAccept()
        // Held: the end of a handle is a change, too.
        var subscriptions: [any SyncStreamSubscription] = []
        for number in 1...3 {
            let subscription = try await subscribe("stream \(number)")
            subscriptions.append(subscription)
            try await harness.passSubscriptionChanges()
            let next = try await harness.acceptNext()
            #expect(next.request.streams.subscriptions.map(\.stream).contains(subscription.name))
            try await next.waitUntilRead()
            harness.clock.advance(by: .seconds(17))
        }
        #expect(harness.service.streamRequests == 1 + subscriptions.count)
    }

    @Test func aSubscriptionWithoutTimeToLiveIsAskedForWhenAKeepaliveOvertakesIt() async throws {
        let stream = try await harness.connectAndAccept()
        stream.send(.checkpoint(1, []), .done)
        try await harness.wait { $0.hasSynced == true }
        // Other changes are waited for, on a clock that stands still.
        let subscription = try await harness.database.syncStream(name: "new", params: nil).subscribe(
            ttl: 0,
            priority: nil
        )
        harness.date.advance(by: 1)
        stream.send(.tokenExpires(in: 4000))
        let next = try await harness.service.nextStream()
        #expect(next.request.streams.subscriptions.map(\.stream) == [subscription.name])
        try await subscription.unsubscribe()
    }

    // MARK: - In every state of a connection

    enum Change: CaseIterable {
        case subscribing, subscribingAgain, unsubscribing, unsubscribingAll
    }

    enum State: String, CaseIterable, CustomTestStringConvertible {
        case opening = "being opened"
        case beforeFirstLine = "before the first line"
        case inCheckpoint = "in a checkpoint"
        case idle = "idle"
        case closing = "ended by the service"
        case pause = "in the pause after a failure"

        var testDescription: String { rawValue }
    }

    @Test(arguments: State.allCases, Change.allCases)
    func aChangeIsSeenAndAskedForInTheEnd(_ state: State, _ change: Change) async throws {
        // Without time to live: it ends with its handle.
        let kept = try await harness.database.syncStream(name: "kept", params: nil).subscribe(ttl: 0, priority: nil)
        try await harness.connect()
        var stream = try await harness.service.nextStream()
        #expect(stream.request.streams.subscriptions.map(\.stream) == ["kept"])
        switch state {
        case .opening: break
        case .beforeFirstLine: stream.accept()
        case .inCheckpoint, .idle:
            stream.accept()
            stream.send(.checkpoint(1, []))
            if state == .idle { stream.send(.done) }
        case .closing:
            stream.accept()
            stream.send(.checkpoint(1, []), .done)
            stream.end()
        case .pause: stream.reject(status: 503)
        }
        switch state {
        case .opening: break
        case .pause: try await harness.wait { $0.lastDownloadError != nil }
        case .closing: try await harness.wait { !$0.connected && $0.hasSynced == true }
        case .beforeFirstLine, .inCheckpoint: try await harness.wait { $0.connected }
        case .idle: try await harness.wait { $0.hasSynced == true }
        }
        harness.date.advance(by: 1)
        var new: (any SyncStreamSubscription)?
        let expected: [String]
        switch change {
        case .subscribing:
            new = try await subscribe("new")
            expected = ["kept", "new"]
        case .subscribingAgain:
            new = try await harness.database.syncStream(name: "kept", params: nil)
                .subscribe(ttl: nil, priority: BucketPriority(1))
            expected = ["kept"]
        case .unsubscribing:
            try await kept.unsubscribe()
            expected = []
        case .unsubscribingAll:
            try await harness.database.syncStream(name: "kept", params: nil).unsubscribeAll()
            expected = []
        }
        // The status has it, whatever the stream is doing.
        if let new {
            try await harness.wait { status in
                status.status(of: StreamKey(new))?.hasExplicitSubscription == true
            }
        }
        let requested = try await harness.clock.withoutPauses { [harness] in
            if state == .opening {
                #expect(!stream.isClosed)
                stream.accept()
                stream.send(.checkpoint(1, []))
            }
            stream = try await harness.service.nextStream()
            return stream.request.streams.subscriptions
        }
        #expect(requested.map(\.stream) == expected)
        if change == .subscribingAgain { #expect(requested.map(\.overridePriority) == [Priority(1)]) }
        #expect(harness.service.streamRequests == 2)
        try await new?.unsubscribe()
        try await kept.unsubscribe()
    }

    // MARK: - Cost

    @Test(arguments: [false, true]) func aThousandSubscriptionsAreShownOneByOne(isConnected: Bool) async throws {
        let stream = isConnected ? try await harness.connectAndAccept() : nil
        var subscriptions: [any SyncStreamSubscription] = []
        for number in 1...1_000 {
            let subscription = try await subscribe("stream \(number)")
            subscriptions.append(subscription)
            if isConnected {
                try await harness.wait { $0.download.streams?.count == number }
            } else {
                #expect((harness.database.currentStatus as? LiveSyncStatus)?.snapshot.download.streams?.count == number)
            }
        }
        #expect(stream?.isClosed != true)
        #expect(harness.database.currentStatus.syncStreams?.last?.subscription.name == subscriptions.last?.name)
    }
}

extension TestClock {
    /// Runs a test in which no pause takes time, but for those after which a silent service is given up.
    fileprivate func withoutPauses<Result>(_ body: () async throws -> Result) async throws -> Result {
        for delay in pendingTimers where delay < .seconds(20) { advance(by: delay) }
        let ticking = Task {
            while true {
                let delay = try await nextTimerScheduled()
                if delay < .seconds(20) { advance(by: delay) }
            }
        }
        defer { ticking.cancel() }
        return try await body()
    }
}

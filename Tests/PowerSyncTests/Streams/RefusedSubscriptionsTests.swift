import PowerSyncCoreTestSupport
import PowerSyncProtocol
import PowerSyncTesting
import Testing

@testable import PowerSyncClient

/// A service that refuses a request because of its subscriptions.
@Suite(.timeLimit(.minutes(1))) struct RefusedSubscriptionsTests {
    private let harness = SyncHarness()

    struct Refusal: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let error: SyncTransportError

        init(_ testDescription: String, _ message: String, status: Int? = nil, _ code: ErrorCode? = nil) {
            self.testDescription = testDescription
            error = SyncTransportError(.status, message: message, httpStatus: status, serviceCode: code)
        }
    }

    private static let refusals = [
        Refusal("too many buckets over HTTP", "Too many buckets: 1001", status: 500, .bucketLimit),
        Refusal("too many buckets over WebSocket", "[PSYNC_S2305] Too many buckets: 1001", .bucketLimit),
        Refusal("a body that is too long", "<html>Request Entity Too Large</html>", status: 413),
        Refusal(
            "too many subscriptions over HTTP",
            "streams.subscriptions: has 1001 entries; at most 1000 are possible",
            status: 400,
            .generic
        ),
        Refusal(
            "too many subscriptions over WebSocket",
            "[PSYNC_S2001] streams.subscriptions: has 1001 entries",
            .generic
        ),
    ]

    private static let others = [
        Refusal("other parameters", "buckets: is required", status: 400, .generic),
        Refusal(
            "one subscription that is wrong",
            "POST https://example.com/subscriptions/sync/stream: streams.subscriptions[3].override_priority: has to be an integer",
            status: 400,
            .generic
        ),
        Refusal("a service that is down", "subscriptions are not served now", status: 503),
        Refusal("a refused token", "JWT has expired", status: 401, .tokenExpired),
    ]

    /// Subscribes to four streams, of which the app holds the first.
    private func subscribe() async throws -> any SyncStreamSubscription {
        let held = try await harness.database.syncStream(name: "held", params: nil).subscribe()
        for name in ["a", "b", "c"] {
            harness.date.advance(by: 1)
            try await harness.database.syncStream(name: name, params: nil).subscribe().unsubscribe()
        }
        return held
    }

    private func names(_ stream: ScriptedStream) -> [String] { stream.request.streams.subscriptions.map(\.stream) }

    private var leftOut: [String] {
        (harness.database.currentStatus.syncStreams ?? []).filter(\.subscription.isLeftOut).map(\.subscription.name)
    }

    @Test(arguments: refusals) func isAskedAgainAtOnceForHalfOfWhatIsNotHeld(_ refusal: Refusal) async throws {
        let held = try await subscribe()
        try await harness.connect()
        let first = try await harness.service.nextStream()
        #expect(names(first) == ["held", "c", "b", "a"])
        first.refuse(refusal.error)
        // The clock stands still.
        let second = try await harness.acceptNext()
        #expect(names(second) == ["held", "c"])
        second.send(.checkpoint(1, []), .done)
        try await harness.wait { $0.hasSynced == true }
        #expect(leftOut == ["a", "b"])
        #expect(harness.database.currentStatus.downloadError == nil)
        #expect(harness.log.messages(.error).isEmpty)
        #expect(harness.connector.fetches == 1)
        try await held.unsubscribe()
    }

    @Test(arguments: refusals) func isAnErrorWhenNothingCanBeLeftOut(_ refusal: Refusal) async throws {
        let held = try await subscribe()
        try await harness.connect()
        for expected in [["held", "c", "b", "a"], ["held", "c"], ["held"]] {
            let stream = try await harness.service.nextStream()
            #expect(names(stream) == expected)
            stream.refuse(refusal.error)
        }
        try await harness.wait { $0.lastDownloadError != nil }
        try await harness.clock.waitForTimer(of: .seconds(5))
        harness.clock.advance(by: .seconds(5))
        let next = try await harness.service.nextStream()
        #expect(names(next) == ["held"])
        try await held.unsubscribe()
    }

    @Test(arguments: others) func anotherRefusalLeavesNothingOut(_ refusal: Refusal) async throws {
        let held = try await subscribe()
        try await harness.connect()
        try await harness.service.nextStream().refuse(refusal.error)
        try await harness.clock.waitForTimer(of: .seconds(5))
        harness.clock.advance(by: .seconds(5))
        let next = try await harness.service.nextStream()
        #expect(names(next).count == 4)
        #expect(leftOut.isEmpty)
        try await held.unsubscribe()
    }
}

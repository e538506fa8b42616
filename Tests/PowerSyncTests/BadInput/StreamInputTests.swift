import Foundation
import PowerSyncProtocol
import PowerSyncTesting
import Testing

@testable import PowerSyncClient

/// What an app may pass to the calls of a sync stream: an error at the call, and nothing is stored.
@Suite(.timeLimit(.minutes(1))) struct StreamInputTests {
    private let harness = SyncHarness()

    struct Key: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var name = "s"
        var parameters: JsonParam?
    }

    private static func nested(_ depth: Int) -> JsonParam {
        // The object around it is a level, too.
        ["a": (2...depth).reduce(JsonValue.null) { value, _ in .array([value]) }]
    }

    static let badKeys = [
        Key(testDescription: "empty name", name: ""),
        Key(testDescription: "name with NUL", name: "a\0b"),
        Key(testDescription: "name of NUL", name: "\0"),
        Key(testDescription: "name of 1,025 bytes", name: String(repeating: "x", count: 1_025)),
        Key(testDescription: "name of 1 MB", name: String(repeating: "ä", count: 500_000)),
        Key(testDescription: "NaN", parameters: ["a": .double(.nan)]),
        Key(testDescription: "infinity inside", parameters: ["a": .object(["b": .array([.double(.infinity)])])]),
        Key(testDescription: "65 levels", parameters: nested(65)),
        Key(testDescription: "10,000 levels", parameters: nested(10_000)),
        Key(testDescription: "1 MB", parameters: ["a": .string(String(repeating: "x", count: 1_000_000))]),
        Key(testDescription: "64 KiB and a name", parameters: [String(repeating: "x", count: 65_536): .null]),
    ]

    static let goodKeys = [
        Key(testDescription: "longest name", name: String(repeating: "x", count: 1_024)),
        Key(testDescription: "a name of any characters", name: "\"'; DROP TABLE ps_kv; -- 🥖\n"),
        Key(testDescription: "64 levels", parameters: nested(64)),
        Key(testDescription: "NUL in a value", parameters: ["a\0": .string("\0")]),
        Key(testDescription: "longest parameters", parameters: ["a": .string(String(repeating: "x", count: 65_528))]),
        Key(testDescription: "no members", parameters: [:]),
    ]

    private func stored() async throws -> Int? {
        try await harness.integer("SELECT count(*) FROM ps_stream_subscriptions")
    }

    @Test(arguments: badKeys) func badKeysAreRefused(_ key: Key) async throws {
        let stream = harness.database.syncStream(name: key.name, params: key.parameters)
        await #expect(throws: PowerSyncError.self) { try await stream.subscribe() }
        await #expect(throws: PowerSyncError.self) { try await stream.unsubscribeAll() }
        #expect(try await stored() == 0)
        #expect(harness.database.currentStatus.forStream(stream: stream) == nil)
        // Other streams are asked for.
        let good = try await harness.database.syncStream(name: "good", params: nil).subscribe()
        let service = try await harness.connectAndAccept()
        #expect(service.request.streams.subscriptions.map(\.stream) == ["good"])
        try await good.unsubscribe()
    }

    @Test(arguments: goodKeys) func unusualKeysArriveAsTheyAre(_ key: Key) async throws {
        let stream = harness.database.syncStream(name: key.name, params: key.parameters)
        let subscription = try await stream.subscribe()
        let service = try await harness.connectAndAccept()
        let requested = try #require(service.request.streams.subscriptions.first)
        #expect(requested.stream == key.name)
        #expect(requested.parameters.map { JsonParam($0) } == key.parameters)
        #expect(harness.database.currentStatus.forStream(stream: subscription) != nil)
        try await stream.unsubscribeAll()
        let next = try await harness.clock.withoutDelays { try await harness.service.nextStream() }
        #expect(next.request.streams.subscriptions.isEmpty)
    }

    @Test(arguments: [Int32.min, -1, 4, Int32.max]) func badPrioritiesAreRefused(_ number: Int32) async throws {
        let stream = harness.database.syncStream(name: "s", params: nil)
        await #expect(throws: PowerSyncError.self) {
            try await stream.subscribe(ttl: nil, priority: BucketPriority(number))
        }
        #expect(try await stored() == 0)
        // Asking about any is fine.
        #expect(harness.database.currentStatus.statusForPriority(BucketPriority(number)).hasSynced != true)
    }

    @Test(arguments: [-1.0, -.leastNonzeroMagnitude, -.infinity, .nan, .signalingNaN])
    func badTimesToLiveAreRefused(_ seconds: Double) async throws {
        let stream = harness.database.syncStream(name: "s", params: nil)
        await #expect(throws: PowerSyncError.self) { try await stream.subscribe(ttl: seconds, priority: nil) }
        #expect(try await stored() == 0)
    }

    @Test(arguments: [0, 0.1, 1e18, 1e300, .infinity]) func unusualTimesToLiveAreFine(_ seconds: Double) async throws {
        let subscription = try await harness.database.syncStream(name: "s", params: nil)
            .subscribe(ttl: seconds, priority: nil)
        let ttl = try #require(try await harness.integer("SELECT ttl FROM ps_stream_subscriptions"))
        #expect((0...3_153_600_000).contains(ttl))
        #expect(try await harness.connectAndAccept().request.streams.subscriptions.count == 1)
        try await subscription.unsubscribe()
    }
}

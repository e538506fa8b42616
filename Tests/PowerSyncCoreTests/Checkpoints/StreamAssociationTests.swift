import PowerSyncProtocol
import Testing

@testable import PowerSyncCore

/// Which subscriptions the reasons of a bucket mean.
@Suite struct StreamAssociationTests {
    private static func subscription(
        _ id: Int64,
        _ name: String,
        _ parameters: JSONObject? = nil,
        isActive: Bool = true,
        isDefault: Bool = true,
        timeToLive: Int64? = nil
    ) -> StreamSubscription {
        StreamSubscription(
            id: id,
            key: StreamKey(name: name, parameters: parameters),
            isActive: isActive,
            isDefault: isDefault,
            timeToLive: timeToLive
        )
    }

    /// A request of subscriptions with these ids.
    private static func request(_ ids: [Int64]) -> SubscriptionRequest {
        SubscriptionRequest(subscriptions: ids.map { subscription($0, "requested") })
    }

    private let association = StreamAssociation(
        subscriptions: [
            Self.subscription(4, "d", ["a": 1], timeToLive: 60), Self.subscription(5, "d"), Self.subscription(6, "e"),
            Self.subscription(7, "optional", isDefault: false), Self.subscription(8, "taken", timeToLive: 60),
        ],
        request: Self.request([4, 99, 8]),
        streams: ["d", "e", "optional", "taken", "unknown"].map { StreamDescription(name: $0, isDefault: true) }
    )

    static let cases: [(reasons: [BucketReason], indexes: Set<Int>)] = [
        ([], []), ([.subscription(0)], [0]), ([.subscription(1)], []), ([.subscription(2)], [4]),
        ([.subscription(3)], []), ([.defaultStream(0)], [1]), ([.defaultStream(1)], [2]), ([.defaultStream(2)], []),
        ([.defaultStream(3)], []), ([.defaultStream(4)], []), ([.defaultStream(5)], []),
        ([.subscription(0), .defaultStream(0)], [0, 1]), ([.defaultStream(1), .defaultStream(1)], [2]),
        ([.subscription(1), .defaultStream(9)], []),
    ]

    @Test(arguments: cases) func eachSubscriptionIsMeantOnce(reasons: [BucketReason], indexes: Set<Int>) {
        var found: [Int] = []
        association.forEachSubscription(reasons) { found.append($0) }
        #expect(Set(found) == indexes)
        #expect(found.count == indexes.count)
    }

    @Test(arguments: [(0, 4), (1, nil), (2, 8), (3, nil), (-1, nil)] as [(Int, Int64?)])
    func requestedSubscriptionsAreFoundByTheirIndex(index: Int, id: Int64?) {
        #expect(association.requestedSubscription(at: index)?.id == id)
    }

    @Test func aRowWithParametersIsNotTheDefaultOne() {
        let association = StreamAssociation(
            subscriptions: [Self.subscription(1, "d", ["a": 1]), Self.subscription(2, "d")],
            request: Self.request([]),
            streams: [StreamDescription(name: "d", isDefault: true)]
        )
        var found: [Int] = []
        association.forEachSubscription([.defaultStream(0)]) { found.append($0) }
        #expect(found == [1])
        #expect(!association.isAnswered(0))
        #expect(association.isAnswered(1))
    }

    @Test func namesAreComparedByteByByte() {
        let names = ["\u{e9}", "e\u{301}"]
        let association = StreamAssociation(
            subscriptions: [Self.subscription(1, names[0]), Self.subscription(2, names[1])],
            request: Self.request([]),
            streams: names.reversed().map { StreamDescription(name: $0, isDefault: true) }
        )
        var found: [Int] = []
        association.forEachSubscription([.defaultStream(0)]) { found.append($0) }
        #expect(found == [1])
    }

    /// Similar names are looked for once for each name.
    @Test func subscriptionsToOneUnknownStreamShareWhatIsKnown() throws {
        let subscriptions = (1...3).map { id in
            Self.subscription(id, id == 3 ? "e" : "d", ["n": .integer(id)], isActive: false, timeToLive: 60)
        }
        let association = StreamAssociation(
            subscriptions: subscriptions,
            request: Self.request([1, 2, 3]),
            streams: ["dd", "ee"].map { StreamDescription(name: $0, isDefault: true) }
        )
        let unknown = try (0..<3).map { try #require(association.unknownStreams[$0]) }
        #expect(unknown.map(\.name) == ["d", "d", "e"])
        #expect(unknown.map(\.similarNames) == [["dd"], ["dd"], ["ee"]])
        let addresses = unknown.map { stream in stream.knownNames.withUnsafeBufferPointer { $0.baseAddress } }
        #expect(addresses[0] == addresses[1])
    }
}

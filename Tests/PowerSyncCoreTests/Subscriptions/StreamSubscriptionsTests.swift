import GRDB
import PowerSyncProtocol
import Testing

@testable import PowerSyncCore

/// The table of subscriptions by itself.
@Suite struct StreamSubscriptionsTests {
    private let database: LocalTestDatabase
    private let now = SyncInstant(microseconds: 1_700_000_000_000_000)
    private let plain = StreamKey(name: "s")
    private let withParameters = StreamKey(name: "s", parameters: ["a": 1])
    private let other = StreamKey(name: "t")

    init() throws {
        database = try LocalTestDatabase()
    }

    private func subscribe(_ key: StreamKey, timeToLive: Int64? = 60, priority: Int32? = nil) throws {
        try database.queue.write { db in
            try StreamSubscriptions.subscribe(
                db,
                key,
                timeToLive: timeToLive,
                priority: priority.map { Priority($0) },
                now: now
            )
        }
    }

    /// When each subscription ends, in seconds from now.
    private func expiries() throws -> [Int64?] {
        try database.queue.read { try StreamSubscriptions.fetchAll($0) }.map { row in
            row.expiresAt.map { ($0.rawValue - now.rawValue) / 1_000_000 }
        }
    }

    /// When each subscription was last synced, as a status tells it, in microseconds.
    private func lastSynced() throws -> [Int64?] {
        try database.queue.read { try StreamSubscriptions.fetchAll($0) }.map(\.status.lastSyncedAt?.rawValue)
    }

    @Test func onlyTheSubscriptionWithAHandleIsRenewed() throws {
        for key in [plain, withParameters, other] { try subscribe(key) }
        let later = now.adding(seconds: 30)
        try database.queue.write { try StreamSubscriptions.renew($0, [withParameters], now: later) }
        #expect(try expiries() == [60, 90, 60])
        try database.queue.write { try StreamSubscriptions.renew($0, [plain, other], now: later) }
        #expect(try expiries() == [90, 90, 90])
    }

    @Test func whatWasTakenBackIsNotRenewed() throws {
        try subscribe(plain)
        try subscribe(other)
        try database.queue.write { db in
            try StreamSubscriptions.unsubscribeAll(db, plain)
            try StreamSubscriptions.renew(db, [plain, other], now: now.adding(seconds: 30))
        }
        #expect(try expiries() == [60, 90])
        #expect(try database.rows("SELECT ttl FROM ps_stream_subscriptions ORDER BY id") == ["", "60"])
    }

    @Test func onlyTheNamedSubscriptionIsTakenBack() throws {
        for key in [plain, withParameters, other] { try subscribe(key) }
        try database.queue.write { try StreamSubscriptions.unsubscribeAll($0, withParameters) }
        #expect(try database.rows("SELECT ttl FROM ps_stream_subscriptions ORDER BY id") == ["60", "", "60"])
    }

    /// The rows may have been marked by an earlier version.
    @Test(arguments: [(false, false, false), (false, true, true), (true, false, false), (true, true, false)])
    func onlyADefaultStreamWithoutParametersStaysSynced(hasParameters: Bool, isDefault: Bool, isKept: Bool) throws {
        let key = hasParameters ? withParameters : plain
        let expected: [Int64?] = [isKept ? 5 : nil]
        try subscribe(key)
        try database.queue.write { db in
            try db.execute(
                sql: "UPDATE ps_stream_subscriptions SET active = 1, is_default = ?, last_synced_at = 5",
                arguments: [isDefault]
            )
        }
        // Renewed, it stays what it is.
        try subscribe(key)
        #expect(try lastSynced() == [5])
        try database.queue.write { try StreamSubscriptions.unsubscribeAll($0, key) }
        #expect(try lastSynced() == expected)
        try subscribe(key)
        #expect(try lastSynced() == expected)
    }

    @Test(arguments: [(59_999_999, 1), (60_000_000, 1), (60_000_001, 0)])
    func subscriptionsEndAfterTheirLastMicrosecond(microseconds: Int64, count: Int) throws {
        try subscribe(plain)
        let later = SyncInstant(microseconds: now.rawValue + microseconds)
        #expect(try database.queue.write { try StreamSubscriptions.collect($0, now: later) }.count == count)
    }

    @Test(
        arguments: [(nil, nil, nil), (nil, 2, 2), (2, nil, 2), (2, 1, 1), (1, 2, 1), (0, 3, 0)]
            as [(Int32?, Int32?, Int32?)]
    )
    func theMoreUrgentPriorityStays(first: Int32?, second: Int32?, expected: Int32?) throws {
        try subscribe(plain, priority: first)
        try subscribe(plain, priority: second)
        let rows = try database.queue.read { try StreamSubscriptions.fetchAll($0) }
        #expect(rows.map(\.priorityOverride?.rawValue) == [expected])
    }

    @Test func lifetimesReachTheirLimitAndNotBeyond() throws {
        let limit = StreamSubscriptions.maximumTimeToLive
        try subscribe(plain, timeToLive: limit)
        try subscribe(withParameters, timeToLive: limit + 1)
        try subscribe(other, timeToLive: nil)
        #expect(try expiries() == [limit, limit, StreamSubscriptions.defaultTimeToLive])
    }

    @Test func streamsThatNobodyWantsAreNotStored() throws {
        try subscribe(other)
        let streams = [
            StreamDescription(name: "optional", isDefault: false), StreamDescription(name: "s", isDefault: true),
            StreamDescription(name: "t", isDefault: false),
        ]
        let remaining = try database.queue.write { try StreamSubscriptions.reconcile($0, with: streams) }
        #expect(remaining.map(\.key) == [other, plain])
        #expect(remaining.map(\.isDefault) == [false, true])
        #expect(remaining.map(\.isActive) == [true, true])
        #expect(try database.queue.read { try StreamSubscriptions.fetchAll($0) } == remaining)
    }

    /// Of two names that look the same, one in composed letters.
    @Test func namesAreComparedByteByByte() throws {
        let keys = ["\u{e9}", "e\u{301}"].map { StreamKey(name: $0) }
        #expect(keys[0] != keys[1])
        for key in keys { try subscribe(key) }
        let streams = [StreamDescription(name: keys[0].name, isDefault: true)]
        let rows = try database.queue.write { try StreamSubscriptions.reconcile($0, with: streams) }
        #expect(rows.map(\.isActive) == [true, false])
        #expect(rows.map(\.isDefault) == [true, false])
    }
}

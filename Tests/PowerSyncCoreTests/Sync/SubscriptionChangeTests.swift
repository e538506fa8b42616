import GRDB
import PowerSyncCoreTestSupport
import PowerSyncProtocol
import Testing

@testable import PowerSyncCore

/// A subscription that is taken back and made again, at every point of a connection (docs/client-sync.md "Stream subscriptions").
@Suite struct SubscriptionChangeTests {
    /// What the subscription is about.
    enum Kind: CaseIterable {
        case optionalStream
        case withParameters
        case defaultStream
        /// The row goes when nobody has subscribed.
        case unknownStream

        var key: StreamKey {
            StreamKey(name: "s", parameters: self == .withParameters ? ["list": 1] : nil)
        }

        /// The streams of the checkpoint.
        var streams: [StreamDescription] {
            let other = StreamDescription(name: "other", isDefault: true)
            return self == .unknownStream
                ? [other] : [other, StreamDescription(name: "s", isDefault: self == .defaultStream)]
        }

        var buckets: [BucketDescription] {
            let other = BucketDescription.bucket("other", .defaultStream(0))
            return self == .unknownStream ? [other] : [other, .bucket("a", priority: 1, .subscription(0))]
        }
    }

    /// What tells the engine.
    enum News: CaseIterable {
        case event
        case eventAfterEach
        case keepalive
    }

    /// How the checkpoint ends.
    enum Ending: CaseIterable {
        case complete
        case partial
        case heldBack
    }

    /// The lines of a connection, between which subscriptions change.
    private func lines(_ kind: Kind, _ ending: Ending, _ number: Int64) -> [SyncLine] {
        var lines: [SyncLine] = [.checkpoint(number, kind.buckets, streams: kind.streams)]
        if kind != .unknownStream { lines.append(.ops("a", .put(number, "x"))) }
        if ending != .complete { lines.append(.done(1)) }
        return ending == .partial ? lines : lines + [.done]
    }

    @Test(arguments: Kind.allCases, Ending.allCases)
    func subscribingAgain(_ kind: Kind, _ ending: Ending) throws {
        let last = lines(kind, ending, 1).count
        for news in News.allCases {
            for takenBack in 0...last {
                for madeAgain in takenBack...last {
                    for told in madeAgain...last { try check(kind, ending, news, [takenBack, madeAgain, told]) }
                }
            }
        }
    }

    private func check(_ kind: Kind, _ ending: Ending, _ news: News, _ points: [Int]) throws {
        let context = "\(kind), \(ending), \(news), \(points)"
        let scenario = try SyncScenario()
        try scenario.subscribe(kind.key)
        if ending == .heldBack { try scenario.database.write("INSERT INTO items (id, col) VALUES ('local', 'mine')") }
        try scenario.start(live: [kind.key])
        var restarts: Int64 = 0

        /// Continues as the driver and a service do when the request has become another one.
        func tell() throws {
            let event: SyncEvent = news == .keepalive ? .line(.tokenExpires(in: 4000)) : .subscriptionsChanged
            guard case .closeStream = try scenario.send(event).last else { return }
            restarts += 1
            let request = try scenario.start(live: [kind.key])
            guard !request.streams.subscriptions.isEmpty else { return }
            try scenario.send(lines(kind, ending, 10 + restarts).map { .line($0) })
        }

        let first = lines(kind, ending, 1)
        for point in 0...first.count {
            if points[0] == point {
                try scenario.write { try StreamSubscriptions.unsubscribeAll($0, kind.key) }
                if news == .eventAfterEach { try tell() }
            }
            if points[1] == point {
                try scenario.subscribe(kind.key)
                if news == .eventAfterEach { try tell() }
            }
            if points[2] == point { try tell() }
            if point < first.count, restarts == 0 { try scenario.receive(first[point]) }
        }

        let stream = try #require(scenario.status.streams?.first { $0.key == kind.key }, "\(context)")
        #expect(stream.hasExplicitSubscription, "\(context)")
        let isSynced = kind != .unknownStream && ending != .heldBack
        #expect(stream.lastSyncedAt == (isSynced ? scenario.now : nil), "\(context)")
        #expect((stream.unknown != nil) == (kind == .unknownStream), "\(context)")
        #expect((stream.progress == nil) == (ending == .complete), "\(context)")
        if kind != .unknownStream { #expect(stream.priority == Priority(1), "\(context)") }
        let stored = try scenario.database.rows(
            """
            SELECT ttl IS NOT NULL, last_synced_at IS NOT NULL, active FROM ps_stream_subscriptions
            WHERE stream_name = 's'
            """
        )
        #expect(stored == ["1|\(isSynced ? 1 : 0)|\(kind == .unknownStream ? 0 : 1)"], "\(context)")

        guard ending == .heldBack, kind != .unknownStream else { return }
        // What was held back counts for the subscription, too.
        try scenario.write { db in
            try UploadQueue.complete(db, through: UploadQueue.sequence(db) ?? 0, writeCheckpoint: nil)
            try KeyValueStore.remove(db, .targetWriteCheckpoint)
        }
        try scenario.send(.uploadCompleted)
        #expect(scenario.status.streams?.first { $0.key == kind.key }?.lastSyncedAt == scenario.now, "\(context)")
    }
}

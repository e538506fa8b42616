import NIOConcurrencyHelpers
import PostgresTestSupport
import PowerSyncAuth
import PowerSyncProtocol
import PowerSyncSyncConfig
import PowerSyncTesting
import ServiceTestSupport
import Testing
import TestSupport

@testable import PowerSyncServiceCore
@testable import PowerSyncServiceSQLite

/// Sessions with the dispatcher over the real storage (docs/service.md "Fan-out").
@Suite(.timeLimit(.minutes(2))) struct CheckpointDispatcherTests {
    private struct Hiccup: Error {}

    private static let config = """
        config: {edition: 3}
        streams:
          lists: {auto_subscribe: true, priority: 1, query: SELECT * FROM lists WHERE owner = auth.user_id()}
          todos:
            auto_subscribe: true
            query: SELECT * FROM todos WHERE list IN (SELECT id FROM lists WHERE owner = auth.user_id())
          news: {auto_subscribe: true, query: SELECT * FROM news}
        """

    @Test(arguments: TestedStorage.durable)
    func aCommitWakesTheSessionsThatItConcernsAndNoOther(_ kind: TestedStorage) async throws {
        try await SessionScenario.run(Self.config, on: kind) { scenario in
            let lists = try await scenario.storage.table("lists")
            var first = try await scenario.client("u1")
            var second = try await scenario.client("u2")
            _ = try await first.untilComplete()
            _ = try await second.untilComplete()
            let deliveries = scenario.dispatcher.deliveries
            for number in 0..<5 {
                try await scenario.insert("l\(number)", ["owner": "u1"], into: lists)
                try await scenario.storage.commit()
                _ = try await first.untilComplete()
            }
            // The second session would have been told before the first one has answered to the fifth commit.
            #expect(scenario.dispatcher.deliveries == deliveries + 5)
            try await scenario.insert("x", ["owner": "u2"], into: lists)
            try await scenario.storage.commit()
            _ = try await second.untilComplete()
            #expect(scenario.dispatcher.deliveries == deliveries + 6)
            await first.leave()
            await second.leave()
        }
    }

    @Test(arguments: TestedStorage.durable)
    func aSessionDoesNotBeginWithLessThanWhatHadBeenPublishedBeforeWhenTheDispatcherIsBehind(
        _ kind: TestedStorage
    ) async throws {
        let clock = TestClock()
        try await SessionScenario.run(Self.config, on: kind, clock: clock) { scenario in
            let news = try await scenario.storage.table("news")
            var client = try await scenario.client()
            _ = try await client.untilComplete()
            try await clock.nextTimerScheduled()
            try await scenario.insert("n1", into: news)
            try await scenario.storage.commit()
            // The dispatcher pauses. A client comes that has seen the row at another process.
            let session = try await scenario.session("u2")
            let opening = Task { [session] in
                var session = session
                return try await session.open()
            }
            clock.advance(by: CheckpointDispatcher.pause)
            let line = try #require(try await opening.value)
            #expect(try JSONObject(parsing: line).summary.hasPrefix("checkpoint 1: "))
            await client.leave()
        }
    }

    @Test func aStreamThatWasOpenedAndClosedLeavesNothingBehind() async throws {
        try await SessionScenario.run(Self.config) { scenario in
            let lists = try await scenario.storage.table("lists")
            for number in 0..<20 {
                var client = try await scenario.client("u\(number % 3)", clientID: "c\(number)")
                _ = try await client.untilComplete()
                scenario.dispatcher.writeCheckpointRecorded(userKey: "u\(number % 3)/c\(number)", at: .at(1_000))
                #expect(scenario.dispatcher.census.sessions == 1)
                try await scenario.insert("l\(number)", ["owner": "u\(number % 3)"], into: lists)
                try await scenario.storage.commit()
                if number % 2 == 0 { _ = try await client.untilComplete() }
                await client.leave()
                #expect(scenario.dispatcher.census == CheckpointDispatcher.Census())
            }
            do {
                // One that is never run, as when the client goes away while its response begins.
                var session = try await scenario.session()
                _ = try await session.open()
                #expect(scenario.dispatcher.census.sessions == 1)
                withExtendedLifetime(session) {}
            }
            #expect(scenario.dispatcher.census == CheckpointDispatcher.Census())
        }
    }

    @Test(arguments: TestedStorage.durable)
    func aWriteCheckpointArrivesWhenItsPositionIsReachedAlsoIfNothingElseHappens(_ kind: TestedStorage) async throws {
        try await SessionScenario.run(Self.config, on: kind) { scenario in
            let storage = scenario.storage.storage
            // Recorded before the session: nobody tells it but the storage.
            let first = try await storage.createWriteCheckpoint(
                userKey: "u1",
                head: .at(scenario.storage.position + 1)
            )
            var client = try await scenario.client("u1")
            _ = try await client.untilComplete()
            try await scenario.storage.commit()
            #expect(try await client.summary() == "diff 0 write \(first):  -[]")
            #expect(try await client.summary() == "complete 0")
            // Recorded and reached while the session is there.
            let head = SourcePosition.at(scenario.storage.position + 1)
            let second = try await storage.createWriteCheckpoint(userKey: "u1", head: head)
            scenario.dispatcher.writeCheckpointRecorded(userKey: "u1", at: head.lsn)
            try await scenario.storage.commit()
            #expect(try await client.summary() == "diff 0 write \(second):  -[]")
            await client.leave()
        }
    }

    @Test(arguments: TestedStorage.durable)
    func aSessionWhoseCheckpointWasCompactedWhileItWaitedGoesOnWithALaterOne(_ kind: TestedStorage) async throws {
        let readers = ConcurrencyQueue(maximumRunning: 1, maximumWaiting: .max)
        try await SessionScenario.run(Self.config, on: kind, dataReaders: readers) { scenario in
            let news = try await scenario.storage.table("news")
            for number in 0..<10 { try await scenario.insert("n\(number)", into: news) }
            try await scenario.storage.commit()
            let slot = try await readers.acquire()
            var client = try await scenario.client()
            #expect(try await client.summary()?.hasPrefix("checkpoint 10") == true)
            // While the session waits for its turn to read, everything is deleted, and compacted.
            for number in 0..<10 {
                try await scenario.storage.save(.delete(key: [.text("n\(number)")]), of: news)
            }
            try await scenario.storage.commit()
            _ = try await scenario.storage.storage.compact()
            slot.release()
            let bucket = BucketName("1#news|0[]")
            let checkpoint = try scenario.storage.checkpoint
            let sums = try await scenario.storage.storage.checksums([bucket], at: checkpoint)
            let lists = BucketName(#"1#lists|0["u1"]"#)
            try await client.read(until: sums.merging([lists: .empty]) { $1 })
            await client.leave()
        }
    }

    @Test(arguments: [ReadFault.Read.changes, .checksums, .bucketData])
    func whatTheDispatcherCouldNotReadSessionsReadThemselves(_ read: ReadFault.Read) async throws {
        let fault = ReadFault()
        try await SessionScenario.run(Self.config, followed: { fault.view(of: $0) }) { scenario in
            let lists = try await scenario.storage.table("lists")
            var first = try await scenario.client("u1")
            var second = try await scenario.client("u2")
            _ = try await first.untilComplete()
            _ = try await second.untilComplete()
            fault.fail(read, with: Hiccup())
            for round in 0..<2 {
                for user in ["u1", "u2"] { try await scenario.insert("\(user)-\(round)", ["owner": user], into: lists) }
                try await scenario.storage.commit()
                let lines = [try await first.untilComplete(), try await second.untilComplete()]
                #expect(lines[0].contains { $0.hasPrefix(#"data 1#lists|0["u1"]"#) }, "round \(round): \(lines)")
                #expect(lines[1].contains { $0.hasPrefix(#"data 1#lists|0["u2"]"#) }, "round \(round): \(lines)")
                #expect(!fault.isPending)
            }
            await first.leave()
            await second.leave()
        }
    }

    @Test func whatACommitAddsForManyUsersIsReadOnceForAllOfThem() async throws {
        let reads = NIOLockedValueBox(0)
        var memory: LineMemory?
        let config = """
            config: {edition: 3}
            streams: {lists: {auto_subscribe: true, query: SELECT * FROM lists WHERE owner = auth.user_id()}}
            """
        try await SessionScenario.run(config, view: { counting($0, reads) }) { scenario in
            let lists = try await scenario.storage.table("lists")
            var first = try await scenario.client("u1")
            var second = try await scenario.client("u2")
            _ = try await first.untilComplete()
            _ = try await second.untilComplete()
            let firstReads = reads.withLockedValue(\.self)
            for round in 0..<4 {
                for user in ["u1", "u2"] {
                    try await scenario.insert("\(user)-\(round)", ["owner": user], into: lists)
                    // A long row is read by its session.
                    let text = String(repeating: "x", count: round == 2 ? FreshOperations.maximumBytes : 1)
                    try await scenario.insert("\(user)-text", ["owner": user, "text": text], into: lists)
                }
                try await scenario.storage.commit()
                let lines = [try await first.untilComplete(), try await second.untilComplete()]
                #expect(lines.allSatisfy { $0.contains { $0.hasPrefix("data") } }, "\(lines)")
                #expect(reads.withLockedValue(\.self) == (round < 2 ? firstReads : firstReads + 2), "round \(round)")
            }
            await first.leave()
            await second.leave()
            memory = scenario.dispatcher.memory
        }
        // The dispatcher, which may have held the last commit a little longer, has ended.
        #expect(try #require(memory).fresh.byteCount == 0)
    }

    @Test func allSessionsEndWithTheDispatcher() async throws {
        let storage = try await StorageScenario(Self.config)
        let dispatcher = CheckpointDispatcher(storage: storage.storage)
        let stream = try #require(try await storage.storage.activeStream())
        let running = Task { try await dispatcher.run() }
        let subscription = dispatcher.subscribe(to: stream, userKey: "u")
        #expect(try await subscription.next() != nil)
        let waiting = Task { try await subscription.next() }
        running.cancel()
        try await running.value
        #expect(try await waiting.value == nil)
        #expect(try await dispatcher.subscribe(to: stream, userKey: "u").next() == nil)
    }

    @Test func waitingEndsWhenTheTaskIsCancelledAndTheNewsStay() async throws {
        let storage = try await StorageScenario(Self.config)
        let dispatcher = CheckpointDispatcher(storage: storage.storage)
        let stream = try #require(try await storage.storage.activeStream())
        let subscription = dispatcher.subscribe(to: stream, userKey: "u")
        // Nobody follows the storage yet.
        let waiting = Task { try await subscription.next() }
        waiting.cancel()
        await #expect(throws: CancellationError.self) { _ = try await waiting.value }
        let running = Task { try await dispatcher.run() }
        #expect(try await subscription.next()?.checkpoint == storage.checkpoint)
        running.cancel()
        try await running.value
    }

    /// Starts a task for each subscription; when there are no news, almost all of them wait in the end.
    private static func waiting(_ subscriptions: [CheckpointSubscription]) async -> [Task<CheckpointNews?, any Error>] {
        var tasks: [Task<CheckpointNews?, any Error>] = []
        for subscription in subscriptions {
            tasks.append(Task { try await subscription.next() })
        }
        await Task {}.value
        return tasks
    }

    /// Takes minutes if each new session looks through all that wait, and otherwise a second.
    @Test(.timeLimit(.minutes(1)))
    func whenManyWaitAlreadyTheNextOnesDoNotLookAtThem() async throws {
        let storage = try await StorageScenario(Self.config)
        let dispatcher = CheckpointDispatcher(storage: storage.storage)
        let stream = try #require(try await storage.storage.activeStream())
        let first = (0..<20_000).map { dispatcher.subscribe(to: stream, userKey: "u\($0)") }
        // Nobody follows the storage.
        let waiting = await Self.waiting(first)
        try #require(dispatcher.census.waiting > 19_000)
        let others = (0..<60_000).map { dispatcher.subscribe(to: stream, userKey: "v\($0)") }
        #expect(dispatcher.census.sessions == 80_000)
        for task in waiting { task.cancel() }
        for task in waiting { _ = await task.result }
        withExtendedLifetime((first, others)) {}
    }

    @Test func whenAnotherStreamIsActiveThoseWhoWaitForTheOneBeforeEndAndNobodyElse() async throws {
        let storage = try await StorageScenario(Self.config)
        let dispatcher = CheckpointDispatcher(storage: storage.storage)
        let old = try #require(try await storage.storage.activeStream())
        var new = old
        new.checkpoint.streamID = ReplicationStreamID(rawValue: old.id.rawValue + 1)
        let first = (0..<3).map { _ in dispatcher.subscribe(to: old, userKey: "u") }
        let waiting = await Self.waiting(first)
        let second = (0..<2).map { _ in dispatcher.subscribe(to: new, userKey: "u") }
        for task in waiting { #expect(try await task.value == nil) }
        let stillWaiting = await Self.waiting(second)
        // One that comes too late changes nothing.
        #expect(dispatcher.subscribe(to: old, userKey: "u").isFinished)
        for task in stillWaiting { task.cancel() }
        for task in stillWaiting { await #expect(throws: CancellationError.self) { try await task.value } }
        withExtendedLifetime((first, second)) {}
    }

    /// More of those whose database costs nothing.
    private static let seeds: [(TestedStorage, UInt64)] = TestedStorage.durable.flatMap { kind in
        (1...UInt64(kind == .sqlite ? 20 : 4)).map { (kind, $0) }
    }

    /// Random rows of random users between random clients: at rest, each has exactly what it would find if it came now.
    @Test(arguments: seeds.one(in: 3)) func atRestEveryClientHasWhatItShould(
        _ kind: TestedStorage,
        seed: UInt64
    ) async throws {
        try await SessionScenario.run(Self.config, on: kind) { scenario in
            var random = SeededGenerator(seed: seed)
            let lists = try await scenario.storage.table("lists")
            let todos = try await scenario.storage.table("todos")
            let news = try await scenario.storage.table("news")
            var numbers = 0
            for round in 0..<4 {
                // Half of the clients are there before the commits of a round, the others come in between.
                var first = try await scenario.client("u\(random.number(below: 3))", clientID: "a")
                var second = try await scenario.client("u\(random.number(below: 3))", clientID: "b")
                var third: SessionClient?
                for commit in 0..<12 {
                    for _ in 0..<random.number(below: 4) {
                        numbers += 1
                        let owner = "u\(random.number(below: 5))"
                        let list = "l\(random.number(below: 6))"
                        switch random.number(below: 6) {
                        case 0: try await scenario.insert(list, ["owner": owner], into: lists)
                        case 1: try await scenario.storage.save(.delete(key: [.text(list)]), of: lists)
                        case 2...4: try await scenario.insert("t\(numbers % 20)", ["list": list], into: todos)
                        default: try await scenario.insert("n\(numbers % 5)", ["n": "\(numbers)"], into: news)
                        }
                    }
                    if random.number(below: 4) == 0 {
                        let key = "\(first.userID)/a"
                        let head = SourcePosition.at(scenario.storage.position + 1)
                        _ = try await scenario.storage.storage.createWriteCheckpoint(userKey: key, head: head)
                        scenario.dispatcher.writeCheckpointRecorded(userKey: key, at: head.lsn)
                    }
                    try await scenario.storage.commit()
                    if commit % 4 == 2 { try await scenario.storage.storage.seal() }
                    if random.number(below: 8) == 0 { _ = try await scenario.storage.storage.compact() }
                    if commit == 6 {
                        third = try await scenario.client("u\(random.number(below: 5))", clientID: "c")
                    }
                    if random.number(below: 3) == 0 { _ = try await first.next() }
                }
                try await scenario.expectRest(&first, "a", "seed \(seed), round \(round)")
                try await scenario.expectRest(&second, "b", "seed \(seed), round \(round)")
                if var client = third.take() {
                    try await scenario.expectRest(&client, "c", "seed \(seed), round \(round)")
                    await client.leave()
                }
                await first.leave()
                await second.leave()
            }
            #expect(scenario.dispatcher.census == CheckpointDispatcher.Census(), "seed \(seed)")
        }
    }
}

/// A storage that counts how often operations are read.
private func counting(_ storage: some BucketStorage, _ reads: NIOLockedValueBox<Int>) -> any BucketStorage {
    CountingStorage(storage: storage, reads: reads)
}

private struct CountingStorage<Storage: BucketStorage>: ForwardingStorage {
    let storage: Storage
    let reads: NIOLockedValueBox<Int>

    func bucketData(
        _ positions: [StreamingSyncRequest.BucketPosition],
        at checkpoint: StorageCheckpoint,
        limits: BucketDataLimits
    ) async throws -> [BucketChunk] {
        reads.withLockedValue { $0 += 1 }
        return try await storage.bucketData(positions, at: checkpoint, limits: limits)
    }
}

extension SessionScenario {
    /// Reads until a client has what a new one would find.
    fileprivate func expectRest(
        _ client: inout SessionClient,
        _ clientID: String,
        _ comment: Comment
    ) async throws {
        let stream = try #require(try await storage.storage.activeStream())
        let token = VerifiedToken(payload: ["sub": .string(client.userID)], expiresAt: 0)
        let request = SyncPlanRequest(tokenPayload: token.payload, parameters: [:], streams: .init())
        var resolver = BucketResolver(
            storage: storage.storage,
            querier: stream.plan.querier(for: request, bucketPrefix: stream.bucketPrefix),
            limits: BucketLimits(),
            writeCheckpoints: .service(key: token.writeCheckpointKey(clientID: clientID))
        )
        let news = CheckpointNews(checkpoint: try storage.checkpoint, scope: .unknown)
        let expected = try await resolver.candidate(for: news)
        try await client.read(until: expected.checksums, writeCheckpoint: expected.writeCheckpoint)
    }
}

import Foundation
import PowerSync
import Testing

/// A mock of an app: the results of every watch are given.
private struct ScriptedQueries: Queries {
    struct Unavailable: Error {}

    let results: [[Int]]
    var failure: (any Error)?

    func watch<RowType>(options: WatchOptions<RowType>) throws -> AsyncThrowingStream<[RowType], any Error> {
        AsyncThrowingStream { continuation in
            for result in results { continuation.yield(result.compactMap { $0 as? RowType }) }
            continuation.finish(throwing: failure)
        }
    }
    func writeLock<R>(callback: @Sendable @escaping (any ConnectionContext) throws -> R) async throws -> R {
        throw Unavailable()
    }
    func readLock<R>(callback: @Sendable @escaping (any ConnectionContext) throws -> R) async throws -> R {
        throw Unavailable()
    }
}

@Suite(.timeLimit(.minutes(1))) struct DistinctWatchTests {
    private let numbers = WatchOptions(sql: "SELECT 1") { try $0.getInt(index: 0) }

    private func names(_ sql: String = "SELECT name FROM users ORDER BY name") -> WatchOptions<String> {
        WatchOptions(sql: sql, throttle: 0) { try $0.getString(name: "name") }
    }

    @Test func equalNeighboursAreLeftOut() async throws {
        let mock = ScriptedQueries(results: [[1, 2], [1, 2], [2, 1], [2, 1], [], [], [1, 2]])
        var seen: [[Int]] = []
        for try await result in try mock.watchDistinct(options: numbers) { seen.append(result) }
        #expect(seen == [[1, 2], [2, 1], [], [1, 2]])
    }

    @Test func differencesComeOnlyWithChanges() async throws {
        let mock = ScriptedQueries(results: [[1, 2], [2, 1], [2, 3], [2, 3]])
        var seen: [[[Int]]] = []
        for try await diff in try mock.watchDifferential(options: numbers, keyBy: { $0 }) {
            seen.append([diff.all, diff.added, diff.removed, diff.unchanged])
        }
        #expect(seen == [[[1, 2], [1, 2], [], []], [[2, 3], [3], [1], [2]]])
    }

    @Test func errorsEndTheStreams() async throws {
        let mock = ScriptedQueries(results: [[1]], failure: ScriptedQueries.Unavailable())
        var results = try mock.watchDistinct(options: numbers).makeAsyncIterator()
        #expect(try await results.next() == [1])
        await #expect(throws: ScriptedQueries.Unavailable.self) { try await results.next() }
        var diffs = try mock.watchDifferential(options: numbers, keyBy: { $0 }).makeAsyncIterator()
        #expect(try await diffs.next()?.added == [1])
        await #expect(throws: ScriptedQueries.Unavailable.self) { try await diffs.next() }
    }

    @Test func distinctResultsFollowTheDatabase() async throws {
        try await withFileDatabase { database in
            var results = try database.watchDistinct(options: names()).makeAsyncIterator()
            #expect(try await results.next() == [])
            try await database.insertUser("Ada", id: "1")
            #expect(try await results.next() == ["Ada"])
            // The query reads the table, but its result stays the same.
            try await database.execute("UPDATE users SET age = 36")
            try await database.execute("UPDATE users SET name = 'Abe'")
            #expect(try await results.next() == ["Abe"])
        }
    }

    @Test func differencesFollowTheDatabase() async throws {
        try await withFileDatabase { database in
            try await database.insertUser("Ada", id: "1")
            let options = WatchOptions(sql: "SELECT id, name FROM users ORDER BY id", throttle: 0) { cursor in
                [try cursor.getString(name: "id"), try cursor.getString(name: "name")]
            }
            var diffs = try database.watchDifferential(options: options, keyBy: { $0[0] }).makeAsyncIterator()
            #expect(try await diffs.next()?.added == [["1", "Ada"]])
            try await database.writeTransaction { transaction in
                try transaction.execute(sql: "UPDATE users SET name = 'Abe'", parameters: [])
                try transaction.execute(sql: "INSERT INTO users (id, name) VALUES ('2', 'Bob')", parameters: [])
            }
            let diff = try #require(try await diffs.next())
            #expect(diff.updated.map(\.previous) == [["1", "Ada"]])
            #expect(diff.updated.map(\.current) == [["1", "Abe"]])
            #expect(diff.added == [["2", "Bob"]])
            #expect(diff.removed.isEmpty && diff.unchanged.isEmpty)
        }
    }

    @Test func duplicateKeysAreLoggedOnce() async throws {
        let log = CollectingLogWriter()
        try await withMemoryDatabase(logger: DefaultLogger(minSeverity: .warning, writers: [log])) { database in
            try await database.execute("INSERT INTO users (id, name, age) VALUES ('1', 'Ada', 1), ('2', 'Ada', 2)")
            let options = WatchOptions(sql: "SELECT name, age FROM users ORDER BY id", throttle: 0) { cursor in
                [try cursor.getString(name: "name"), try cursor.getString(name: "age")]
            }
            var diffs = try database.watchDifferential(options: options, keyBy: { $0[0] }).makeAsyncIterator()
            #expect(try await diffs.next()?.all == [["Ada", "2"]])
            try await database.execute("UPDATE users SET age = age + 1")
            #expect(try await diffs.next()?.all == [["Ada", "3"]])
        }
        #expect(log.messages(.warning).count == 1)
    }

    @Test func closingFinishesTheStreams() async throws {
        let database = PowerSyncDatabase(schema: testSchema, dbFilename: ":memory:", logger: DefaultLogger(writers: []))
        var results = try database.watchDistinct(options: names()).makeAsyncIterator()
        var diffs = try database.watchDifferential(options: names(), keyBy: { $0 }).makeAsyncIterator()
        #expect(try await results.next() == [])
        #expect(try await diffs.next()?.all == [])
        try await database.close()
        #expect(try await results.next() == nil)
        #expect(try await diffs.next() == nil)
    }

    @Test func cancellingTheConsumerFinishesTheStreams() async throws {
        try await withFileDatabase { database in
            let started = Counter()
            let consumers = [
                Task { for try await _ in try database.watchDistinct(options: names()) { started.increment() } },
                Task {
                    for try await _ in try database.watchDifferential(options: names(), keyBy: { $0 }) {
                        started.increment()
                    }
                },
            ]
            await started.wait(for: 2)
            for consumer in consumers {
                consumer.cancel()
                try await consumer.value
            }
        }
    }
}

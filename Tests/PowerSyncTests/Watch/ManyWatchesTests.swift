import NIOConcurrencyHelpers
import PowerSync
import Testing

@Suite(.timeLimit(.minutes(1))) struct ManyWatchesTests {
    /// How often each query was run.
    private final class Runs: Sendable {
        private let counts = NIOLockedValueBox<[Int: Int]>([:])

        var counted: [Int: Int] { counts.withLockedValue { $0 } }

        func add(_ index: Int) {
            counts.withLockedValue { $0[index, default: 0] += 1 }
        }
    }

    @Test
    func of200WatchesOneWriteWakesOnlyTheRightOneAndNoneRunsWithoutNeed() async throws {
        let schema = Schema(tables: (0..<200).map { Table(name: "t\($0)", columns: [.text("x")]) })
        try await withFileDatabase(schema) { database in
            let runs = Runs()
            let watches = try (0..<200).map { index in
                try database.watch(
                    options: WatchOptions(sql: "SELECT count(*) FROM t\(index)", throttle: 0) { cursor in
                        runs.add(index)
                        return try cursor.getInt(index: 0)
                    }
                )
            }
            var iterators = watches.map { $0.makeAsyncIterator() }
            for index in iterators.indices {
                #expect(try await iterators[index].next() == [0])
            }
            for index in [7, 150, 7] {
                try await database.execute("INSERT INTO t\(index) (id, x) VALUES (uuid(), 'x')")
                #expect(try await iterators[index].next()?.first ?? 0 > 0)
            }
            var expected = Dictionary(uniqueKeysWithValues: (0..<200).map { ($0, 1) })
            expected[7] = 3
            expected[150] = 2
            #expect(runs.counted == expected)
        }
    }

    @Test
    func twoWatchesOfOneQueryGetAllChanges() async throws {
        try await withFileDatabase { database in
            var counts = try (0..<2).map { _ in
                try database.watch("SELECT count(*) FROM users") { try $0.getInt(index: 0) }.makeAsyncIterator()
            }
            for index in counts.indices { #expect(try await counts[index].next() == [0]) }
            for expected in 1...3 {
                try await database.insertUser("user \(expected)")
                for index in counts.indices {
                    while let count = try await counts[index].next(), count != [expected] {}
                }
            }
        }
    }

    @Test
    func namedTablesReplaceThoseOfTheQuery() async throws {
        try await withFileDatabase { database in
            let fetches = Counter()
            var options = WatchOptions(sql: "SELECT count(*) FROM users") { cursor in
                fetches.increment()
                return try cursor.getInt(index: 0)
            }
            options.triggerOnTables = ["tasks"]
            var counts = try database.watch(options: options).makeAsyncIterator()
            #expect(try await counts.next() == [0])
            try await database.insertUser("Ada")
            // Not told by the write to the table of the query, but by that to the named one.
            try await database.execute("INSERT INTO tasks (id, title) VALUES ('1', 'a')")
            #expect(try await counts.next() == [1])
            await fetches.wait(for: 2)
        }
    }
}

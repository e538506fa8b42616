import PowerSync
import Testing

@Suite(.timeLimit(.minutes(1))) struct UploadQueueWatchTests {
    @Test
    func queueIsWatchedWritesCompletionsClearingAndNothingElse() async throws {
        try await withFileDatabase { database in
            var stats = try database.watchUploadQueue(throttle: 0).makeAsyncIterator()
            let first = try #require(try await stats.next())
            #expect(first.count == 0)
            #expect(first.sizeInBytes == nil)
            try await database.insertUser("Ada")
            #expect(try await stats.next()?.count == 1)
            // A table of the app does not count.
            try await database.execute("CREATE TABLE notes (x)")
            try await database.execute("INSERT INTO notes VALUES (1)")
            try await database.writeTransaction { transaction in
                for id in ["a", "b"] {
                    try transaction.execute(sql: "INSERT INTO users (id) VALUES (?)", parameters: [id])
                }
            }
            #expect(try await stats.next()?.count == 3)
            try await database.getNextCrudTransaction()?.complete()
            #expect(try await stats.next()?.count == 2)
            try await database.disconnectAndClear()
            #expect(try await stats.next()?.count == 0)
        }
    }

    @Test func closingFinishesTheStream() async throws {
        let database = PowerSyncDatabase(schema: testSchema, dbFilename: ":memory:", logger: DefaultLogger(writers: []))
        var stats = try database.watchUploadQueue().makeAsyncIterator()
        #expect(try await stats.next()?.count == 0)
        try await database.close()
        #expect(try await stats.next() == nil)
    }

    @Test func cancellingTheConsumerFinishesTheStream() async throws {
        try await withFileDatabase { database in
            let started = Counter()
            let consumer = Task {
                for try await _ in try database.watchUploadQueue() { started.increment() }
            }
            await started.wait(for: 1)
            consumer.cancel()
            try await consumer.value
        }
    }
}

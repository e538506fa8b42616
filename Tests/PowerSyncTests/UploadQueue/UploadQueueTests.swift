import PowerSync
import PowerSyncCore
import Testing

@Suite struct UploadQueueTests {
    private func insert(_ count: Int, _ database: any PowerSyncDatabaseProtocol, from start: Int = 0) async throws {
        try await database.writeTransaction { transaction in
            for index in start..<(start + count) {
                try transaction.execute(
                    sql: "INSERT INTO users (id, name, age) VALUES (?, ?, ?)",
                    parameters: ["\(index)", "user \(index)", index]
                )
            }
        }
    }

    private func target(_ database: any PowerSyncDatabaseProtocol) async throws -> Int64? {
        try await database.getOptional("SELECT value FROM ps_kv WHERE key = 'target_checkpoint_request_id'") {
            try $0.getInt64(index: 0)
        }
    }

    @Test
    func entriesCarryWhatWasWritten() async throws {
        try await withMemoryDatabase { database in
            try await database.execute("INSERT INTO users (id, name, age, score) VALUES ('1', 'Ada', 0, 1.5)")
            try await database.execute("UPDATE users SET name = NULL, age = 37 WHERE id = '1'")
            try await database.execute("DELETE FROM users WHERE id = '1'")
            let entries = try #require(try await database.getCrudBatch()).crud
            #expect(entries.map(\.op) == [.put, .patch, .delete])
            #expect(entries.map(\.table) == ["users", "users", "users"])
            #expect(entries.map(\.id) == ["1", "1", "1"])
            #expect(entries[0].opDataTyped == ["name": .string("Ada"), "age": .int(0), "score": .double(1.5)])
            #expect(entries[0].opData == ["name": "Ada", "age": "0", "score": "1.5"])
            #expect(entries[1].opDataTyped == ["name": .null, "age": .int(37)])
            #expect(entries[1].opData == ["name": nil, "age": "37"])
            #expect(entries[2].opData == nil)
            #expect(Set(entries.map(\.transactionId)).count == 3)
            #expect(entries.map(\.clientId) == entries.map(\.clientId).sorted())
        }
    }

    @Test
    func metadataTravelsWithTheEntry() async throws {
        let schema = Schema(Table(name: "users", columns: [.text("name")], trackMetadata: true))
        try await withMemoryDatabase(schema) { database in
            try await database.execute("INSERT INTO users (id, name, _metadata) VALUES ('1', 'Ada', 'from a test')")
            #expect(try await database.getNextCrudTransaction()?.crud.first?.metadata == "from a test")
        }
    }

    struct Tracking: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let options: TrackPreviousValuesOptions
        let expected: [String: String?]
    }

    static let trackings = [
        Tracking(
            testDescription: "all columns",
            options: TrackPreviousValuesOptions(),
            expected: ["name": "Ada", "email": "a@b.c"]
        ),
        Tracking(
            testDescription: "filtered",
            options: TrackPreviousValuesOptions(columnFilter: ["email"]),
            expected: ["email": "a@b.c"]
        ),
        Tracking(
            testDescription: "only when changed",
            options: TrackPreviousValuesOptions(onlyWhenChanged: true),
            expected: ["name": "Ada"]
        ),
    ]

    @Test(arguments: trackings)
    func previousValuesTravelWithUpdates(_ tracking: Tracking) async throws {
        let table = Table(
            name: "users",
            columns: [.text("name"), .text("email")],
            trackPreviousValues: tracking.options
        )
        try await withMemoryDatabase(Schema(table)) { database in
            try await database.execute("INSERT INTO users (id, name, email) VALUES ('1', 'Ada', 'a@b.c')")
            try await database.execute("DELETE FROM ps_crud")
            try await database.execute("UPDATE users SET name = 'Bea'")
            #expect(try await database.getNextCrudTransaction()?.crud.first?.previousValues == tracking.expected)
        }
    }

    @Test(arguments: [true, false])
    func emptyUpdateMakesNoEntryIfTheTableSaysSo(_ ignore: Bool) async throws {
        let table = Table(name: "users", columns: [.text("name")], ignoreEmptyUpdates: ignore)
        try await withMemoryDatabase(Schema(table)) { database in
            try await database.execute("INSERT INTO users (id, name) VALUES ('1', 'Ada')")
            try await database.execute("DELETE FROM ps_crud")
            try await database.execute("UPDATE users SET name = 'Ada'")
            let isEmpty = try await database.getNextCrudTransaction() == nil
            #expect(isEmpty == ignore)
        }
    }

    @Test(
        arguments: [(50, 50, true), (99, 99, true), (100, 100, false), (101, 100, false)]
    )
    func batchHasAtMostItsLimit(_ limit: Int32, _ count: Int, _ hasMore: Bool) async throws {
        try await withMemoryDatabase { database in
            #expect(try await database.getCrudBatch() == nil)
            try await insert(100, database)
            let batch = try #require(try await database.getCrudBatch(limit: limit))
            #expect(batch.crud.count == count)
            #expect(batch.hasMore == hasMore)
            #expect(batch.crud.first?.opData?["age"] == "0")
            try await batch.complete()
            #expect(try await database.getUploadQueueStats().count == 100 - count)
        }
    }

    @Test func batchNeedsALimit() async throws {
        try await withMemoryDatabase { database in
            _ = await #expect(throws: PowerSyncError.self) { try await database.getCrudBatch(limit: 0) }
        }
    }

    @Test
    func nextTransactionIsWholeAndGoneOnceCompleted() async throws {
        try await withMemoryDatabase { database in
            try await insert(100, database)
            let transaction = try #require(try await database.getNextCrudTransaction())
            #expect(transaction.crud.count == 100)
            #expect(transaction.transactionId != nil)
            try await transaction.complete()
            #expect(try await database.getNextCrudTransaction() == nil)
        }
    }

    @Test
    func completingATransactionCompletesThoseBeforeIt() async throws {
        try await withMemoryDatabase { database in
            for try await _ in database.getCrudTransactions() { Issue.record("the queue is empty") }
            try await insert(5, database)
            try await insert(10, database, from: 100)
            try await insert(15, database, from: 200)
            var transactions = database.getCrudTransactions().makeAsyncIterator()
            #expect(try await transactions.next()?.crud.count == 5)
            let second = try #require(try await transactions.next())
            #expect(second.crud.count == 10)
            try await second.complete()
            #expect(try await database.getUploadQueueStats().count == 15)
            let third = try #require(try await transactions.next())
            #expect(third.crud.count == 15)
            #expect(try await transactions.next() == nil)
            try await third.complete()
            #expect(try await database.getNextCrudTransaction() == nil)
        }
    }

    @Test
    func backendsOwnWriteCheckpointBecomesTheTarget() async throws {
        try await withMemoryDatabase { database in
            try await insert(1, database)
            #expect(try await target(database) == .max)
            try await database.getNextCrudTransaction()?.complete(writeCheckpoint: "123")
            #expect(try await target(database) == 123)
            try await insert(1, database, from: 2)
            try await database.getCrudBatch()?.complete(writeCheckpoint: "124")
            #expect(try await target(database) == 124)
        }
    }

    @Test
    func withMoreEntriesQueuedTheTargetStaysUnknown() async throws {
        try await withMemoryDatabase { database in
            try await insert(1, database)
            try await insert(1, database, from: 2)
            try await database.getNextCrudTransaction()?.complete(writeCheckpoint: "5")
            #expect(try await target(database) == .max)
        }
    }

    @Test(
        arguments: ["", "abc", "-1", "1.5", "9223372036854775808"]
    )
    func writeCheckpointThatIsNotANumberIsRefused(_ text: String) async throws {
        try await withMemoryDatabase { database in
            try await insert(1, database)
            let transaction = try #require(try await database.getNextCrudTransaction())
            await #expect(throws: PowerSyncError.self) { try await transaction.complete(writeCheckpoint: text) }
            #expect(try await database.getUploadQueueStats().count == 1)
        }
    }

    @Test
    func statisticsCountEntriesAndTheirBytes() async throws {
        try await withMemoryDatabase { database in
            #expect(try await database.getUploadQueueStats(includeSize: true).sizeInBytes == 0)
            try await database.execute("INSERT INTO users (id, name) VALUES ('1', 'Zoë')")
            let bytes = try await database.get("SELECT length(CAST(data AS BLOB)) FROM ps_crud") {
                try $0.getInt64(index: 0)
            }
            let stats = try await database.getUploadQueueStats(includeSize: true)
            #expect(stats.count == 1)
            #expect(stats.sizeInBytes == bytes + 20)
            #expect(try await database.getUploadQueueStats().sizeInBytes == nil)
        }
    }
}

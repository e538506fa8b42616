import Foundation
import PowerSync
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(1))) struct ClosingTests {
    @Test(arguments: [true, false])
    func closingCanDeleteTheFilesAndElseKeepsThem(_ deleteDatabase: Bool) async throws {
        try await withTemporaryDirectory { directory in
            let path = directory.appendingPathComponent("a.db").path
            let database = PowerSyncDatabase(schema: testSchema, dbFilename: path, logger: DefaultLogger(writers: []))
            try await database.insertUser("Ada")
            _ = FileManager.default.createFile(atPath: path + "-journal", contents: nil)
            try await database.close(deleteDatabase: deleteDatabase)
            let files = try FileManager.default.contentsOfDirectory(atPath: directory.path)
            #expect(files.isEmpty == deleteDatabase)
        }
    }

    @Test
    func filesAreNotDeletedUnderAnotherInstanceWhichGoesOn() async throws {
        try await withTemporaryDirectory { directory in
            let path = directory.appendingPathComponent("a.db").path
            let logger = DefaultLogger(writers: [])
            let first = PowerSyncDatabase(schema: testSchema, dbFilename: path, logger: logger)
            let second = PowerSyncDatabase(schema: testSchema, dbFilename: path, logger: logger)
            try await first.insertUser("Ada")
            let error = await #expect(throws: PowerSyncError.self) { try await first.close(deleteDatabase: true) }
            #expect(error?.localizedDescription.contains("another instance of this process has it open") == true)
            // Nothing was closed.
            try await first.insertUser("Grace")
            #expect(try await second.count("users") == 2)

            try await first.close()
            await #expect(throws: PowerSyncError.self) { try await first.close(deleteDatabase: true) }
            try await second.insertUser("Barbara")
            try await second.close()
            // The writes are in the file.
            let third = PowerSyncDatabase(schema: testSchema, dbFilename: path, logger: logger)
            #expect(try await third.count("users") == 3)
            // Its group is another one than that of the first.
            await #expect(throws: PowerSyncError.self) { try await first.close(deleteDatabase: true) }
            try await third.close()
            try await first.close(deleteDatabase: true)
            #expect(try FileManager.default.contentsOfDirectory(atPath: directory.path).isEmpty)
        }
    }

    @Test
    func deletingADatabaseInMemorySucceeds() async throws {
        let database = PowerSyncDatabase(schema: testSchema, dbFilename: ":memory:", logger: DefaultLogger(writers: []))
        try await database.insertUser("Ada")
        try await database.close(deleteDatabase: true)
    }

    @Test
    func closingAgainDoesNothingAndEverythingElseThrows() async throws {
        let database = PowerSyncDatabase(schema: testSchema, dbFilename: ":memory:", logger: DefaultLogger(writers: []))
        try await database.close()
        try await database.close()
        let error = await #expect(throws: PowerSyncError.self) { try await database.execute("SELECT 1") }
        #expect(error?.localizedDescription.contains("closed") == true)
        await #expect(throws: PowerSyncError.self) { try await database.getCrudBatch() }
        await #expect(throws: PowerSyncError.self) { try await database.updateSchema(schema: testSchema) }
        await #expect(throws: PowerSyncError.self) { try await database.waitForFirstSync() }
    }

    @Test func closingWaitsForRunningCallbacks() async throws {
        try await withFileDatabase { database in
            let gate = Gate()
            let hasStarted = Counter()
            let isFinished = Shared(false)
            var changes = database.onChange(tables: ["users"]).makeAsyncIterator()
            #expect(try await changes.next() == [])
            // The stream has read which tables are virtual; a read that begins while the pool closes waits for the callback.
            try await database.insertUser("Ada")
            #expect(try await changes.next() == ["users"])
            let writing = Task {
                try await database.writeLock { context in
                    hasStarted.increment()
                    gate.wait()
                    let count = try context.execute(
                        sql: "INSERT INTO users (id, name) VALUES ('1', 'A')",
                        parameters: []
                    )
                    isFinished.value = true
                    return count
                }
            }
            await hasStarted.wait(for: 1)
            let closing = Task {
                try await database.close()
                return isFinished.value
            }
            // Closing has begun when streams end. If it did not wait, it would return now, before the callback goes on.
            while try await changes.next() != nil {}
            for _ in 0..<1_000 { await Task.yield() }
            gate.open()
            #expect(try await closing.value, "closing returns after the callback")
            _ = try await writing.value
        }
    }

    @Test
    func closingAgainWaitsForTheFirstCallAndDeletesNoFilesUnderACallback() async throws {
        try await withTemporaryDirectory { directory in
            let path = directory.appendingPathComponent("a.db").path
            let database = PowerSyncDatabase(schema: testSchema, dbFilename: path, logger: DefaultLogger(writers: []))
            let (gate, hasStarted, isFinished) = (Gate(), Counter(), Shared(false))
            var changes = database.onChange(tables: ["users"]).makeAsyncIterator()
            #expect(try await changes.next() == [])
            // The stream has read which tables are virtual; a read that begins while the pool closes waits for the callback.
            try await database.insertUser("Ada")
            #expect(try await changes.next() == ["users"])
            let writing = Task {
                try await database.writeLock { _ in
                    hasStarted.increment()
                    gate.wait()
                    isFinished.value = true
                }
            }
            await hasStarted.wait(for: 1)
            let first = Task { try await database.close() }
            // Closing has begun when streams end.
            while try await changes.next() != nil {}
            first.cancel()
            let second = Task {
                try await database.close(deleteDatabase: true)
                return isFinished.value
            }
            for _ in 0..<1_000 { await Task.yield() }
            #expect(FileManager.default.fileExists(atPath: path))
            gate.open()
            #expect(try await second.value, "closing returns after the callback")
            try await first.value
            try await writing.value
            #expect(try FileManager.default.contentsOfDirectory(atPath: directory.path).isEmpty)
        }
    }

    @Test
    func clearingWorksOnADatabaseThatWasNeverConnected() async throws {
        try await withMemoryDatabase { database in
            try await database.insertUser("Ada")
            try await database.disconnectAndClear()
            #expect(try await database.count("users") == 0)
            #expect(try await database.getNextCrudTransaction() == nil)
        }
    }

    @Test(arguments: [true, false])
    func clearingKeepsLocalOnlyTablesWhenAskedTo(_ clearLocal: Bool) async throws {
        let schema = Schema(Table(name: "drafts", columns: [.text("text")], localOnly: true))
        try await withMemoryDatabase(schema) { database in
            try await database.execute("INSERT INTO drafts (id, text) VALUES ('1', 'hello')")
            try await database.disconnectAndClear(clearLocal: clearLocal)
            #expect(try await database.count("drafts") == (clearLocal ? 0 : 1))
        }
    }

    @Test(arguments: [true, false])
    func softClearKeepsTheSyncedHistory(_ soft: Bool) async throws {
        try await withMemoryDatabase { database in
            try await database.execute("INSERT INTO ps_buckets (name, last_applied_op) VALUES ('lists', 10)")
            try await database.disconnectAndClear(soft: soft)
            #expect(try await database.count("ps_buckets") == (soft ? 1 : 0))
        }
    }
}

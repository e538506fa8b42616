import Foundation
import GRDB
import PowerSyncTesting
import TestSupport
import Testing

@testable import PowerSyncClient

/// Instances of one file are handles of it: they share what exists once per file, until the last one is gone.
@Suite(.timeLimit(.minutes(1))) struct DatabaseFileTests {
    private static let logger = DefaultLogger(writers: [])

    private func open(
        _ path: String,
        schema: PowerSyncClient.Schema = testSchema,
        initialStatements: [String] = [],
        logger: any LoggerProtocol = DatabaseFileTests.logger
    ) -> SyncedDatabase {
        SyncedDatabase(
            schema: schema,
            dbFilename: path,
            logger: logger,
            initialStatements: initialStatements,
            environment: .live
        )
    }

    private func withPath(_ body: (_ path: String) async throws -> Void) async throws {
        try await withTemporaryDirectory { try await body($0.appending(path: "test.db").path) }
    }

    private func hasColumn(_ name: String, _ database: SyncedDatabase) async throws -> Bool {
        try await database.get(
            sql: "SELECT count(*) FROM pragma_table_info('users') WHERE name = ?",
            parameters: [name]
        ) { try $0.getInt(index: 0) } == 1
    }

    // MARK: - What is shared

    @Test func handlesShareTheirConnections() async throws {
        try await withPath { path in
            let (first, second) = (open(path), open(path))
            #expect(try await first.local.writer() === second.local.writer())
            #expect(first.local.file === second.local.file)
            try await first.insertUser("Ada")
            #expect(try await second.count("users") == 1)
            try await first.close()
            try await second.close()
        }
    }

    @Test func aLinkToAFileIsThatFile() async throws {
        try await withTemporaryDirectory { directory in
            let (path, link) = (directory.appending(path: "a.db").path, directory.appending(path: "b.db").path)
            try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: path)
            let (first, second) = (open(path), open(link))
            #expect(first.local.file === second.local.file)
            try await first.close()
            try await second.close()
        }
    }

    @Test func aFileThatWasDeletedIsNotThatOfALaterDatabase() async throws {
        try await withTemporaryDirectory { directory in
            let path = directory.appending(path: "test.db").path
            let first = open(path)
            try await first.insertUser("Ada")
            for name in try FileManager.default.contentsOfDirectory(atPath: directory.path) {
                try FileManager.default.removeItem(at: directory.appending(path: name))
            }
            let second = open(path)
            #expect(first.local.file !== second.local.file)
            #expect(try await second.count("users") == 0)
            try await second.insertUser("Grace")
            try await second.insertUser("Alan")
            try await first.close()
            let third = open(path)
            #expect(third.local.file === second.local.file)
            #expect(try await third.count("users") == 2)
            try await second.close()
            try await third.close()
        }
    }

    @Test func eachDatabaseInMemoryIsItsOwn() async throws {
        let (first, second) = (open(":memory:"), open(":memory:"))
        try await first.insertUser("Ada")
        #expect(try await second.count("users") == 0)
        try await first.close()
        try await second.close()
    }

    @Test func poolsOfOneFileAreMembersOfOneOwner() async throws {
        try await withPath { path in
            let own = open(path)
            try await own.waitForReady()
            let pools = try (0..<2).map { _ in try DatabasePool(path: path) }
            let members = pools.map {
                SyncedDatabase(schema: testSchema, writer: $0, identifier: "app.db", logger: Self.logger)
            }
            for (member, pool) in zip(members, pools) {
                #expect(member.local.file === own.local.file)
                #expect(try await member.local.writer() === pool)
            }
            var counts = try own.watch("SELECT count(*) FROM users") { try $0.getInt(index: 0) }.makeAsyncIterator()
            #expect(try await counts.next() == [0])
            try await members[1].insertUser("Ada")
            while let count = try await counts.next(), count != [1] {}
            // The app's pool is closed with its handle, and no other.
            try await members[1].close()
            #expect(try await members[0].count("users") == 1)
            try await members[0].close()
            try await own.insertUser("Grace")
            try await own.close()
        }
    }

    @Test func aCommitOfAnotherHandleIsAnnouncedOnce() async throws {
        try await withPath { path in
            let (first, second) = (open(path), open(path))
            try await first.waitForReady()
            var results = try first.watch("SELECT name FROM users") { try $0.getString(index: 0) }.makeAsyncIterator()
            #expect(try await results.next() == [])
            for (name, names) in [("Ada", ["Ada"]), ("Bea", ["Ada", "Bea"])] {
                try await second.insertUser(name)
                #expect(try await results.next() == names)
            }
            try await first.close()
            try await second.close()
        }
    }

    @Test func groupOutlivesItsFirstMember() async throws {
        try await withPath { path in
            var first: SyncHarness? = SyncHarness(path: path)
            let second = SyncHarness(path: path)
            try await first?.database.close()
            first = nil

            let stream = try await second.connectAndAccept()
            let third = SyncHarness(path: path)
            #expect(third.log.messages(.warning).contains { $0.hasPrefix("Multiple PowerSync instances") })
            _ = try await third.connectAndAccept()
            #expect(stream.isClosed)
            #expect(!second.database.currentStatus.connected)
            try await second.database.close()
            #expect(third.database.currentStatus.connected)
            try await third.database.close()

            let alone = SyncHarness(path: path)
            #expect(alone.log.messages(.warning).isEmpty)
            try await alone.database.close()
        }
    }

    // MARK: - Schema and initial statements

    private static let otherSchema = PowerSyncClient.Schema(
        PowerSyncClient.Table(name: "users", columns: [.text("nick")])
    )

    @Test func theSchemaOfALaterHandleReplacesThatOfAllAtItsFirstUse() async throws {
        try await withPath { path in
            let log = RecordingLogger()
            let first = open(path)
            try await first.waitForReady()
            let second = open(path, schema: Self.otherSchema, logger: log)
            #expect(log.messages(.warning).contains { $0.contains("The schema of this one differs") })
            #expect(try await hasColumn("name", first))
            try await second.waitForReady()
            #expect(try await !hasColumn("name", first))
            #expect(try await hasColumn("nick", first))
            #expect(first.local.currentSchema == second.local.currentSchema)
            try await first.close()
            try await second.close()
        }
    }

    @Test func theFirstHandleKeepsTheSchemaThatALaterOneHasOpenedTheFileWith() async throws {
        try await withPath { path in
            let (first, second) = (open(path), open(path, schema: Self.otherSchema))
            try await second.waitForReady()
            #expect(try await hasColumn("nick", first))
            try await first.close()
            try await second.close()
        }
    }

    @Test func anEqualSchemaIsNotWarnedAbout() async throws {
        try await withPath { path in
            let log = RecordingLogger()
            let (first, second) = (open(path), open(path, logger: log))
            #expect(log.messages(.warning).count == 1)
            #expect(!log.messages(.warning).contains { $0.contains("differ") })
            try await first.close()
            try await second.close()
        }
    }

    /// Any first use may have to change the schema, also one that has its own turn in the order of such calls.
    @Test(arguments: [0, 1, 2])
    func aFirstUseMayClearOrReplaceTheSchemaItself(_ call: Int) async throws {
        try await withPath { path in
            let (first, second) = (open(path), open(path, schema: Self.otherSchema))
            try await first.insertUser("Ada")
            switch call {
            case 0: try await second.disconnectAndClear()
            case 1: try await second.updateSchema(schema: Self.otherSchema)
            default: _ = try await second.trackTableDiff(of: "users")
            }
            #expect(try await hasColumn("nick", first))
            #expect(try await first.count("users") == (call == 0 ? 0 : 1))
            try await first.close()
            try await second.close()
        }
    }

    @Test func anotherSchemaIsRefusedWhileTheFileIsConnected() async throws {
        try await withPath { path in
            let first = SyncHarness(path: path)
            _ = try await first.connectAndAccept()
            let second = open(path)
            for _ in 0..<2 {
                let error = await #expect(throws: PowerSyncError.self) { try await second.waitForReady() }
                #expect(error?.code == .connected)
            }
            try await first.insert("a")
            try await first.database.disconnect()
            try await second.insertUser("Ada")
            try await first.database.close()
            try await second.close()
        }
    }

    @Test
    func schemaCannotChangeWhileAnotherInstanceSyncs() async throws {
        try await withPath { path in
            let first = SyncHarness(path: path)
            let second = SyncHarness(path: path)
            _ = try await first.connectAndAccept()
            await #expect(throws: PowerSyncError.self) {
                try await second.database.updateSchema(schema: SyncHarness.schema)
            }
            try await first.database.disconnect()
            try await second.database.updateSchema(schema: SyncHarness.schema)
            try await first.database.close()
            try await second.database.close()
        }
    }

    @Test func otherInitialStatementsAreRefusedAtFirstUse() async throws {
        try await withPath { path in
            let log = RecordingLogger()
            let first = open(path, initialStatements: ["PRAGMA foreign_keys = ON"])
            let second = open(path, logger: log)
            #expect(log.messages(.warning).contains { $0.contains("The initialStatements of this one differ") })
            for _ in 0..<2 {
                let error = await #expect(throws: PowerSyncError.self) { try await second.waitForReady() }
                #expect(error?.code == .cannotOpen)
                #expect(error?.localizedDescription.contains("initialStatements") == true)
            }
            try await first.insertUser("Ada")
            try await second.close()
            #expect(try await first.count("users") == 1)
            try await first.close()
            // The statements were those of the file that was open.
            let third = open(path)
            #expect(try await third.count("users") == 1)
            try await third.close()
        }
    }

    // MARK: - Closing

    @Test func closingAHandleEndsItAndNoOther() async throws {
        try await withPath { path in
            let (first, second) = (open(path), open(path))
            var ended = try first.watch("SELECT count(*) FROM users") { try $0.getInt(index: 0) }.makeAsyncIterator()
            var goesOn = second.onChange(tables: ["users"], throttle: 0, triggerImmediately: true).makeAsyncIterator()
            #expect(try await ended.next() == [0])
            #expect(try await goesOn.next() == [])
            try await first.close()
            try await first.close()
            #expect(try await ended.next() == nil)
            let error = await #expect(throws: PowerSyncError.self) { try await first.count("users") }
            #expect(error?.code == .closed)
            try await second.insertUser("Ada")
            #expect(try await goesOn.next() == ["users"])
            try await second.close()
            await #expect(throws: PowerSyncError.self) { try await second.count("users") }
        }
    }

    @Test func closingAHandleWaitsForItsOwnCallbacksOnly() async throws {
        try await withPath { path in
            let handles = (0..<3).map { _ in open(path) }
            let (gates, started) = ([Gate(), Gate()], Counter())
            let isFinished = Shared(false)
            let reads = zip(handles, gates).map { handle, gate in
                Task {
                    try await handle.readLock { _ in
                        started.increment()
                        gate.wait()
                    }
                }
            }
            await started.wait(for: 2)
            let closing = Task {
                try await handles[0].close()
                return isFinished.value
            }
            // The third has no callback.
            try await handles[2].close()
            for _ in 0..<1_000 { await Task.yield() }
            isFinished.value = true
            gates[0].open()
            #expect(try await closing.value)
            gates[1].open()
            for read in reads { try await read.value }
            try await handles[1].close()
        }
    }

    @Test func aFileIsOpenedAnewAfterItsLastHandle() async throws {
        try await withPath { path in
            let first = open(path)
            try await first.insertUser("Ada")
            let file = first.local.file
            try await first.close()
            let log = RecordingLogger()
            let second = open(path, initialStatements: ["PRAGMA temp_store = MEMORY"], logger: log)
            #expect(second.local.file !== file)
            #expect(try await second.count("users") == 1)
            #expect(log.messages(.warning).isEmpty)
            await #expect(throws: PowerSyncError.self) { try await first.count("users") }
            try await second.close(deleteDatabase: true)
            #expect(!FileManager.default.fileExists(atPath: path))
        }
    }

    @Test func aHandleThatIsDroppedLeavesTheOthers() async throws {
        try await withPath { path in
            var first: SyncedDatabase? = open(path)
            let second = open(path)
            try await first?.insertUser("Ada")
            weak let dropped = first
            first = nil
            #expect(dropped == nil)
            #expect(try await second.count("users") == 1)
            #expect(!second.local.hasOthers)
            try await second.close(deleteDatabase: true)
        }
    }

    @Test func aHandleThatEndsRecordsNothingMore() async throws {
        try await withPath { path in
            let (first, second) = (open(path), open(path))
            let diffs = [try await first.trackTableDiff(of: "users"), try await second.trackTableDiff(of: "users")]
            #expect(diffs[0].number != diffs[1].number)
            try await first.close()
            let left = try await second.getAll("SELECT name FROM sqlite_temp_master WHERE name GLOB 'ps_diff_*'") {
                try $0.getString(index: 0)
            }
            // Temporary objects belong to the writer: a reader has none.
            #expect(left.isEmpty)
            let recording = try await second.local.writeWithoutTransaction { db in
                try String.fetchAll(db, sql: "SELECT name FROM sqlite_temp_master WHERE name GLOB 'ps_diff_*'")
            }
            #expect(!recording.isEmpty)
            #expect(recording.allSatisfy { $0.contains("_\(diffs[1].number)") })
            try await second.close()
        }
    }

    // MARK: - Opening

    @Test func handlesThatAreUsedAtOnceOpenTheFileOnce() async throws {
        try await withPath { path in
            let handles = (0..<10).map { _ in open(path) }
            let writers = try await withThrowingTaskGroup(of: ObjectIdentifier.self) { tasks in
                for handle in handles {
                    for _ in 0..<3 { tasks.addTask { ObjectIdentifier(try await handle.local.writer()) } }
                }
                return try await tasks.reduce(into: Set<ObjectIdentifier>()) { $0.insert($1) }
            }
            #expect(writers.count == 1)
            try await withThrowingTaskGroup { tasks in
                for handle in handles { tasks.addTask { try await handle.close() } }
                try await tasks.waitForAll()
            }
        }
    }

    @Test func anOpeningThatFailsIsTriedAgainByAnyHandle() async throws {
        try await withTemporaryDirectory { directory in
            let folder = directory.appending(path: "folder")
            // A file where a folder should be.
            try Data().write(to: folder)
            let path = folder.appending(path: "test.db").path
            let (first, second) = (open(path), open(path))
            for handle in [first, second] {
                await #expect(throws: PowerSyncError.self) { try await handle.waitForReady() }
            }
            try FileManager.default.removeItem(at: folder)
            try await second.insertUser("Ada")
            #expect(try await first.count("users") == 1)
            try await first.close()
            try await second.close()
        }
    }
}

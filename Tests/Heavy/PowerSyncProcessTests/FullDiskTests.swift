import Foundation
import LocalDatabaseWorker
import PowerSync
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(2))) struct FullDiskTests {
    /// The primary result code of a full disk.
    private static let full: Int32 = 13

    private func setLimit(_ database: any PowerSyncDatabaseProtocol, pages: String) async throws {
        try await database.writeLock { context in
            // The statement gives the limit that is now in force.
            _ = try context.get(sql: "PRAGMA max_page_count = \(pages)", parameters: []) { try $0.getInt(index: 0) }
        }
    }

    /// Makes the file unable to grow: the least limit that SQLite accepts is the present size.
    private func fill(_ database: any PowerSyncDatabaseProtocol) async throws {
        try await setLimit(database, pages: "1")
    }

    private func makeRoom(_ database: any PowerSyncDatabaseProtocol) async throws {
        try await setLimit(database, pages: "1000000")
    }

    private func expectFull(_ body: () async throws -> Void) async {
        let error = await #expect(throws: PowerSyncError.self) { try await body() }
        #expect(FullDiskTests.isFull(error))
    }

    private static func isFull(_ error: Any?) -> Bool {
        guard case .sqliteError(let code, _, _, _, _) = error as? PowerSyncError else { return false }
        return code & 0xff == full
    }

    private func withWorkerFile(
        _ body: (any PowerSyncDatabaseProtocol, WorkerFile) async throws -> Void
    ) async throws {
        try await withTemporaryDirectory { directory in
            let file = WorkerFile(path: directory.appending(path: "a.db").path)
            try await file.check { try await body($0, file) }
        }
    }

    private func write(_ numbers: ClosedRange<Int>, _ database: any PowerSyncDatabaseProtocol) async throws {
        for number in numbers {
            try await database.writeTransaction { try WorkerTransaction(number, worker: "w").run(in: $0) }
        }
    }

    @Test
    func inAWriteTransactionLosesThatTransactionOnly() async throws {
        try await withWorkerFile { database, file in
            try await write(1...9, database)
            try await fill(database)
            // Its 300 rows do not fit into pages that happen to be free.
            await expectFull { try await write(10...10, database) }
            try await file.checkWrites(database, acknowledged: ["w": 9])
            try await makeRoom(database)
            try await write(10...12, database)
            try await file.checkWrites(database, acknowledged: ["w": 12])
        }
    }

    @Test
    func whileTheSchemaChangesLeavesTheOldOne() async throws {
        try await withWorkerFile { database, file in
            try await write(1...9, database)
            let before = try file.objects()
            try await fill(database)
            // More than what fits where tables are dropped first.
            let large = Schema(
                tables: WorkerSchema.second.tables + (0..<100).map { Table(name: "large\($0)", columns: [.text("a")]) }
            )
            await expectFull { try await database.updateSchema(schema: large) }
            #expect(try file.objects() == before)
            try await file.checkWrites(database, acknowledged: ["w": 9])
            try await makeRoom(database)
            try await database.updateSchema(schema: WorkerSchema.second)
            #expect(try file.objects() != before)
        }
    }

    @Test
    func doesNotKeepAnAppFromClearing() async throws {
        try await withWorkerFile { database, file in
            try await write(1...9, database)
            try await fill(database)
            try await database.disconnectAndClear()
            try await file.checkWrites(database, acknowledged: [:])
            // There is room again.
            try await write(1...3, database)
            try await file.checkWrites(database, acknowledged: ["w": 3])
        }
    }

    @Test
    func whileClearingKeepsEverything() async throws {
        try await withWorkerFile { database, file in
            try await write(1...9, database)
            // A trigger of the app that needs room, which is the only way for deletions to need any.
            try await database.execute("CREATE TABLE archive (text)")
            try await database.execute(
                "CREATE TRIGGER keep AFTER DELETE ON ps_crud BEGIN INSERT INTO archive VALUES (zeroblob(5000)); END"
            )
            try await fill(database)
            await expectFull { try await database.disconnectAndClear() }
            try await file.checkWrites(database, acknowledged: ["w": 9])
            try await makeRoom(database)
            try await database.disconnectAndClear()
            try await file.checkWrites(database, acknowledged: [:])
        }
    }

    @Test
    func duringTheFirstOpeningIsAnErrorOfTheOperationAndTheNextOneMaySucceed() async throws {
        try await withTemporaryDirectory { directory in
            let path = directory.appending(path: "a.db").path
            let cramped = PowerSyncDatabase(
                schema: WorkerSchema.first,
                dbFilename: path,
                logger: DefaultLogger(writers: []),
                initialStatements: ["PRAGMA max_page_count = 40"]
            )
            await expectFull { try await cramped.waitForReady() }
            await expectFull { try await cramped.execute("INSERT INTO items (id) VALUES ('1')") }
            try await cramped.close()
            let file = WorkerFile(path: path)
            try await file.check { try await write(1...3, $0) }
        }
    }

    @Test(arguments: 0..<8)
    func thatFailsBelowSQLiteLosesNothingThatWasAcknowledged(round: UInt64) async throws {
        var random = SeededGenerator(seed: round)
        try await withTemporaryDirectory { directory in
            let file = WorkerFile(path: directory.appending(path: "a.db").path)
            try await file.check()
            var acknowledged: [String: Int] = [:]
            for name in ["a", "b"] {
                var task = WorkerTask(.write, path: file.path)
                task.name = name
                // Beyond what opening needs; not a multiple of a page.
                task.fileSizeLimit = 300_000 + UInt(random.number(below: 1_000_000))
                let worker = try WorkerProcess(argument: task.argument())
                let lines = await worker.remainingLines()
                let failure = try #require(lines.last)
                #expect(failure.hasPrefix(WorkerTask.Line.failed))
                let code = try #require(Int32(failure.dropFirst(WorkerTask.Line.failed.count)))
                #expect([FullDiskTests.full, 10].contains(code & 0xff), "code \(code)")
                #expect(await worker.waitForExit() == 0)
                acknowledged[name] = lines.compactMap(Int.init).last ?? 0
                try await file.check { try await file.checkWrites($0, acknowledged: acknowledged) }
            }
        }
    }
}

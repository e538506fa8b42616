import Foundation
import GRDB
import LocalDatabaseWorker
import PowerSyncCoreTestSupport
import PowerSyncProtocol
import PowerSyncTesting
import TestSupport
import Testing

@testable import PowerSyncClient

/// Commits of other processes and connections.
@Suite(.timeLimit(.minutes(2))) struct ExternalCommitsTests {
    private static func open(_ path: String) -> any PowerSyncDatabaseProtocol {
        PowerSyncDatabase(schema: WorkerSchema.first, dbFilename: path, logger: DefaultLogger(writers: []))
    }

    private func withDatabase(_ body: (any PowerSyncDatabaseProtocol, _ path: String) async throws -> Void) async throws
    {
        try await withTemporaryDirectory { directory in
            let path = directory.appending(path: "a.db").path
            let database = ExternalCommitsTests.open(path)
            try await database.waitForReady()
            try await body(database, path)
            try await database.close()
        }
    }

    /// SQLite compiles the statement anew by itself, and GRDB would go on asking about the tables of before.
    ///
    /// So it is prepared anew when the watch has other interests.
    @Test func aKeptStatementWritesToWhatAnotherInstanceHasMadeOfTheView() async throws {
        try await withTemporaryDirectory { directory in
            let path = directory.appending(path: "a.db").path
            let instances = [false, true].map { isLocalOnly in
                PowerSyncDatabase(
                    schema: Schema(Table(name: "todos", columns: [.text("title")], localOnly: isLocalOnly)),
                    dbFilename: path,
                    logger: DefaultLogger(writers: [])
                )
            }
            let insert = "INSERT INTO todos (id, title) VALUES (uuid(), 'a')"
            var counts = try instances[0].watch("SELECT count(*) FROM todos") { try $0.getInt(index: 0) }
                .makeAsyncIterator()
            try await instances[0].execute(insert)
            while let count = try await counts.next(), count != [1] {}
            // Rows of a synced table that is no longer declared wait until it is.
            try await instances[1].waitForReady()
            while let count = try await counts.next(), count != [0] {}
            try await instances[0].execute(insert)
            while let count = try await counts.next(), count != [1] {}
            for instance in instances { try await instance.close() }
        }
    }

    struct Shape: Sendable, CustomTestStringConvertible {
        let testDescription: String
        var sql: String { testDescription }
    }

    /// Each gives 1 when there is an item and an entry of the queue.
    static let shapes = [
        "SELECT count(*) > 0 FROM items",
        "SELECT count(*) > 0 FROM items a JOIN items b ON a.id = b.id",
        "SELECT (SELECT count(*) FROM items WHERE worker = 'w') > 0",
        "WITH a AS (SELECT * FROM items) SELECT count(*) > 0 FROM a",
        "SELECT count(*) > 0 FROM ps_crud",
        "SELECT count(*) > 0 FROM ps_data__items",
    ].map(Shape.init)

    @Test(arguments: shapes)
    func writeOfAnotherProcessWakesEveryShapeOfQuery(_ shape: Shape) async throws {
        try await withDatabase { database, path in
            var task = WorkerTask(.write, path: path)
            task.count = 1
            task.waits = true
            let worker = try WorkerProcess(argument: task.argument())
            try await worker.wait(for: WorkerTask.Line.open)
            var results = try database.watch(shape.sql) { try $0.getInt(index: 0) }.makeAsyncIterator()
            #expect(try await results.next() == [0])
            try worker.begin()
            while let result = try await results.next(), result != [1] {}
            #expect(await worker.waitForExit() == 0)
        }
    }

    @Test(arguments: shapes)
    func writeOfAPlainConnectionWakesEveryShapeOfQuery(_ shape: Shape) async throws {
        try await withDatabase { database, path in
            let pool = try DatabasePool(path: path)
            var results = try database.watch(shape.sql) { try $0.getInt(index: 0) }.makeAsyncIterator()
            #expect(try await results.next() == [0])
            try await pool.write { db in
                try db.execute(
                    sql: """
                        INSERT INTO ps_data__items (id, data) VALUES ('1', '{"worker":"w"}');
                        INSERT INTO ps_crud (tx_id, data) VALUES (1, '{}')
                        """
                )
            }
            while let result = try await results.next(), result != [1] {}
            try pool.close()
        }
    }

    @Test
    func whoOnlyListensToTablesHasTheDatabaseOpenedAndHearsOfOthers() async throws {
        try await withDatabase { database, path in
            try await database.close()
            let log = RecordingLogger()
            let listening = PowerSyncDatabase(schema: WorkerSchema.first, dbFilename: path, logger: log)
            let changes = listening.onChange(tables: ["items"], throttle: 0, triggerImmediately: false)
            let change = Task { try await changes.first { _ in true } }
            try await log.wait(for: .debug, containing: "Opened connection")
            let pool = try DatabasePool(path: path)
            try await pool.write { try $0.execute(sql: "INSERT INTO ps_data__items (id, data) VALUES ('1', '{}')") }
            #expect(try await change.value == ["items"])
            try pool.close()
            try await listening.close()
        }
    }

    @Test
    func everyWriteOfALongSeriesIsSeenInTheEnd() async throws {
        try await withDatabase { database, path in
            let pool = try DatabasePool(path: path)
            var results = try database.watch("SELECT count(*) FROM items") { try $0.getInt(index: 0) }
                .makeAsyncIterator()
            for number in 1...300 {
                try await pool.write {
                    try $0.execute(sql: "INSERT INTO ps_data__items (id, data) VALUES (?, '{}')", arguments: [number])
                }
            }
            while let result = try await results.next(), result != [300] {}
            try pool.close()
        }
    }

    @Test
    func writeOfAnotherProcessIsUploadedByTheOneThatIsConnected() async throws {
        try await withTemporaryDirectory { directory in
            let path = directory.appending(path: "a.db").path
            var task = WorkerTask(.write, path: path)
            task.count = 1
            task.waits = true
            let worker = try WorkerProcess(argument: task.argument())
            // Opened before: preparing the file is a commit as well, and begins a pass of its own.
            try await worker.wait(for: WorkerTask.Line.open)
            let service = ScriptedTransport()
            let database = service.makeDatabase(
                schema: WorkerSchema.first,
                dbFilename: path,
                clock: TestClock(),
                logger: DefaultLogger(writers: [])
            )
            let connector = ScriptedConnector()
            try await database.connect(connector: connector)
            try await service.nextStream().accept()
            let status = try #require(database.currentStatus as? LiveSyncStatus)
            try await status.wait { $0.connected }
            try worker.begin()
            try await connector.waitForUploads(1)
            try await service.nextWriteCheckpoint().respond(1)
            #expect(await worker.waitForExit() == 0)
            try await database.close()
        }
    }
    @Test
    func firstSyncOfOneProcessIsSeenByAnotherOneThatWaitsForIt() async throws {
        try await withTemporaryDirectory { directory in
            let path = directory.appending(path: "a.db").path
            let worker = try WorkerProcess(argument: WorkerTask(.waitForSync, path: path).argument())
            try await worker.wait(for: WorkerTask.Line.open)
            let harness = SyncHarness(path: path, schema: WorkerSchema.first)
            let stream = try await harness.connectAndAccept()
            stream.send(.checkpoint(1), .done)
            #expect(await worker.remainingLines() == [WorkerTask.Line.synced])
            #expect(await worker.waitForExit() == 0)
            try await harness.database.close()
        }
    }
}

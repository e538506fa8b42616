import Dispatch
import GRDB
import GRDBSQLite
import PowerSyncSQLite
import Testing

/// Accesses of tasks that are cancelled.
@Suite(.timeLimit(.minutes(1))) struct UncancelledAccessTests {
    private let queue: DatabaseQueue

    init() throws {
        queue = try DatabaseQueue()
        try queue.write { db in try db.execute(sql: "CREATE TABLE t (id INTEGER)") }
    }

    /// Tells when an access has begun, and lets it go on when the test says so.
    private final class Pause: Sendable {
        private let begun = AsyncStream.makeStream(of: Void.self)
        private let semaphore = DispatchSemaphore(value: 0)

        /// Waits, inside of the access.
        func wait() {
            begun.continuation.finish()
            semaphore.wait()
        }

        func cancel(_ task: Task<Int?, any Error>) async throws -> Int? {
            for await _ in begun.stream {}
            task.cancel()
            semaphore.signal()
            return try await task.value
        }
    }

    @Test func aWriteThatHasBegunIsCarriedOut() async throws {
        let pause = Pause()
        let task = Task { [queue] in
            try await queue.uncancelledWrite { db in
                pause.wait()
                try db.execute(sql: "INSERT INTO t VALUES (7)")
                return try Int.fetchOne(db, sql: "SELECT id FROM t")
            }
        }
        #expect(try await pause.cancel(task) == 7)
        #expect(try await queue.read { db in try Int.fetchOne(db, sql: "SELECT id FROM t") } == 7)
    }

    /// One that begins with a read could not wait for another writer of the file.
    @Test func aWriteHasTheLockOfTheWriterFromItsBeginning() async throws {
        let state = try await queue.uncancelledWrite { db in sqlite3_txn_state(db.sqliteConnection, "main") }
        #expect(state == SQLITE_TXN_WRITE)
    }

    @Test func aWriteWithoutTransactionThatHasBegunIsCarriedOut() async throws {
        let pause = Pause()
        let task = Task { [queue] in
            try await queue.uncancelledWriteWithoutTransaction { db in
                pause.wait()
                try db.execute(sql: "INSERT INTO t VALUES (7)")
                return try Int.fetchOne(db, sql: "SELECT id FROM t")
            }
        }
        #expect(try await pause.cancel(task) == 7)
    }

    @Test func aReadThatHasBegunIsCarriedOut() async throws {
        let pause = Pause()
        let task = Task { [queue] in
            try await queue.uncancelledRead { db in
                pause.wait()
                return try Int.fetchOne(db, sql: "SELECT 7")
            }
        }
        #expect(try await pause.cancel(task) == 7)
    }

    @Test func whoeverIsCancelledDoesNotBegin() async throws {
        let task = Task { [queue] in
            withUnsafeCurrentTask { $0?.cancel() }
            try await queue.uncancelledWrite { db in try db.execute(sql: "INSERT INTO t VALUES (7)") }
        }
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(try await queue.read { db in try Int.fetchOne(db, sql: "SELECT count(*) FROM t") } == 0)
    }

    @Test func whoeverIsCancelledWhileItWaitsDoesNotBegin() async throws {
        let (begun, goOn) = (AsyncStream.makeStream(of: Void.self), DispatchSemaphore(value: 0))
        let holder = Task { [queue] in
            try await queue.uncancelledWrite { _ in
                begun.continuation.finish()
                goOn.wait()
            }
        }
        for await _ in begun.stream {}
        let asked = AsyncStream.makeStream(of: Void.self)
        let waiting = Task { [queue] in
            try await DatabaseTurn<Void>.take { handler in
                queue.asyncWriteWithoutTransaction { db in handler(.success(db)) }
                asked.continuation.finish()
            } _: { db in
                try db.get().execute(sql: "INSERT INTO t VALUES (7)")
            }
        }
        // It waits for the connection now, and leaves before that is free.
        for await _ in asked.stream {}
        waiting.cancel()
        await #expect(throws: CancellationError.self) { try await waiting.value }
        goOn.signal()
        try await holder.value
        #expect(try await queue.read { db in try Int.fetchOne(db, sql: "SELECT count(*) FROM t") } == 0)
    }

    @Test func aWriteThatThrowsLeavesNothing() async throws {
        struct Failure: Error {}
        let updates: @Sendable (Database) throws -> Void = { db in
            try db.execute(sql: "INSERT INTO t VALUES (7)")
            throw Failure()
        }
        await #expect(throws: Failure.self) { try await queue.uncancelledWrite(updates) }
        #expect(try await queue.read { db in try Int.fetchOne(db, sql: "SELECT count(*) FROM t") } == 0)
    }
}

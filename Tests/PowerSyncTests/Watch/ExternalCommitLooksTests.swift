import Foundation
import GRDB
import LocalDatabaseWorker
import PowerSyncCore
import PowerSyncTesting
import TestSupport
import Testing

@testable import PowerSyncClient

/// When the version of a file is looked at.
@Suite(.timeLimit(.minutes(1))) struct ExternalCommitLooksTests {
    /// A database whose looks do not wait, unless a clock is given, and whose rounds of late looks are told.
    private func withLocalDatabase(
        clock: (any Clock<Duration>)? = nil,
        _ body: (_ database: LocalDatabase, _ path: String, _ lateRounds: AsyncStream<Void>) async throws -> Void
    ) async throws {
        try await withTemporaryDirectory { directory in
            let path = directory.appending(path: "a.db").path
            let (lateRounds, lateRound) = AsyncStream.makeStream(of: Void.self)
            let last = ExternalCommits.lateDelays.last ?? .zero
            let database = LocalDatabase(
                source: .location(.success(.file(path: path)), initialStatements: []),
                schema: Result { try ClientSchema(WorkerSchema.first) },
                logger: DefaultLogger(writers: []),
                clock: clock ?? TestClock { if $0 > last / 2 { lateRound.yield() } }
            )
            _ = try await database.writer()
            try await body(database, path, lateRounds)
            try await database.close()
        }
    }

    @Test func ownWritesAreNoNews() async throws {
        try await withLocalDatabase { database, _, lateRounds in
            var announcements = database.uploadQueueChanges().makeAsyncIterator()
            var rounds = lateRounds.makeAsyncIterator()
            for round in 0..<3 {
                // What does not concern the queue is told only if it is taken for a commit of somebody else.
                for number in 0..<50 {
                    try await database.write {
                        try $0.execute(
                            sql: "INSERT INTO ps_kv (key, value) VALUES (?, 1)",
                            arguments: ["\(round) \(number)"]
                        )
                    }
                }
                try await database.writeWithoutTransaction { db in
                    _ = try Row.fetchAll(db, sql: "PRAGMA wal_checkpoint(TRUNCATE)")
                }
                await rounds.next()
            }
            try await database.close()
            // An announcement would be kept.
            #expect(await announcements.next() == nil)
        }
    }

    @Test func writesOfOthersAreNews() async throws {
        // Looks without delay may all come before the commit is visible.
        try await withLocalDatabase(clock: ContinuousClock()) { database, path, _ in
            var announcements = database.uploadQueueChanges().makeAsyncIterator()
            let pool = try DatabasePool(path: path)
            for number in 0..<5 {
                try await pool.write {
                    try $0.execute(sql: "INSERT INTO ps_kv (key, value) VALUES (?, 1)", arguments: ["k\(number)"])
                }
                #expect(await announcements.next() != nil)
            }
            try pool.close()
        }
    }

    @Test func aWriteBetweenLateLooksIsLookedAtSoon() async throws {
        let clock = TestClock()
        try await withLocalDatabase(clock: clock) { database, path, _ in
            // What opening has written is looked at.
            try await clock.waitForTimer(of: ExternalCommits.delay)
            clock.advance(by: ExternalCommits.delay)
            try await clock.waitForTimer(of: ExternalCommits.lateDelays[0])
            var announcements = database.uploadQueueChanges().makeAsyncIterator()
            let pool = try DatabasePool(path: path)
            try await pool.write { try $0.execute(sql: "INSERT INTO ps_kv (key, value) VALUES ('k', 1)") }
            try await clock.waitForTimer(of: ExternalCommits.delay)
            clock.advance(by: ExternalCommits.delay)
            #expect(await announcements.next() != nil)
            try pool.close()
        }
    }

    @Test func closingEndsQueuedLooks() async throws {
        try await withLocalDatabase { database, path, _ in
            let gate = Gate()
            let hasStarted = Counter()
            let busy = Task {
                try await database.writeWithoutTransaction { _ in
                    hasStarted.increment()
                    gate.wait()
                }
            }
            await hasStarted.wait(for: 1)
            // One look waits for the writer now, however many writes follow.
            let pool = try DatabasePool(path: path)
            for number in 0..<100 {
                try await pool.write {
                    try $0.execute(sql: "INSERT INTO ps_kv (key, value) VALUES (?, 1)", arguments: ["k\(number)"])
                }
            }
            try pool.close()
            async let isClosed: Void = database.close()
            var announcements = database.uploadQueueChanges().makeAsyncIterator()
            while await announcements.next() != nil {}
            gate.open()
            try await busy.value
            try await isClosed
        }
    }

    @Test
    func commitThatBecomesVisibleAfterItWasWrittenIsSeen() async throws {
        try await withTemporaryDirectory { directory in
            let pool = try DatabasePool(path: directory.appending(path: "a.db").path)
            let other = try DatabasePool(path: pool.path)
            // The hint is in a file of its own: it comes before the commit.
            let log = directory.appending(path: "hint-wal")
            try Data().write(to: log)
            let tracker = ChangeTracker()
            let commits = try #require(
                ExternalCommits(
                    location: .file(path: directory.appending(path: "hint").path),
                    changes: tracker,
                    logger: DefaultLogger(writers: []),
                    clock: TestClock { delay in
                        guard delay > ExternalCommits.delay * 2 else { return }
                        try? other.write { try $0.execute(sql: "CREATE TABLE IF NOT EXISTS t (id)") }
                    }
                )
            )
            try await pool.writeWithoutTransaction { try commits.synchronize($0) }
            commits.start(pool)
            var announcements = tracker.uploadQueueChanges().makeAsyncIterator()
            try Data("hint".utf8).write(to: log)
            #expect(await announcements.next() != nil)
            commits.cancel()
            await commits.waitForEnd()
        }
    }

    @Test
    func withoutAWatchOfTheSystemTheVersionIsLookedAtEverySecondWhichIsTold() async throws {
        try await withTemporaryDirectory { directory in
            let pool = try DatabasePool(path: directory.appending(path: "a.db").path)
            let other = try DatabasePool(path: pool.path)
            let (tracker, log, clock) = (ChangeTracker(), RecordingLogger(), TestClock())
            let commits = try #require(
                ExternalCommits(location: .file(path: pool.path), changes: tracker, logger: log, clock: clock) { _, _ in
                    nil
                }
            )
            try await pool.writeWithoutTransaction { try commits.synchronize($0) }
            commits.start(pool)
            var announcements = tracker.uploadQueueChanges().makeAsyncIterator()
            for table in ["t", "u"] {
                try await other.write { try $0.execute(sql: "CREATE TABLE \(table) (id)") }
                try await clock.waitForTimer(of: ExternalCommits.blindDelay)
                clock.advance(by: ExternalCommits.blindDelay)
                #expect(await announcements.next() != nil)
            }
            #expect(log.messages(.warning).count == 1)
            commits.cancel()
            await commits.waitForEnd()
        }
    }

    @Test func memoryHasNoFile() {
        let commits = ExternalCommits(
            location: .memory,
            changes: ChangeTracker(),
            logger: DefaultLogger(writers: []),
            clock: ContinuousClock()
        )
        #expect(commits == nil)
    }
}

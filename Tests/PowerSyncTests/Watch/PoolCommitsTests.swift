import Foundation
import GRDB
import PowerSyncCore
import PowerSyncTesting
import TestSupport
import Testing

@testable import PowerSyncClient

/// What watches over connections of an app hear of.
@Suite(.timeLimit(.minutes(1))) struct PoolCommitsTests {
    private let clock = TestClock()

    /// A database over an app's pool, whose looks for commits of others happen when the test says so.
    private func withPool(
        _ body: (_ pool: PlainPool, _ database: LocalDatabase, _ path: String) async throws -> Void
    ) async throws {
        try await withTemporaryDirectory { directory in
            let path = directory.appending(path: "app.db").path
            let pool = PlainPool(path: path)
            let database = LocalDatabase(
                source: .pool(pool),
                schema: Result { try ClientSchema(testSchema) },
                logger: DefaultLogger(writers: []),
                clock: clock
            )
            _ = try await database.writer()
            // The file was written to while it was prepared.
            try await finishLooks()
            try await body(pool, database, path)
            try await database.close()
        }
    }

    /// Lets the look after a write happen, and the late ones.
    private func finishLooks() async throws {
        for delay in [ExternalCommits.delay] + ExternalCommits.lateDelays {
            try await clock.waitForTimer(of: delay)
            clock.advance(by: delay)
        }
    }

    private func insertUser(_ pool: PlainPool) async throws {
        _ = try await pool.write { lease in
            try lease.execute(sql: "INSERT INTO users (id, name) VALUES (hex(randomblob(8)), 'Ada')", parameters: [])
        }
    }

    @Test func watchesHearOfTheirTablesOnly() async throws {
        try await withTemporaryDirectory { directory in
            let pool = PlainPool(path: directory.appendingPathComponent("app.db").path)
            let database = OpenedPowerSyncDatabase(
                schema: testSchema,
                pool: pool,
                identifier: directory.path,
                logger: DefaultLogger(writers: [])
            )
            let options = WatchOptions(sql: "SELECT count(*) FROM users", throttle: 0) { try $0.getInt(index: 0) }
            var counts = try database.watch(options: options).makeAsyncIterator()
            #expect(try await counts.next() == [0])
            for count in 1...5 {
                try await database.execute("INSERT INTO tasks (id) VALUES (uuid())")
                _ = try await pool.write { lease in
                    try lease.execute(sql: "UPDATE tasks SET title = 'x'", parameters: [])
                }
                try await database.insertUser("Ada")
                #expect(try await counts.next() == [count])
            }
            try await database.close()
        }
    }

    @Test(arguments: [false, true])
    func commitsOfOthersAreNoticedBesideThoseOfThePoolAndOurOwn(_ isOurTurn: Bool) async throws {
        try await withPool { pool, database, path in
            let watch = TableWatch(database, views: ["users", "tasks"], throttle: .zero, triggerImmediately: false)
            let other = try DatabaseQueue(path: path)
            let write = { @Sendable in
                try other.write {
                    try $0.execute(sql: "INSERT INTO ps_data__tasks (id, data) VALUES (hex(randomblob(8)), '{}')")
                }
            }
            try await insertUser(pool)
            #expect(try await watch.next() == ["users"])
            if isOurTurn {
                try await database.writeWithoutTransaction { db in
                    try db.execute(sql: "INSERT INTO ps_kv (key, value) VALUES ('a', 1)")
                    try write()
                    try db.execute(sql: "INSERT INTO ps_kv (key, value) VALUES ('b', 1)")
                }
            } else {
                try write()
                try await database.write { try $0.execute(sql: "INSERT INTO ps_kv (key, value) VALUES ('a', 1)") }
            }
            try await finishLooks()
            #expect(try await watch.next() == ["users", "tasks"])
            try other.close()
        }
    }

    @Test
    func commitOfThePoolThatNamesNoTableMayBeAnything() async throws {
        try await withPool { pool, database, _ in
            let watch = TableWatch(database, views: ["users", "notes"], throttle: .zero, triggerImmediately: false)
            // Names arrive in order: after this, none are on their way.
            try await insertUser(pool)
            #expect(try await watch.next()?.contains("users") == true)
            try await finishLooks()
            _ = try await pool.write { try $0.execute(sql: "CREATE TABLE notes (id)", parameters: []) }
            // The system may have told of the write before once more, and looks for that one are left.
            try await clock.withoutDelays {
                while try await watch.next() != ["users", "notes"] {}
            }
        }
    }
}

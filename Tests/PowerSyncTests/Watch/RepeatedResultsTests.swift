import Foundation
import GRDB
import PowerSyncCore
import PowerSyncTesting
import Testing

@testable import PowerSyncClient

/// A watch emits a state of the database once.
///
/// After each thing that must not give an element comes a write that must, so that its element is the next one.
@Suite(.timeLimit(.minutes(1))) struct RepeatedResultsTests {
    private static let names = WatchOptions(sql: "SELECT name FROM users ORDER BY name", throttle: 0) {
        try $0.getString(name: "name")
    }

    /// The results of a watch, all of them, from a listener that may have heard something already.
    private func results(
        of database: LocalDatabase,
        _ listener: ChangeListener
    ) -> (results: AsyncStream<[String]>, task: Task<Void, any Error>) {
        let (results, result) = AsyncStream.makeStream(of: [String].self)
        let watch = QueryWatch(options: RepeatedResultsTests.names, database: database, listener: listener)
        return (results, Task { try await watch.run { result.yield($0) } })
    }

    private func insertUser(_ name: String, _ database: LocalDatabase) async throws {
        try await database.write {
            try $0.execute(sql: "INSERT INTO users (id, name) VALUES (uuid(), ?)", arguments: [name])
        }
    }

    private func withLocalDatabase(_ body: (LocalDatabase) async throws -> Void) async throws {
        try await withFileDatabase { database in
            let local = try #require(database as? SyncedDatabase).local
            _ = try await local.writer()
            try await body(local)
        }
    }

    enum Table: String, CaseIterable { case users, tasks }

    @Test(arguments: Table.allCases)
    func whatWasCommittedBeforeTheFirstResultIsInIt(_ table: Table) async throws {
        try await withLocalDatabase { database in
            let listener = ChangeListener()
            try await database.write { db in
                try db.execute(sql: "INSERT INTO \(table.rawValue) (id) VALUES ('1')")
                // In the open transaction, and before anything is known of the query.
                database.changes.add(listener)
                try db.execute(sql: "UPDATE \(table.rawValue) SET id = id")
            }
            try await database.write { try $0.execute(sql: "DELETE FROM \(table.rawValue)") }
            let (results, task) = results(of: database, listener)
            var iterator = results.makeAsyncIterator()
            #expect(await iterator.next() == [])
            try await insertUser("Ada", database)
            #expect(await iterator.next() == ["Ada"])
            task.cancel()
            _ = await task.result
        }
    }

    @Test
    func watchThatStartsBesideAWriteToAnotherTableEmitsItsFirstResultOnce() async throws {
        try await withFileDatabase { database in
            for round in 0..<20 {
                async let write: Int64 = database.execute("INSERT INTO tasks (id) VALUES (uuid())")
                let watch = try database.watch(options: RepeatedResultsTests.names)
                var results = watch.makeAsyncIterator()
                #expect(try await results.next()?.count == round)
                _ = try await write
                try await database.insertUser("user")
                #expect(try await results.next()?.count == round + 1)
            }
        }
    }

    @Test
    func commitAfterTheStateOfAResultGivesAnotherOneAlsoWhenTheResultIsTheSame() async throws {
        try await withFileDatabase { database in
            try await database.insertUser("Ada", id: "1")
            var results = try database.watch(options: RepeatedResultsTests.names).makeAsyncIterator()
            for _ in 0..<5 {
                #expect(try await results.next() == ["Ada"])
                try await database.execute("UPDATE users SET name = 'Ada'")
            }
            #expect(try await results.next() == ["Ada"])
        }
    }

    @Test
    func whenItIsNotKnownWhatHasChangedOnlyAnotherResultIsEmitted() async throws {
        try await withLocalDatabase { database in
            let (results, task) = results(of: database, ChangeListener())
            var iterator = results.makeAsyncIterator()
            #expect(await iterator.next() == [])
            for count in 1...5 {
                database.changes.announceAll()
                try await database.write { try $0.notifyChanges(in: .fullDatabase) }
                try await insertUser("user", database)
                #expect(await iterator.next()?.count == count)
            }
            task.cancel()
            _ = await task.result
        }
    }

    @Test
    func resultDiffersInAnyValueTypeRowOrName() async throws {
        let queries = [
            "SELECT 1 AS a", "SELECT 2 AS a", "SELECT 1.0 AS a", "SELECT '1' AS a", "SELECT x'31' AS a",
            "SELECT NULL AS a",
            "SELECT 1 AS b", "SELECT 1 AS a, 1 AS b", "SELECT 1 AS a UNION ALL SELECT 1", "SELECT 1 AS a WHERE 0",
            "SELECT '' AS a", "SELECT x'' AS a", "SELECT '1' AS a, '' AS b", "SELECT '' AS a, '1' AS b",
        ]
        try await withLocalDatabase { database in
            let digests = try await database.read { db in
                try queries.map { sql in
                    let statement = try db.makeStatement(sql: sql)
                    return try (0..<2).map { _ in
                        var digest = ResultDigest(statement)
                        let runner = StatementRunner(db: db, logger: DefaultLogger(writers: []))
                        _ = try runner.rows(of: statement, sql: sql) { _ in digest.addRow() }
                        return digest.finish()
                    }
                }
            }
            #expect(digests.allSatisfy { $0[0] == $0[1] })
            #expect(Set(digests.map { $0[0] }).count == queries.count)
        }
    }
}

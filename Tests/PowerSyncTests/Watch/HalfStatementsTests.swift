import GRDB
import GRDBSQLite
import PowerSyncCore
import Testing

@testable import PowerSyncClient

/// Statements outside transactions that end with an error, and what is left of them.
@Suite(.timeLimit(.minutes(1))) struct HalfStatementsTests {
    private struct Failure: Error {}

    /// The third row has no id, which the trigger of the view refuses with FAIL.
    private static let insert = """
        -- three rows
        INSERT INTO users (id, name) SELECT column1, 'n' FROM (VALUES ('1'), ('2'), (NULL))
        """
    private static let update = "/* all */ UPDATE users SET id = CASE name WHEN 'a' THEN id ELSE 'x' END, name = 'u'"
    private static let notes = "CREATE TABLE notes (id INTEGER PRIMARY KEY, text)"
    private static let returning = "INSERT INTO notes (text) VALUES ('a'), ('b') RETURNING id"

    /// The numbers of rows of a table that is empty now.
    private static func counts(
        of table: String,
        in database: any PowerSyncDatabaseProtocol
    ) async throws -> AsyncThrowingStream<[Int], any Error>.AsyncIterator {
        var counts = try database.watch("SELECT count(*) FROM \(table)") { try $0.getInt(index: 0) }.makeAsyncIterator()
        #expect(try await counts.next() == [0])
        return counts
    }

    @Test(arguments: [insert, update])
    func nothingIsLeftOfAStatementThatFails(_ sql: String) async throws {
        try await withFileDatabase { database in
            try await database.insertUser("a", id: "a")
            try await database.insertUser("b", id: "b")
            let before = try await database.count("ps_crud")
            await #expect(throws: PowerSyncError.self) { try await database.execute(sql) }
            let names = try await database.getAll("SELECT name FROM users ORDER BY id") { try $0.getString(index: 0) }
            #expect(names == ["a", "b"])
            #expect(try await database.count("ps_crud") == before)
        }
    }

    /// Counts the rows that GRDB tells of, when it does.
    private final class RowObserver: TransactionObserver {
        private let told: Shared<Int>

        init(told: Shared<Int>) {
            self.told = told
        }

        func observes(eventsOfKind eventKind: DatabaseEventKind) -> Bool { true }
        func databaseDidChange(with event: DatabaseEvent) { told.value += 1 }
        func databaseDidCommit(_ db: Database) {}
        func databaseDidRollback(_ db: Database) {}
    }

    /// GRDB must not keep them until the end: there may be millions.
    @Test func eachRowIsToldOfWhileAStatementRuns() async throws {
        try await withFileDatabase { database in
            try await database.execute(Self.notes)
            let told = Shared(0)
            try await database.writeLock { context in
                let db = try LocalConnection.database(of: context)
                db.add(transactionObserver: RowObserver(told: told), extent: .databaseLifetime)
                db.add(function: DatabaseFunction("told", argumentCount: 0) { _ in told.value })
            }
            try await database.execute("INSERT INTO notes (text) SELECT told() FROM (VALUES ('a'), ('b'), ('c'))")
            let numbers = try await database.getAll("SELECT text FROM notes ORDER BY id") { try $0.getInt(index: 0) }
            #expect(numbers == [0, 1, 2])
        }
    }

    /// A function of the app may write and so commit; `get` needs one row only, and leaves nothing untold.
    @Test func whatAFunctionHasCommittedIsToldWithItsRow() async throws {
        try await withFileDatabase { database in
            try await database.execute(Self.notes)
            let isTold = try await database.writeLock { context in
                let db = try LocalConnection.database(of: context)
                nonisolated(unsafe) let connection = db.sqliteConnection
                db.add(
                    function: DatabaseFunction("note", argumentCount: 0) { _ in
                        Int(sqlite3_exec(connection, "INSERT INTO notes (text) VALUES ('a')", nil, nil, nil))
                    }
                )
                #expect(try context.get(sql: "SELECT note()", parameters: []) { try $0.getInt(index: 0) } == 0)
                return !Announcements.hasUntoldCommit(db)
            }
            #expect(isTold)
            #expect(try await database.count("notes") == 1)
        }
    }

    @Test func aStatementMayEndItsTransactionItself() async throws {
        try await withFileDatabase { database in
            try await database.execute(Self.notes)
            try await database.execute("INSERT INTO notes (id) VALUES (1)")
            let error = await #expect(throws: PowerSyncError.self) {
                try await database.execute("INSERT OR ROLLBACK INTO notes (id) VALUES (2), (1)")
            }
            guard case .sqliteError(1555, _, _, _, _) = error else {
                Issue.record("expected a primary key constraint, not \(String(describing: error))")
                return
            }
            try await database.execute("INSERT INTO notes (id) VALUES (3)")
            #expect(try await database.count("notes") == 2)
        }
    }

    /// An app's database that runs every callback in a transaction, and commits whatever becomes of it.
    private struct TransactionalDatabase: ForwardingDatabase {
        let inner: any PowerSyncDatabaseProtocol

        func writeLock<R>(callback: @Sendable @escaping (any ConnectionContext) throws -> R) async throws -> R {
            try await inner.writeLock { context in
                try context.execute(sql: "BEGIN", parameters: [])
                let result = Result { try callback(context) }
                try context.execute(sql: "COMMIT", parameters: [])
                return try result.get()
            }
        }
    }

    @Test func aTransactionThatIsOpenGoesOnWithoutAStatementThatFails() async throws {
        try await withFileDatabase { inner in
            let database = TransactionalDatabase(inner: inner)
            try await database.insertUser("a", id: "a")
            await #expect(throws: PowerSyncError.self) { try await database.execute(Self.insert) }
            #expect(try await database.count("users") == 1)
        }
    }

    @Test(
        arguments: [
            "VACUUM", "PRAGMA synchronous = FULL", " ; PRAGMA journal_mode = WAL", "ATTACH ':memory:' AS other",
            "/* WITH */ ANALYZE",
        ]
    )
    func statementsThatCannotRunInATransactionAreLeftAlone(_ sql: String) async throws {
        try await withFileDatabase { database in _ = try await database.execute(sql) }
    }

    /// SQLite keeps what comes before the failure, so everybody has to hear of it.
    @Test func whatSQLiteKeepsIsNoticed() async throws {
        try await withFileDatabase { database in
            var counts = try await Self.counts(of: "users", in: database)
            await #expect(throws: PowerSyncError.self) {
                try await database.writeLock { try $0.execute(sql: Self.insert, parameters: []) }
            }
            // It must not take the news with it.
            await #expect(throws: Failure.self) { try await database.writeTransaction { _ in throw Failure() } }
            while let count = try await counts.next(), count != [2] {}
        }
    }

    /// The outer statement has not been committed yet, and must not be rolled back by what the inner one leads to.
    @Test func aStatementMayFailWhileTheRowsOfAnotherAreMapped() async throws {
        try await withFileDatabase { database in
            try await database.execute(Self.notes)
            var counts = try await Self.counts(of: "notes", in: database)
            let ids = try await database.writeLock { context in
                try context.getAll(sql: Self.returning, parameters: []) { row in
                    _ = try? context.execute(sql: "INSERT INTO notes (id) VALUES (1)", parameters: [])
                    _ = try? context.execute(sql: Self.insert, parameters: [])
                    return try row.getInt(index: 0)
                }
            }
            #expect(ids == [1, 2])
            while let count = try await counts.next(), count != [2] {}
            #expect(try await database.count("notes") == 2)
        }
    }

    @Test func whatAStatementWroteIsNoticedWhenItsRowsCannotBeMapped() async throws {
        try await withFileDatabase { database in
            try await database.execute(Self.notes)
            var counts = try await Self.counts(of: "notes", in: database)
            await #expect(throws: Failure.self) {
                try await database.writeLock {
                    try $0.getAll(sql: Self.returning, parameters: []) { _ in throw Failure() }
                }
            }
            await #expect(throws: Failure.self) { try await database.writeTransaction { _ in throw Failure() } }
            while let count = try await counts.next(), count != [2] {}
        }
    }
}

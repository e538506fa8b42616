import GRDB
import NIOConcurrencyHelpers
import PowerSyncSQLite
import Testing

@Suite struct TransactionTests {
    /// When there is no room left, SQLite rolls the transaction back by itself.
    @Test func whatWasLeftForTheEndOfATransactionIsOverWhenTheDiskIsFull() throws {
        let database = try DatabaseQueue()
        try database.writeWithoutTransaction { db in
            try db.execute(sql: "CREATE TABLE t (x)")
            let pages = try Int.fetchOne(db, sql: "PRAGMA page_count") ?? 0
            try db.execute(sql: "PRAGMA max_page_count = \(pages)")
            let ends = NIOLockedValueBox<[String]>([])
            let error = #expect(throws: DatabaseError.self) {
                try db.transaction(.immediate) { db in
                    db.afterNextTransaction { _ in
                        ends.withLockedValue { $0.append("commit") }
                    } onRollback: { _ in
                        ends.withLockedValue { $0.append("rollback") }
                    }
                    try db.execute(sql: "INSERT INTO t VALUES (zeroblob(100000))")
                }
            }
            #expect(error?.resultCode == .SQLITE_FULL)
            #expect(ends.withLockedValue(\.self) == ["rollback"])
            try db.transaction(.immediate) { db in try db.execute(sql: "INSERT INTO t VALUES (1)") }
            #expect(ends.withLockedValue(\.self) == ["rollback"])
        }
    }

    private struct Refusal: Error {}

    /// Counts the ends of transactions; may refuse commits.
    private final class Ends: TransactionObserver {
        private(set) var texts: [String] = []
        var refusesCommits = false

        func observes(eventsOfKind eventKind: DatabaseEventKind) -> Bool { true }
        func databaseDidChange(with event: DatabaseEvent) {}
        func databaseWillCommit() throws {
            if refusesCommits { throw Refusal() }
        }
        func databaseDidCommit(_ db: Database) { texts.append("commit") }
        func databaseDidRollback(_ db: Database) { texts.append("rollback") }
    }

    /// How a transaction fails.
    enum Failure: CaseIterable {
        case error, constraint, constraintAtTheEnd, refusedCommit, fullDisk, swallowedFullDisk
    }

    @Test(arguments: Failure.allCases) func observersAreToldOfARollbackOnce(_ failure: Failure) throws {
        let database = try DatabaseQueue()
        try database.writeWithoutTransaction { db in
            try db.execute(
                sql: """
                    CREATE TABLE t (id PRIMARY KEY, x);
                    CREATE TABLE child (t REFERENCES t DEFERRABLE INITIALLY DEFERRED);
                    INSERT INTO t VALUES (1, 1);
                    """
            )
            let pages = try Int.fetchOne(db, sql: "PRAGMA page_count") ?? 0
            try db.execute(sql: "PRAGMA max_page_count = \(pages)")
            let ends = Ends()
            db.add(transactionObserver: ends)
            ends.refusesCommits = failure == .refusedCommit
            #expect(throws: (any Error).self) {
                try db.transaction(.immediate) { db in
                    try db.execute(sql: "UPDATE t SET x = 2")
                    switch failure {
                    case .error: throw Refusal()
                    case .constraint: try db.execute(sql: "INSERT INTO t VALUES (1, 2)")
                    case .constraintAtTheEnd: try db.execute(sql: "INSERT INTO child VALUES (7)")
                    case .refusedCommit: break
                    case .fullDisk: try db.execute(sql: "INSERT INTO t VALUES (2, zeroblob(100000))")
                    case .swallowedFullDisk: try? db.execute(sql: "INSERT INTO t VALUES (2, zeroblob(100000))")
                    }
                }
            }
            #expect(ends.texts == ["rollback"])
            #expect(!db.isInsideTransaction)
            #expect(try Int.fetchOne(db, sql: "SELECT x FROM t") == 1)
            ends.refusesCommits = false
            try db.transaction(.immediate) { db in try db.execute(sql: "UPDATE t SET x = 3") }
            #expect(ends.texts == ["rollback", "commit"])
        }
    }
}

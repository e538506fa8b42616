import GRDB
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
            var (commits, rollbacks) = (0, 0)
            let error = #expect(throws: DatabaseError.self) {
                try db.transaction(.immediate) { db in
                    db.afterNextTransaction { _ in
                        commits += 1
                    } onRollback: { _ in
                        rollbacks += 1
                    }
                    try db.execute(sql: "INSERT INTO t VALUES (zeroblob(100000))")
                }
            }
            #expect(error?.resultCode == .SQLITE_FULL)
            #expect((commits, rollbacks) == (0, 1))
            try db.transaction(.immediate) { db in try db.execute(sql: "INSERT INTO t VALUES (1)") }
            #expect((commits, rollbacks) == (0, 1))
        }
    }
}

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
}

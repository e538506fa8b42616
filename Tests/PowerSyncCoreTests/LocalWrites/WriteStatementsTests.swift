import GRDB
import Testing

@testable import PowerSyncCore

/// How many statements a write through a view runs: each of them costs as much as a part of the write itself.
@Suite struct WriteStatementsTests {
    private let database: LocalTestDatabase

    init() throws {
        database = try LocalTestDatabase()
    }

    /// What SQLite runs for a statement in a transaction that has written a row before, without what triggers run as parts of it.
    private func statements(for sql: String) throws -> [String] {
        try database.queue.write { db in
            try db.execute(sql: "INSERT INTO items(id, col) VALUES ('first', 'x'), ('second', 'x')")
            return try db.statementsRun { try db.execute(sql: sql) }.filter { $0 != sql }
        }
    }

    private static let version = "PRAGMA main.schema_version"
    private static let entry = "INSERT INTO ps_crud(tx_id, data) VALUES (?1, ?2)"
    private static let mark = "INSERT OR IGNORE INTO ps_updated_rows(row_type, row_id) VALUES (?1, ?2)"

    @Test func anInsertRunsThree() throws {
        #expect(
            try statements(for: "INSERT INTO items(id, col) VALUES ('a', 'b')") == [
                Self.version, Self.entry, Self.mark,
            ]
        )
    }

    @Test func anUpdateRunsThree() throws {
        #expect(
            try statements(for: "UPDATE items SET col = 'b' WHERE id = 'first'")
                == [Self.version, Self.entry, Self.mark]
        )
    }

    @Test func aDeletionRunsTwo() throws {
        #expect(try statements(for: "DELETE FROM items WHERE id = 'first'") == [Self.entry, Self.mark])
    }

    @Test func eachRowOfAStatementRunsTheSame() throws {
        #expect(
            try statements(for: "UPDATE items SET col = 'b'")
                == [Self.version, Self.entry, Self.mark, Self.version, Self.entry, Self.mark]
        )
    }
}

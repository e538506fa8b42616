import GRDB
import PowerSyncCoreTestSupport
import Testing

@testable import PowerSyncCore

/// How many statements a write through a view runs within SQLite: what is more than the row, its entry and its mark is paid for
/// each row of an app's transaction.
@Suite struct LocalWriteStatementsTests {
    /// What the first write of a transaction does besides: the transaction's number, and the local write gate.
    private static let number = ["UPDATE ps_tx", "SELECT next_tx FROM ps_tx"]
    private static let gate = ["SELECT EXISTS (SELECT 1 FROM ps_kv"]
    /// Only the first write after a checkpoint.
    private static let closing = ["INSERT INTO ps_kv", "DELETE FROM ps_kv"]
    /// The entry and the mark, by the virtual table.
    private static let entry = ["INSERT INTO ps_crud(", "INSERT OR IGNORE INTO ps_updated_rows"]

    private static let insert = [
        "TRIGGER ps_view_insert_items", "SELECT CASE WHEN (NEW.id IS NULL)", "INSERT INTO \"ps_data__items\"",
        // Whether there are other unique keys than when they were read.
        "PRAGMA main.schema_version",
        "INSERT INTO powersync_crud(",
    ]
    private static let update = [
        "TRIGGER ps_view_update_items", "SELECT CASE WHEN (OLD.id != NEW.id)", "UPDATE \"ps_data__items\"",
        "PRAGMA main.schema_version", "INSERT INTO powersync_crud(",
    ]
    private static let delete = [
        "TRIGGER ps_view_delete_items", "DELETE FROM \"ps_data__items\"", "INSERT INTO powersync_crud(",
    ]

    /// The statements that run within one statement of the app.
    private func inner(_ sql: String, in db: Database) throws -> [String] {
        let texts = try db.textsTraced { try db.execute(sql: sql) }
        #expect(texts.first == sql)
        return texts.dropFirst().map { text in
            #expect(text.hasPrefix("-- "), "\(text)")
            return String(text.dropFirst(3))
        }
    }

    private func expect(
        _ texts: [String],
        _ beginnings: [String],
        sourceLocation: SourceLocation = #_sourceLocation
    ) {
        #expect(texts.count == beginnings.count, "\(texts)", sourceLocation: sourceLocation)
        for (text, beginning) in zip(texts, beginnings) {
            #expect(text.hasPrefix(beginning), sourceLocation: sourceLocation)
        }
    }

    /// A database whose keys are known, with a row `old` and a closed gate.
    private func database() throws -> LocalTestDatabase {
        let database = try LocalTestDatabase()
        try database.write("INSERT INTO items(id, col) VALUES ('old', 'one')")
        return database
    }

    @Test func writesInATransactionOfTheirOwn() throws {
        let database = try database()
        let cases = [
            ("INSERT INTO items(id, col) VALUES ('new', 'one')", Self.insert),
            ("UPDATE items SET col = 'two' WHERE id = 'new'", Self.update),
            ("DELETE FROM items WHERE id = 'new'", Self.delete),
        ]
        for (write, expected) in cases {
            let texts = try database.queue.write { try inner(write, in: $0) }
            expect(texts, Self.number + expected + Self.entry + Self.gate)
        }
    }

    @Test func firstWriteClosesTheGate() throws {
        let database = try database()
        try database.write("DELETE FROM ps_kv WHERE key = 'target_checkpoint_request_id'")
        let texts = try database.queue.write {
            try inner("INSERT INTO items(id, col) VALUES ('new', 'one')", in: $0)
        }
        expect(texts, Self.number + Self.insert + Self.entry + Self.gate + Self.closing)
    }

    @Test func everyFurtherWriteOfATransaction() throws {
        let database = try database()
        try database.queue.write { db in
            try db.execute(sql: "INSERT INTO items(id, col) VALUES ('0', 'one')")
            for id in 1..<10_000 {
                let texts = try inner("INSERT INTO items(id, col) VALUES ('\(id)', 'one')", in: db)
                guard texts.count == (Self.insert + Self.entry).count else {
                    return expect(texts, Self.insert + Self.entry)
                }
            }
            expect(try inner("INSERT INTO items(id, col) VALUES ('last', 'one')", in: db), Self.insert + Self.entry)
            expect(try inner("UPDATE items SET col = 'two' WHERE id = '1'", in: db), Self.update + Self.entry)
            expect(try inner("DELETE FROM items WHERE id = '1'", in: db), Self.delete + Self.entry)
        }
    }

    @Test func rowsOfOneStatementShareNothingButIt() throws {
        let database = try database()
        let texts = try database.queue.write {
            try inner("INSERT INTO items(id, col) VALUES ('a', 'one'), ('b', 'one')", in: $0)
        }
        let row = Self.insert + Self.entry
        expect(texts, Self.number + row + Self.gate + row)
    }

    @Test func localOnlyTablesStoreTheRow() throws {
        let database = try LocalTestDatabase(.items(isLocalOnly: true))
        let texts = try database.queue.write {
            try inner("INSERT INTO items(id, col) VALUES ('a', 'one')", in: $0)
        }
        expect(
            texts,
            ["TRIGGER ps_view_insert_items", "INSERT INTO \"ps_data_local__items\"", "SELECT powersync_changed("]
        )
    }

    @Test func insertOnlyTablesAddAnEntry() throws {
        let database = try LocalTestDatabase(.items(isInsertOnly: true))
        let texts = try database.queue.write {
            try inner("INSERT INTO items(id, col) VALUES ('a', 'one')", in: $0)
        }
        expect(
            texts,
            Self.number + [
                "TRIGGER ps_view_insert_items", "SELECT CASE WHEN (NEW.id IS NULL)", "INSERT INTO powersync_crud_(",
                "INSERT INTO ps_crud(", "SELECT powersync_changed(",
            ]
        )
    }
}

import Foundation
import PowerSync
import Testing

/// What *Moving from the established SDK* says of SQL on views.
@Suite struct ViewFactTests {
    @Test func viewsAreNotTablesInTheCatalog() async throws {
        try await withMemoryDatabase { database async throws in
            func names(_ types: String) async throws -> [String] {
                try await database.getAll("SELECT name FROM sqlite_master WHERE type IN (\(types))") {
                    try $0.getString(index: 0)
                }
            }
            let tables = try await names("'table'")
            #expect(!tables.contains("users"))
            let all = try await names("'table', 'view'")
            #expect(all.contains("users"))
        }
    }

    @Test func triggerThatExistsKeepsItsText() async throws {
        try await withMemoryDatabase { database async throws in
            try await database.execute("CREATE TABLE log (what)")
            for text in ["old", "new"] {
                try await database.execute(
                    """
                    CREATE TRIGGER IF NOT EXISTS t AFTER INSERT ON ps_data__users
                    BEGIN INSERT INTO log VALUES ('\(text)'); END
                    """
                )
            }
            try await database.execute("INSERT INTO users (id) VALUES ('1')")
            #expect(try await database.getAll("SELECT what FROM log") { try $0.getString(index: 0) } == ["old"])
        }
    }

    @Test func pragmaReachesTheWriterOnly() async throws {
        try await withFileDatabase { database async throws in
            try await database.execute("PRAGMA case_sensitive_like = ON")
            @Sendable func isLike(_ context: any ConnectionContext) throws -> Int {
                try context.get(sql: "SELECT 'a' LIKE 'A'", parameters: []) { try $0.getInt(index: 0) }
            }
            let (written, read) = (
                try await database.writeLock { try isLike($0) }, try await database.readLock { try isLike($0) }
            )
            #expect(written == 0)
            #expect(read == 1)
        }
    }

    @Test(.timeLimit(.minutes(1)))
    func waitingWritesCanBeCountedByAWatch() async throws {
        try await withFileDatabase { database async throws in
            let counts = try database.watch("SELECT count(*) FROM ps_crud") { try $0.getInt(index: 0) }
            var iterator = counts.makeAsyncIterator()
            #expect(try await iterator.next() == [0])
            try await database.execute("INSERT INTO users (id) VALUES ('1'), ('2')")
            #expect(try await iterator.next() == [2])
            try await database.getNextCrudTransaction()?.complete()
            #expect(try await iterator.next() == [0])
        }
    }

    @Test func bucketsHaveNoTarget() async throws {
        try await withMemoryDatabase { database async throws in
            let columns = try await database.getAll("SELECT name FROM pragma_table_info('ps_buckets')") {
                try $0.getString(index: 0)
            }
            #expect(!columns.contains("target_op"))
        }
    }
}

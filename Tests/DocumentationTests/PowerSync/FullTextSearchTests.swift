import PowerSync
import PowerSyncTesting
import Testing

func indexNotes(_ database: any PowerSyncDatabaseProtocol) async throws {
    try await database.writeTransaction { transaction in
        let isThere = try transaction.get(
            sql: "SELECT EXISTS (SELECT 1 FROM sqlite_master WHERE name = 'notes_fts')",
            parameters: []
        ) { try $0.getBoolean(index: 0) }
        guard !isThere else { return }
        for sql in [
            "CREATE VIRTUAL TABLE notes_fts USING fts5(id UNINDEXED, title, body)",
            """
            INSERT INTO notes_fts (rowid, id, title, body)
            SELECT rowid, id, data ->> 'title', data ->> 'body' FROM ps_data__notes
            """,
            """
            CREATE TRIGGER notes_fts_insert AFTER INSERT ON ps_data__notes BEGIN
                DELETE FROM notes_fts WHERE rowid = NEW.rowid;
                INSERT INTO notes_fts (rowid, id, title, body)
                VALUES (NEW.rowid, NEW.id, NEW.data ->> 'title', NEW.data ->> 'body');
            END
            """,
            """
            CREATE TRIGGER notes_fts_update AFTER UPDATE ON ps_data__notes BEGIN
                UPDATE notes_fts SET title = NEW.data ->> 'title', body = NEW.data ->> 'body' WHERE rowid = NEW.rowid;
            END
            """,
            """
            CREATE TRIGGER notes_fts_delete AFTER DELETE ON ps_data__notes BEGIN
                DELETE FROM notes_fts WHERE rowid = OLD.rowid;
            END
            """,
        ] {
            try transaction.execute(sql: sql, parameters: [])
        }
    }
}

func findNotes(
    _ database: any PowerSyncDatabaseProtocol,
    words: String
) throws -> AsyncThrowingStream<[String], any Error> {
    let found = try database.watch(
        sql: """
            SELECT notes.id FROM notes_fts JOIN ps_data__notes AS notes ON notes.rowid = notes_fts.rowid
            WHERE notes_fts MATCH ? ORDER BY notes_fts.rank
            """,
        parameters: [words],
        mapper: { try $0.getString(index: 0) }
    )
    return found
}

/// The recipe of the page "Full-text search" finds what is there, whoever has written it.
@Suite(.timeLimit(.minutes(1))) struct FullTextSearchTests {
    private static let schema = Schema(Table(name: "notes", columns: [.text("title"), .text("body")]))
    private static let config = """
        config: {edition: 3}
        streams:
          all:
            auto_subscribe: true
            query: SELECT * FROM notes
        """

    private func makeTable() -> Table {
        let notes = Table(
            name: "notes",
            columns: [.text("title"), .text("body")],
            indexes: [.fullText(columns: ["title", "body"])]
        )
        return notes
    }

    @Test func declaredIndexFindsRowsOfTheServiceAndOfTheApp() async throws {
        let service = try FakeService(streams: Self.config)
        try service.put("notes", ["id": "a", "title": "t", "body": "alpha"])
        let database = PowerSyncDatabase(
            schema: Schema(makeTable()),
            dbFilename: ":memory:",
            logger: DefaultLogger(writers: [])
        )
        try await database.connect(connector: service.connector(user: "u"), options: nil)
        try await service.waitUntilSynced(database)
        let sql =
            "SELECT notes.id FROM notes_fts JOIN notes ON notes.id = notes_fts.id WHERE notes_fts MATCH 'alpha' ORDER BY notes.id"
        var found = try database.watch(sql) { try $0.getString(index: 0) }.makeAsyncIterator()
        #expect(try await found.next() == ["a"])
        try await database.execute("INSERT INTO notes (id, body) VALUES ('b', 'alpha')")
        while let ids = try await found.next(), ids != ["a", "b"] {}
        try service.put("notes", ["id": "a", "title": "t", "body": "beta"])
        while let ids = try await found.next(), ids != ["b"] {}
        try await database.close()
    }

    /// What the index has, after the check of its consistency that FTS5 itself makes.
    private func indexed(_ database: any PowerSyncDatabaseProtocol) async throws -> [String] {
        try await database.execute("INSERT INTO notes_fts (notes_fts) VALUES ('integrity-check')")
        return try await database.getAll("SELECT id || ' ' || body FROM notes_fts ORDER BY id") {
            try $0.getString(index: 0)
        }
    }

    @Test func localWritesAreFound() async throws {
        let database = PowerSyncDatabase(
            schema: Self.schema,
            dbFilename: ":memory:",
            logger: DefaultLogger(writers: [])
        )
        try await database.execute("INSERT INTO notes (id, body) VALUES ('a', 'alpha')")
        try await indexNotes(database)
        try await indexNotes(database)
        var found = try findNotes(database, words: "alpha").makeAsyncIterator()
        #expect(try await found.next() == ["a"])
        try await database.execute("INSERT INTO notes (id, body) VALUES ('b', 'alpha alpha')")
        while let ids = try await found.next(), ids != ["b", "a"] {}
        try await database.execute("UPDATE notes SET body = 'beta' WHERE id = 'b'")
        while let ids = try await found.next(), ids != ["a"] {}
        try await database.execute("DELETE FROM notes WHERE id = 'a'")
        while let ids = try await found.next(), ids != [] {}
        #expect(try await indexed(database) == ["b beta"])
        try await database.disconnectAndClear()
        #expect(try await indexed(database) == [])
        try await database.close()
    }

    /// REPLACE runs no DELETE trigger, and a later row gets the number of one that was deleted.
    @Test func replacedRowsAreFoundByTheirNewWords() async throws {
        let database = PowerSyncDatabase(
            schema: Self.schema,
            dbFilename: ":memory:",
            logger: DefaultLogger(writers: [])
        )
        try await indexNotes(database)
        try await database.execute("INSERT INTO notes (id, body) VALUES ('a', 'alpha'), ('b', 'alpha')")
        try await database.execute("INSERT OR REPLACE INTO notes (id, body) VALUES ('b', 'beta')")
        var found = try findNotes(database, words: "alpha").makeAsyncIterator()
        #expect(try await found.next() == ["a"])
        try await database.execute("DELETE FROM notes WHERE id = 'b'")
        try await database.execute("INSERT INTO notes (id, body) VALUES ('c', 'gamma')")
        try await database.execute("INSERT INTO notes (id, body) VALUES ('d', 'alpha')")
        while let ids = try await found.next(), ids != ["a", "d"] {}
        try await database.close()
    }

    @Test func rowsOfTheServiceAreFound() async throws {
        let service = try FakeService(streams: Self.config)
        try service.put("notes", ["id": "a", "title": "t", "body": "alpha"])
        try service.put("notes", ["id": "b", "title": "t", "body": "gamma"])
        let database = PowerSyncDatabase(
            schema: Self.schema,
            dbFilename: ":memory:",
            logger: DefaultLogger(writers: [])
        )
        try await indexNotes(database)
        try await database.connect(connector: service.connector(user: "u"), options: nil)
        try await service.waitUntilSynced(database)
        var found = try findNotes(database, words: "alpha").makeAsyncIterator()
        #expect(try await found.next() == ["a"])
        try service.put("notes", ["id": "a", "title": "t", "body": "beta"])
        try service.put("notes", ["id": "b", "title": "t", "body": "alpha"])
        while let ids = try await found.next(), ids != ["b"] {}
        #expect(try await indexed(database) == ["a beta", "b alpha"])
        try service.delete("notes", "b")
        while let ids = try await found.next(), ids != [] {}
        #expect(try await indexed(database) == ["a beta"])
        // A write of the user that the service repeats.
        try await database.execute("UPDATE notes SET body = 'alpha' WHERE id = 'a'")
        while let ids = try await found.next(), ids != ["a"] {}
        try await service.waitUntilSynced(database)
        #expect(try await indexed(database) == ["a alpha"])
        try await database.close()
    }
}

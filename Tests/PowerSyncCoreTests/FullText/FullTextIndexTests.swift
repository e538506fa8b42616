import GRDB
import PowerSyncCoreTestSupport
import PowerSyncProtocol
import Testing

@testable import PowerSyncCore

/// Indexes of words over views and direct tables (docs/database.md "Full-text indexes").
@Suite struct FullTextIndexTests {
    /// The kinds of table.
    enum Kind: String, CaseIterable {
        case view
        case direct
        case localView
        case localDirect

        func table(_ columns: String...) -> ClientTable {
            var table = ClientTable.items(
                [ClientColumn(name: "title", type: .text), ClientColumn(name: "n", type: .integer)],
                isLocalOnly: self == .localView || self == .localDirect
            )
            table.isDirect = self == .direct || self == .localDirect
            table.fullTextIndexes = [FullTextIndex(name: "fts", columns: columns.isEmpty ? ["title"] : columns)]
            return table
        }

        var isSynced: Bool { self == .view || self == .direct }
    }

    /// The ids of the rows that are found, and the index is consistent with itself.
    private func found(_ words: String, _ database: LocalTestDatabase) throws -> [String] {
        try database.write("INSERT INTO items_fts (items_fts) VALUES ('integrity-check')")
        return try database.rows(
            """
            SELECT items.id FROM items_fts JOIN items ON items.id = items_fts.id
            WHERE items_fts MATCH '\(words)' ORDER BY items.id
            """
        )
    }

    /// That the index has exactly the words of the rows.
    private func expectExact(_ database: LocalTestDatabase) throws {
        let words =
            "SELECT items_fts.id, items_fts.title FROM items_fts JOIN items_fts_rows AS r ON r.number = items_fts.rowid AND r.id = items_fts.id"
        #expect(try database.rows("\(words) ORDER BY 1") == database.rows("SELECT id, title FROM items ORDER BY 1"))
        #expect(
            try database.integer("SELECT count(*) FROM items_fts") == database.integer("SELECT count(*) FROM items")
        )
    }

    @Test(arguments: Kind.allCases) func localWritesAreFound(_ kind: Kind) throws {
        let database = try LocalTestDatabase(kind.table())
        try database.write("INSERT INTO items (id, title) VALUES ('a', 'red apple'), ('b', 'green apple'), ('c', NULL)")
        #expect(try found("apple", database) == ["a", "b"])
        try database.write("UPDATE items SET title = 'red pear' WHERE id = 'a'; UPDATE items SET n = 1")
        #expect(try found("apple", database) == ["b"])
        try database.write("INSERT OR REPLACE INTO items (id, title) VALUES ('b', 'plum'), ('d', 'pear')")
        try database.write("INSERT OR IGNORE INTO items (id, title) VALUES ('b', 'pear')")
        #expect(try found("pear", database) == ["a", "d"])
        try database.write("DELETE FROM items WHERE id = 'a'")
        #expect(try found("pear", database) == ["d"])
        try expectExact(database)
    }

    @Test(arguments: Kind.allCases.filter(\.isSynced)) func syncedRowsAreFound(_ kind: Kind) throws {
        let scenario = try SyncScenario.started(.oneByOne, kind.table())
        try scenario.receive(
            .checkpoint(2, [.bucket("a")]),
            .ops("a", .put(1, "1", data: #"{"title":"red"}"#), .put(2, "2", data: #"{"title":"green"}"#)),
            .done
        )
        #expect(try found("red", scenario.database) == ["1"])
        try scenario.receive(
            .diff(4),
            .ops("a", .put(3, "1", data: #"{"title":"blue"}"#), .remove(4, "2")),
            .done
        )
        #expect(try found("red OR green", scenario.database) == [])
        #expect(try found("blue", scenario.database) == ["1"])
        try expectExact(scenario.database)
        try scenario.database.queue.write { try LocalData.clear($0, []) }
        #expect(try scenario.database.integer("SELECT count(*) FROM items_fts") == 0)
    }

    /// As another implementation publishes: replacing rows, for which SQLite fires no trigger of a deletion.
    @Test(arguments: Kind.allCases.filter(\.isSynced)) func rowsThatAnotherImplementationWritesAreFound(
        _ kind: Kind
    ) throws {
        let database = try LocalTestDatabase(kind.table())
        for rows in [["1": "red", "2": nil], ["1": "blue"]] as [[String: String?]] {
            try database.queue.write { db in
                try Publishing.whilePublishing(db) {
                    for (id, title) in rows {
                        let sql =
                            kind == .view
                            ? "REPLACE INTO ps_data__items (id, data) VALUES (?, json_object('title', ?))"
                            : "REPLACE INTO items (id, title) VALUES (?, ?)"
                        try db.execute(sql: sql, arguments: [id, title])
                    }
                }
            }
        }
        #expect(try database.entries().isEmpty)
        #expect(try found("red", database) == [])
        #expect(try found("blue", database) == ["1"])
        try expectExact(database)
    }

    /// A unique key besides `id`, by which a write can remove another row than its own.
    enum UniqueColumn: CaseIterable { case declared, indexOfTheApp, partialIndexOfTheApp }

    /// SQLite fires no trigger for a row that it removes.
    @Test(arguments: Kind.allCases, UniqueColumn.allCases)
    func rowsThatAWriteRemovesByAnotherKeyAreNotFound(_ kind: Kind, _ unique: UniqueColumn) throws {
        var table = kind.table()
        let isDirect = table.isDirect
        guard isDirect || unique != .declared else { return }
        if unique == .declared { table.columns[1].constraints = ["UNIQUE"] }
        let database = try LocalTestDatabase(table)
        if unique != .declared {
            let place = isDirect ? "items (n)" : "\(table.internalName) (data ->> 'n')"
            // In a condition, columns may be named with their table.
            let condition = isDirect ? "items.n > 0" : "\(table.internalName).data ->> 'n' > 0"
            let isPartial = unique == .partialIndexOfTheApp
            try database.run("CREATE UNIQUE INDEX mine ON \(place)\(isPartial ? " WHERE \(condition)" : "")")
            // The triggers are those of the keys that there are.
            try database.apply(table)
        }
        let version = try database.schemaVersion()
        try database.apply(table)
        #expect(try database.schemaVersion() == version)
        try database.write(
            "INSERT INTO items (id, title, n) VALUES ('a', 'red', 1), ('b', 'green', 2), ('c', 'blue', 3), ('d', 'grey', NULL)"
        )
        for (sql, ids) in [
            ("INSERT OR REPLACE INTO items (id, title, n) VALUES ('e', 'yellow', 1)", "b c d e"),
            ("INSERT OR IGNORE INTO items (id, title, n) VALUES ('f', 'black', 2)", "b c d e"),
            // The words of the row that is written stay as they are.
            ("UPDATE OR REPLACE items SET n = 3 WHERE id = 'b'", "b d e"),
            ("UPDATE OR IGNORE items SET n = 3 WHERE id = 'e'", "b d e"),
            ("DELETE FROM items WHERE id = 'b'", "d e"),
            ("INSERT OR REPLACE INTO items (id, title, n) VALUES ('g', 'white', 1), ('h', 'black', 1)", "d h"),
            ("INSERT OR REPLACE INTO items (id, title, n) VALUES ('h', 'brown', 7), ('d', 'violet', 7)", "d"),
            ("INSERT OR IGNORE INTO items (id, title, n) VALUES ('i', 'black', 7)", "d"),
            ("DELETE FROM items", ""), ("INSERT INTO items (id, title) VALUES ('k', 'black')", "k"),
        ] {
            try database.write(sql)
            #expect(try database.rows("SELECT id FROM items ORDER BY id").joined(separator: " ") == ids, "\(sql)")
            #expect(
                try found("red OR green OR blue OR grey OR yellow OR white OR black OR brown OR violet", database)
                    .joined(separator: " ") == ids,
                "\(sql)"
            )
            try expectExact(database)
        }
        try database.write("INSERT INTO items (id, title, n) VALUES ('l', 'red', 7)")
        #expect(throws: DatabaseError.self) { try database.write("INSERT INTO items (id, n) VALUES ('m', 7)") }
        try expectExact(database)
        // Nothing is left of the notes.
        #expect(try database.rows("SELECT min(number) > 0, count(*) FROM items_fts_rows") == ["1|2"])
        table.columns[1].constraints = []
        if unique != .declared { try database.run("DROP INDEX mine") }
        try database.apply(table)
        try expectExact(database)
        #expect(try database.integer("SELECT count(*) FROM sqlite_master WHERE name GLOB 'fts_powersync_*'") == 3)
    }

    /// Another implementation writes so, for it the table is a raw one.
    @Test func rowsThatAnUpsertRemovesNowhereAreFound() throws {
        var table = Kind.direct.table()
        table.columns[1].constraints = ["UNIQUE"]
        let database = try LocalTestDatabase(table)
        let upsert = { (values: String) in
            try database.write(
                """
                INSERT INTO items (id, title, n) VALUES \(values)
                ON CONFLICT (id) DO UPDATE SET title = excluded.title, n = excluded.n
                """
            )
        }
        try upsert("('a', 'red', 1), ('b', 'green', 2)")
        try upsert("('a', 'blue', 1), ('b', 'grey', 3), ('c', 'white', 2)")
        #expect(try found("blue OR grey OR white", database) == ["a", "b", "c"])
        try database.write(
            "INSERT INTO items (id, title, n) VALUES ('d', 'red', 2) ON CONFLICT (n) DO UPDATE SET title = 'black'"
        )
        #expect(try found("black", database) == ["c"])
        #expect(try found("red OR green OR white", database) == [])
        try expectExact(database)
    }

    @Test(arguments: Kind.allCases) func rowNumbersThatChangeDoNotMatter(_ kind: Kind) throws {
        let database = try LocalTestDatabase(kind.table())
        try database.write("INSERT INTO items (id, title) VALUES ('a', 'red'), ('b', 'green'), ('c', 'blue')")
        try database.write("DELETE FROM items WHERE id = 'a'")
        try database.run("VACUUM")
        try database.write("UPDATE items SET title = 'black' WHERE id = 'c'")
        #expect(try found("blue", database) == [])
        #expect(try found("black", database) == ["c"])
        try expectExact(database)
    }

    @Test(arguments: Kind.allCases, Kind.allCases) func indexFollowsTheSchema(_ first: Kind, _ second: Kind) throws {
        guard first.isSynced == second.isSynced else { return }
        var table = first.table()
        table.fullTextIndexes = []
        let database = try LocalTestDatabase(table)
        try database.write("INSERT INTO items (id, title, n) VALUES ('a', 'red', 7)")
        try database.apply(first.table())
        let version = try database.schemaVersion()
        try database.apply(first.table())
        #expect(try database.schemaVersion() == version)
        try expectExact(database)
        try database.apply(second.table("title", "n"))
        #expect(try found("7", database) == ["a"])
        try database.write("UPDATE items SET n = 8")
        #expect(try found("8", database) == ["a"])
        try expectExact(database)
        table = second.table()
        table.fullTextIndexes = []
        try database.apply(table)
        #expect(try database.rows("SELECT name FROM sqlite_master WHERE name GLOB '*fts*'").isEmpty)
        #expect(try ClientSchema(json: ClientSchema(tables: [first.table()]).json.text).tables == [first.table()])
    }

    @Test func tokenizerIsDeclared() throws {
        var table = Kind.view.table()
        table.fullTextIndexes = [FullTextIndex(name: "fts", columns: ["title"], tokenizer: "trigram")]
        let database = try LocalTestDatabase(table)
        try database.write("INSERT INTO items (id, title) VALUES ('a', 'pineapple')")
        #expect(try found("apple", database) == ["a"])
    }

    @Test(arguments: Kind.allCases.filter(\.isSynced)) func whatAnotherImplementationDropsIsMadeAgain(
        _ kind: Kind
    ) throws {
        let database = try LocalTestDatabase(kind.table())
        try database.write("INSERT INTO items (id, title) VALUES ('a', 'red')")
        let table = kind == .view ? "ps_data__items" : "items"
        let sql = try #require(try database.texts("SELECT sql FROM sqlite_master WHERE name = '\(table)'").first ?? nil)
        try database.run("DROP TABLE \(table)")
        try database.run(sql)
        let row = kind == .view ? #"VALUES ('b', '{"title":"blue"}')"# : "(id, title) VALUES ('b', 'blue')"
        try database.run("INSERT INTO \(table) \(row)")
        try database.apply(kind.table())
        #expect(try found("red OR blue", database) == ["b"])
        try expectExact(database)
    }

    @Test(arguments: [[], ["id"], ["Rank"], ["rowid"], ["items_fts"], ["title", "TITLE"]] as [[String]])
    func columnsThatFTS5DoesNotTakeAreRefused(_ columns: [String]) throws {
        var table = Kind.view.table()
        table.fullTextIndexes[0].columns = columns
        let error = #expect(throws: LocalDatabaseError.self) { try LocalTestDatabase(table) }
        #expect(error.map { "\($0)" }?.contains("full-text index 'fts' of table 'items'") == true)
    }

    @Test(arguments: ["items_fts", "items_fts_rows", "Items_fts_data"]) func nameThatIsTakenIsRefused(
        _ name: String
    ) throws {
        let other = ClientTable(name: name, columns: [])
        let error = #expect(throws: LocalDatabaseError.self) {
            try LocalTestDatabase(schema: ClientSchema(tables: [other, Kind.view.table()]))
        }
        #expect(error.map { "\($0)" }?.contains("full-text index") == true)
    }
}

import GRDB
import PowerSyncCoreTestSupport
import PowerSyncProtocol
import PowerSyncSQLite
import TestSupport
import Testing

@testable import PowerSyncCore

/// What conflict clauses remove or ignore is what the upload queue says: a server that applies the queue has the rows of the
/// device, and the device has those of a plain table.
@Suite struct ConflictClauseTests {
    /// A kind of table, with its twin in a database without PowerSync; rows have `id`, `name` and `n`.
    struct Kind: CustomTestStringConvertible, Sendable {
        let testDescription: String
        /// The columns of the plain table after `id`, and of a raw table.
        var columns = "name TEXT, n INTEGER"
        /// Indexes on `name` and `n`, which are expressions over JSON in a data table.
        var indexes: [String] = []
        var isRaw = false
        /// The columns of a direct table.
        var direct: [ClientColumn] = []
        var takesUpserts: Bool { isRaw || !direct.isEmpty }
    }

    static let kinds = [
        Kind(testDescription: "view"),
        Kind(testDescription: "view with a unique index", indexes: ["CREATE UNIQUE INDEX u ON TABLE (name)"]),
        Kind(
            testDescription: "view with unique indexes over expressions",
            indexes: [
                "CREATE UNIQUE INDEX u ON TABLE (lower(name) COLLATE NOCASE DESC, n /* , ( */) WHERE n > 1 -- )",
                #"CREATE UNIQUE INDEX "on ((" ON TABLE (name, (n + 1) ASC) where name != 'a,)''('"#,
            ]
        ),
        Kind(testDescription: "raw", isRaw: true),
        Kind(testDescription: "raw with a unique column", columns: "name TEXT UNIQUE, n INTEGER", isRaw: true),
        Kind(
            testDescription: "raw with ON CONFLICT REPLACE",
            columns: "name TEXT UNIQUE ON CONFLICT REPLACE, n INTEGER",
            isRaw: true
        ),
        Kind(
            testDescription: "raw with ON CONFLICT IGNORE",
            columns: "name TEXT COLLATE NOCASE UNIQUE ON CONFLICT IGNORE, n INTEGER",
            isRaw: true
        ),
        Kind(
            testDescription: "raw with several keys",
            columns:
                "name TEXT NOT NULL DEFAULT x, n INTEGER, g TEXT AS (name || n) STORED, UNIQUE (name), UNIQUE (g)",
            indexes: ["CREATE UNIQUE INDEX u ON TABLE (lower(name), n % 2) WHERE n > 2"],
            isRaw: true
        ),
        direct("direct", name: []),
        direct("direct with a unique column", name: ["UNIQUE"]),
        direct("direct with ON CONFLICT REPLACE", name: ["UNIQUE ON CONFLICT REPLACE"]),
        direct("direct with ON CONFLICT IGNORE", name: ["COLLATE NOCASE", "UNIQUE ON CONFLICT IGNORE"]),
        direct(
            "direct with several keys",
            name: ["NOT NULL DEFAULT x", "UNIQUE"],
            rest: [ClientColumn(name: "g", type: .text, constraints: ["AS (name || n) STORED", "UNIQUE"])],
            indexes: ["CREATE UNIQUE INDEX u ON TABLE (lower(name), n % 2) WHERE n > 2"]
        ),
    ]

    private static func direct(
        _ description: String,
        name: [String],
        rest: [ClientColumn] = [],
        indexes: [String] = []
    ) -> Kind {
        let columns = [
            ClientColumn(name: "name", type: .text, constraints: name), ClientColumn(name: "n", type: .integer),
        ]
        let texts = (columns + rest).map { ([$0.name, $0.type.rawValue] + $0.constraints).joined(separator: " ") }
        return Kind(
            testDescription: description,
            columns: texts.joined(separator: ", "),
            indexes: indexes,
            direct: columns + rest
        )
    }

    private static let conflictClauses = ["", "OR REPLACE", "OR IGNORE", "OR FAIL", "OR ABORT", "OR ROLLBACK"]

    private static let inserted = [
        "('a', 'q', 9)", "('e', 'x', 9)", "('b', 'x', 9)", "('a', 'x', 1)", "('e', 'e', 9)", "('e', 'X', 2)",
        "('e', 'e', 1), ('f', 'x', 2), ('g', 'y', 3), ('h', 'h', 4)", "('e', 'p', 5), ('f', 'p', 5)", "('e', NULL, 7)",
    ]

    /// With `+id`, rows are taken in their order in the table: with `id`, SQLite takes those of a view by id, and those of a table
    /// under OR REPLACE by rowid, so that another one of two rows remains.
    private static let updates = [
        "n = n + 1", "name = 'x' WHERE id = 'b'", "name = 'w'", "name = 'x', n = 3 WHERE +id IN ('b', 'c')",
        "name = NULL WHERE id != 'a'", "name = upper(name), n = 5", "name = name",
    ]

    private static let upserts = [
        "('a', 'q', 9) ON CONFLICT (id) DO UPDATE SET name = excluded.name, n = excluded.n",
        "('e', 'x', 9) ON CONFLICT DO NOTHING", "('a', 'y', 9) ON CONFLICT (id) DO UPDATE SET name = excluded.name",
    ]

    static let statements: [String] =
        conflictClauses.flatMap { clause in
            inserted.map { "INSERT \(clause) INTO items (id, name, n) VALUES \($0)" }
                + updates.map { "UPDATE \(clause) items SET \($0)" }
                + upserts.map { "INSERT \(clause) INTO items (id, name, n) VALUES \($0)" }
        } + [
            "REPLACE INTO items (id, name) SELECT 'z', name FROM items ORDER BY name, id",
            "DELETE FROM items WHERE n > 1",
        ]

    @Test(arguments: kinds, [false, true])
    func oneStatement(_ kind: Kind, withTriggers: Bool) throws {
        for statement in Self.statements.one(in: 2) {
            let device = try Device(kind, withTriggers: withTriggers)
            try device.run([statement])
            try device.check(statement)
        }
    }

    @Test(arguments: kinds)
    func manyStatements(_ kind: Kind) throws {
        let seed = UInt64.random(in: 0...UInt64.max)
        var random = SeededGenerator(seed: seed)
        for _ in 0..<15 {
            let device = try Device(kind, withTriggers: .random(using: &random))
            var history: [String] = []
            for _ in 0..<8 {
                // Of several in one transaction, one that rolls back would leave the others outside of one.
                let statements = (0..<Int.random(in: 1...3, using: &random)).compactMap { _ in
                    Self.statements.filter { !$0.contains("ROLLBACK") }.randomElement(using: &random)
                }
                history += statements
                try device.run(statements)
            }
            try device.check("seed \(seed): \(history)")
        }
    }

    /// The views of the app's triggers, and other connections' sync, do not hear of what is published.
    @Test(arguments: kinds.filter(\.takesUpserts))
    func publishedRowsAreNotRecorded(_ kind: Kind) throws {
        let device = try Device(kind, withTriggers: false)
        try device.local.queue.write { db in
            try Publishing.whilePublishing(db) {
                try db.execute(sql: "INSERT OR REPLACE INTO items (id, name, n) VALUES ('e', 'x', 9), ('f', 'y', 3)")
            }
        }
        #expect(try device.local.entries().isEmpty)
        try device.local.write("UPDATE items SET n = 8 WHERE id = 'c'")
        #expect(try device.local.texts("SELECT data ->> 'op' FROM ps_crud") == ["PATCH"])
    }

    @Test func removedRowsComeFirstWithTheirPreviousValues() throws {
        let previous = PreviousValues(columns: ["name"])
        let columns = [ClientColumn(name: "name", type: .text), ClientColumn(name: "n", type: .integer)]
        let view = try LocalTestDatabase(.items(columns, trackPreviousValues: previous))
        try view.write("CREATE UNIQUE INDEX u ON ps_data__items (json_extract(data, '$.name'))")
        let raw = try LocalTestDatabase(schema: ClientSchema())
        try raw.write("CREATE TABLE items (id TEXT PRIMARY KEY, name TEXT UNIQUE, n)")
        try Device.createTriggers(raw, ClientTableOptions(trackPreviousValues: previous))
        var direct = ClientTable.items(columns, trackPreviousValues: previous)
        direct.columns[0].constraints = ["UNIQUE"]
        direct.isDirect = true
        for database in [view, raw, try LocalTestDatabase(direct)] {
            try database.write("INSERT INTO items (id, name, n) VALUES ('a', 'x', 1), ('b', 'y', 2)")
            try database.write("DELETE FROM ps_crud; DELETE FROM ps_updated_rows; DELETE FROM ps_kv")
            try database.write("INSERT OR REPLACE INTO items (id, name, n) VALUES ('c', 'x', 3)")
            try database.write("UPDATE OR REPLACE items SET name = 'x' WHERE id = 'b'")
            #expect(
                try database.entries() == [
                    #"{"op":"DELETE","id":"a","type":"items","old":{"name":"x"}}"#,
                    #"{"op":"PUT","id":"c","type":"items","data":{"n":3,"name":"x"}}"#,
                    #"{"op":"DELETE","id":"c","type":"items","old":{"name":"x"}}"#,
                    #"{"op":"PATCH","id":"b","type":"items","data":{"name":"x"},"old":{"name":"y"}}"#,
                ]
            )
            #expect(try database.rows("SELECT row_id FROM ps_updated_rows ORDER BY 1") == ["a", "b", "c"])
            #expect(try database.queue.read { try !LocalWriteGate.isOpen($0) })
        }
    }

    /// Such a write is noticed when the transaction ends, since no trigger follows it.
    @Test func keyOfAColumnThatIsNotSynced() throws {
        let database = try LocalTestDatabase(schema: ClientSchema())
        try database.write("CREATE TABLE items (id TEXT PRIMARY KEY, name TEXT, place INTEGER UNIQUE)")
        try Device.createTriggers(database, ClientTableOptions(), syncedColumns: ["name"])
        try database.write("INSERT INTO items VALUES ('a', 'x', 1), ('b', 'y', 2); DELETE FROM ps_crud")
        try database.write("UPDATE OR REPLACE items SET place = 1 WHERE id = 'b'")
        #expect(try database.entries() == [#"{"op":"DELETE","id":"a","type":"items"}"#])
    }

    @Test func indexThatIsMadeOrDroppedInATransaction() throws {
        let database = try LocalTestDatabase()
        try database.write("INSERT INTO items (id, col) VALUES ('a', 'x')")
        let index = "CREATE UNIQUE INDEX u ON ps_data__items (json_extract(data, '$.col'))"
        try database.queue.write { db in
            try db.inSavepoint {
                try db.execute(sql: "\(index); INSERT OR REPLACE INTO items (id, col) VALUES ('b', 'x')")
                return .rollback
            }
            try db.execute(sql: "INSERT OR REPLACE INTO items (id, col) VALUES ('c', 'x')")
        }
        try database.write("\(index.replacing("UNIQUE", with: "")); DELETE FROM items WHERE id = 'a'; DROP INDEX u")
        try database.write("DELETE FROM ps_crud; \(index); INSERT OR REPLACE INTO items (id, col) VALUES ('d', 'x')")
        #expect(try database.texts("SELECT data ->> 'op' || (data ->> 'id') FROM ps_crud") == ["DELETEc", "PUTd"])
    }

    /// A row of a statement that fails was never there for the service.
    @Test func whatIsUndoneIsNotRecorded() throws {
        let database = try LocalTestDatabase()
        try database.write("CREATE UNIQUE INDEX u ON ps_data__items (json_extract(data, '$.col'))")
        try database.queue.write { db in
            #expect(throws: DatabaseError.self) {
                try db.execute(sql: "INSERT INTO items (id, col) VALUES ('b', 'x'), ('a', 'x')")
            }
            try db.execute(sql: "SAVEPOINT s; INSERT INTO items (id, col) VALUES ('c', 'y')")
            try db.execute(sql: "INSERT OR IGNORE INTO items (id, col) VALUES ('d', 'y'); ROLLBACK TO s; RELEASE s")
            try db.execute(sql: "INSERT INTO items (id, col) VALUES ('e', 'x')")
        }
        #expect(try database.texts("SELECT data ->> 'op' || (data ->> 'id') FROM ps_crud") == ["PUTe"])
    }

    @Test
    func replaceByAnotherCaseIsNoEmptyUpdateWhateverTheCollation() throws {
        let database = try LocalTestDatabase(schema: ClientSchema())
        try database.write(
            "CREATE TABLE items (id TEXT COLLATE NOCASE PRIMARY KEY, name TEXT COLLATE NOCASE UNIQUE, n INTEGER)"
        )
        try Device.createTriggers(database, ClientTableOptions(ignoresEmptyUpdates: true))
        try database.write("INSERT INTO items (id, name) VALUES ('a', 'bob'); DELETE FROM ps_crud")
        try database.write("INSERT OR REPLACE INTO items (id, name) VALUES ('a', 'BOB')")
        #expect(try database.texts("SELECT data ->> '$.data.name' FROM ps_crud") == ["BOB"])
    }

    @Test(arguments: ["view", "raw", "direct"])
    func identicalREPLACEIsAnEmptyUpdate(_ kind: String) throws {
        let columns = [ClientColumn(name: "name", type: .text), ClientColumn(name: "n", type: .integer)]
        let database: LocalTestDatabase
        if kind == "raw" {
            database = try LocalTestDatabase(schema: ClientSchema())
            try database.write("CREATE TABLE items (id TEXT PRIMARY KEY, name TEXT, n INTEGER)")
            try Device.createTriggers(database, ClientTableOptions(ignoresEmptyUpdates: true))
        } else {
            var table = ClientTable.items(columns, ignoresEmptyUpdates: true)
            table.isDirect = kind == "direct"
            database = try LocalTestDatabase(table)
        }
        try database.write(
            "INSERT INTO items (id, name, n) VALUES ('a', 'x', NULL), ('b', 'y', 2); DELETE FROM ps_crud"
        )
        try database.write("REPLACE INTO items (id, name) VALUES ('a', 'x')")
        try database.write("INSERT OR IGNORE INTO items (id, name) VALUES ('a', 'x')")
        #expect(try database.entries().isEmpty)
        try database.write(
            """
            INSERT OR IGNORE INTO items (id, name) VALUES ('a', 'x'); DELETE FROM items WHERE id = 'a';
            INSERT INTO items (id, name) VALUES ('a', 'x'); REPLACE INTO items (id, name) VALUES ('b', 'y')
            """
        )
        let operations = try database.texts("SELECT data ->> 'op' || (data ->> 'id') FROM ps_crud ORDER BY id")
        #expect(operations == ["DELETEa", "PUTa", "PUTb"])
    }

    /// Triggers that refuse a row without an error.
    @Test func whatATriggerIgnoresIsNotRecorded() throws {
        let database = try LocalTestDatabase()
        try database.write("INSERT INTO items (id, col) VALUES ('a', 'x'), ('b', 'x'); DELETE FROM ps_crud")
        for event in ["INSERT", "UPDATE", "DELETE"] {
            let row = event == "INSERT" ? "NEW" : "OLD"
            try database.write(
                """
                CREATE TRIGGER no_\(event) BEFORE \(event) ON ps_data__items WHEN \(row).id IN ('a', 'c')
                BEGIN SELECT RAISE(IGNORE); END
                """
            )
        }
        try database.write("INSERT INTO items (id) VALUES ('c'), ('d')")
        try database.write("UPDATE items SET col = 'y' WHERE id < 'c'; DELETE FROM items WHERE id < 'c'")
        let operations = try database.texts("SELECT data ->> 'op' || (data ->> 'id') FROM ps_crud ORDER BY id")
        #expect(operations == ["PUTd", "PATCHb", "DELETEb"])
        #expect(try database.rows("SELECT * FROM items ORDER BY id") == ["a|x", "d|"])
    }
}

import GRDB
import PowerSyncCore
import Testing

@testable import PowerSyncClient

/// Watches of virtual tables: whatever they are, and however their contents are kept, each change reaches each reader.
@Suite(.timeLimit(.minutes(2))) struct VirtualTableWatchTests {
    private static let schema = PowerSyncClient.Schema(
        PowerSyncClient.Table(name: "notes", columns: [.text("body")]),
        PowerSyncClient.Table(name: "drafts", columns: [.text("body")], localOnly: true)
    )

    /// A virtual table, and statements that give it one row that a query finds, none, one and none again.
    struct Example: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let setup: [String]
        let query: String
        let found: [String]
        let changed: [String]
        let changedBack: [String]
        let deleted: [String]

        init(
            _ description: String,
            _ setup: [String],
            _ query: String = "SELECT id FROM fts WHERE fts MATCH 'alpha'",
            found: [String],
            changed: [String],
            changedBack: [String],
            deleted: [String]
        ) {
            testDescription = description
            self.setup = setup
            self.query = query
            self.found = found
            self.changed = changed
            self.changedBack = changedBack
            self.deleted = deleted
        }

        /// An example whose statements write to a table or view with the columns `id` and `body`.
        init(
            _ description: String,
            writing table: String,
            _ setup: [String],
            _ query: String = "SELECT id FROM fts WHERE fts MATCH 'alpha'",
            and end: [String] = []
        ) {
            self.init(
                description,
                setup,
                query,
                found: ["INSERT INTO \(table) (id, body) VALUES ('1', 'alpha')"] + end,
                changed: ["UPDATE \(table) SET body = 'beta' WHERE id = '1'"] + end,
                changedBack: ["UPDATE \(table) SET body = 'alpha' WHERE id = '1'"] + end,
                deleted: ["DELETE FROM \(table) WHERE id = '1'"] + end
            )
        }
    }

    /// Triggers that repeat each write of a table in `fts`.
    private static func triggers(on table: String, new body: String) -> [String] {
        [
            """
            CREATE TRIGGER i AFTER INSERT ON \(table) BEGIN
            INSERT INTO fts (id, body) VALUES (NEW.id, \(body)); END
            """,
            "CREATE TRIGGER u AFTER UPDATE ON \(table) BEGIN UPDATE fts SET body = \(body) WHERE id = OLD.id; END",
            "CREATE TRIGGER d AFTER DELETE ON \(table) BEGIN DELETE FROM fts WHERE id = OLD.id; END",
        ]
    }

    /// Triggers that keep an index beside its content, as SQLite's documentation has them.
    private static let contentTriggers = [
        "CREATE TRIGGER i AFTER INSERT ON raw BEGIN INSERT INTO fts (rowid, body) VALUES (NEW.rowid, NEW.body); END",
        """
        CREATE TRIGGER u AFTER UPDATE ON raw BEGIN
        INSERT INTO fts (fts, rowid, body) VALUES ('delete', OLD.rowid, OLD.body);
        INSERT INTO fts (rowid, body) VALUES (NEW.rowid, NEW.body); END
        """,
        """
        CREATE TRIGGER d AFTER DELETE ON raw BEGIN
        INSERT INTO fts (fts, rowid, body) VALUES ('delete', OLD.rowid, OLD.body); END
        """,
    ]

    private static let raw = "CREATE TABLE raw (id TEXT, body TEXT)"
    private static let rowids = "SELECT rowid FROM fts WHERE fts MATCH 'alpha'"
    private static let fullText = [
        "CREATE VIRTUAL TABLE fts USING fts5(id UNINDEXED, body)",
        "CREATE VIRTUAL TABLE fts USING fts4(id, body, notindexed=id)",
    ]

    static let examples: [Example] =
        fullText.flatMap { create in
            let kind = create.contains("fts5") ? "fts5" : "fts4"
            let data = "json_extract(NEW.data, '$.body')"
            return [
                Example(
                    "\(kind), by triggers on ps_data__",
                    writing: "notes",
                    [create] + triggers(on: "ps_data__notes", new: data)
                ),
                Example(
                    "\(kind), by triggers on ps_data_local__",
                    writing: "drafts",
                    [create] + triggers(on: "ps_data_local__drafts", new: data)
                ),
                Example(
                    "\(kind), by triggers on a table",
                    writing: "raw",
                    [raw, create] + triggers(on: "raw", new: "NEW.body")
                ),
                Example("\(kind), by hand", writing: "fts", [create]),
                Example(
                    "\(kind), through a view",
                    writing: "fts",
                    [create, "CREATE VIEW hits AS SELECT id FROM fts WHERE fts MATCH 'alpha'"],
                    "SELECT count(*) FROM hits HAVING count(*) > 0"
                ),
            ]
        } + [
            Example("fts5, searched as a function", writing: "fts", [fullText[0]], "SELECT 1 FROM fts('alpha')"),
            Example(
                "fts5 with external content, by triggers",
                writing: "raw",
                [raw, "CREATE VIRTUAL TABLE fts USING fts5(body, content='raw')"] + contentTriggers,
                rowids
            ),
            Example(
                "fts5 with external content, rebuilt",
                writing: "raw",
                [raw, "CREATE VIRTUAL TABLE fts USING fts5(body, content='raw')"],
                rowids,
                and: ["INSERT INTO fts (fts) VALUES ('rebuild')"]
            ),
            Example(
                "fts4 with external content, rebuilt",
                writing: "raw",
                [raw, "CREATE VIRTUAL TABLE fts USING fts4(body, content=\"raw\")"],
                rowids,
                and: ["INSERT INTO fts (fts) VALUES ('rebuild')"]
            ),
            Example(
                "the content of an index, a table",
                writing: "raw",
                [raw, "CREATE VIRTUAL TABLE fts USING fts5(body, content=raw)"],
                "SELECT rowid FROM fts WHERE body = 'alpha'"
            ),
            Example(
                "the content of an index, a view",
                writing: "notes",
                ["CREATE VIRTUAL TABLE fts USING fts5(body, content='notes', content_rowid='id')"],
                "SELECT 1 FROM fts WHERE body = 'alpha'"
            ),
            Example(
                "a vocabulary",
                writing: "fts",
                [fullText[0], "CREATE VIRTUAL TABLE words USING fts5vocab(fts, 'row')"],
                "SELECT cnt FROM words WHERE term = 'alpha'"
            ),
            Example(
                "a vocabulary of fts4",
                writing: "fts",
                [fullText[1], "CREATE VIRTUAL TABLE words USING fts4aux(fts)"],
                "SELECT documents FROM words WHERE term = 'alpha' AND col = '*'"
            ),
            Example(
                "a shadow table",
                writing: "fts",
                [fullText[0]],
                "SELECT id FROM fts_content WHERE c1 = 'alpha'"
            ),
        ]
        + [", columnsize=0", ""].map { option in
            // It writes no row before the end of the transaction.
            Example(
                "fts5 without content\(option)",
                ["CREATE VIRTUAL TABLE fts USING fts5(body, content=''\(option))"],
                rowids,
                found: ["INSERT INTO fts (rowid, body) VALUES (1, 'alpha')"],
                changed: [
                    "INSERT INTO fts (fts, rowid, body) VALUES ('delete', 1, 'alpha')",
                    "INSERT INTO fts (rowid, body) VALUES (1, 'beta')",
                ],
                changedBack: [
                    "INSERT INTO fts (fts, rowid, body) VALUES ('delete', 1, 'beta')",
                    "INSERT INTO fts (rowid, body) VALUES (1, 'alpha')",
                ],
                deleted: ["INSERT INTO fts (fts, rowid, body) VALUES ('delete', 1, 'alpha')"]
            )
        } + [
            Example(
                "rtree, by hand",
                ["CREATE VIRTUAL TABLE boxes USING rtree(id, low, high)"],
                "SELECT id FROM boxes WHERE high > 4",
                found: ["INSERT INTO boxes VALUES (1, 0, 5)"],
                changed: ["UPDATE boxes SET high = 1"],
                changedBack: ["UPDATE boxes SET high = 5"],
                deleted: ["DELETE FROM boxes"]
            ),
            Example(
                "rtree, by triggers",
                [
                    "CREATE VIRTUAL TABLE boxes USING rtree(id, low, high)",
                    "CREATE TABLE places (id INTEGER PRIMARY KEY, size)",
                    "CREATE TRIGGER i AFTER INSERT ON places BEGIN INSERT INTO boxes VALUES (NEW.id, 0, NEW.size); END",
                    "CREATE TRIGGER u AFTER UPDATE ON places BEGIN UPDATE boxes SET high = NEW.size WHERE id = NEW.id; END",
                    "CREATE TRIGGER d AFTER DELETE ON places BEGIN DELETE FROM boxes WHERE id = OLD.id; END",
                ],
                "SELECT id FROM boxes WHERE high > 4",
                found: ["INSERT INTO places VALUES (1, 5)"],
                changed: ["UPDATE places SET size = 1"],
                changedBack: ["UPDATE places SET size = 5"],
                deleted: ["DELETE FROM places"]
            ),
        ]

    @Test(arguments: examples)
    func eachChangeReachesAWatch(_ example: Example) async throws {
        try await withFileDatabase(Self.schema) { database in
            for sql in example.setup { try await database.execute(sql) }
            var counts = try database.watch(options: WatchOptions(sql: example.query, throttle: 0) { _ in 1 })
                .map(\.count).makeAsyncIterator()
            #expect(try await counts.next() == 0)
            for (statements, expected) in [
                (example.found, 1), (example.changed, 0), (example.changedBack, 1), (example.deleted, 0),
            ] {
                try await database.writeTransaction { transaction in
                    for sql in statements { try transaction.execute(sql: sql, parameters: []) }
                }
                while let count = try await counts.next(), count != expected {}
            }
        }
    }

    /// The index writes no row before the end of the transaction.
    @Test func eachChangeReachesAWatchOfTheTable() async throws {
        try await withFileDatabase(Self.schema) { database in
            try await database.execute("CREATE VIRTUAL TABLE fts USING fts5(body, content='', columnsize=0)")
            var changes = database.onChange(tables: ["fts"], throttle: 0, triggerImmediately: false).makeAsyncIterator()
            // The first change tells that the table is virtual.
            try await database.execute("INSERT INTO fts (rowid, body) VALUES (1, 'alpha')")
            #expect(try await changes.next() == ["fts"])
            for id in 2..<5 {
                _ = try await database.writeTransaction { transaction in
                    try transaction.execute(sql: "INSERT INTO fts (rowid, body) VALUES (?, 'alpha')", parameters: [id])
                }
                #expect(try await changes.next() == ["fts"])
            }
        }
    }

    @Test(
        arguments: [
            ("SELECT id FROM fts_notes", ["fts_notes", "fts_notes_data", "fts_notes_content"], "fts"),
            ("SELECT id FROM fts", ["fts", "fts_data", "fts_idx"], "fts_notes"),
            ("SELECT id FROM fts_docsize", ["fts", "fts_data", "fts_docsize"], "fts_settings_data"),
            ("SELECT term FROM words", ["words", "fts", "fts_data"], "plain"),
            ("SELECT body FROM hits", ["hits", "hits_data", "the content"], "content"),
            ("SELECT id FROM plain", ["plain"], "fts"),
            ("SELECT x FROM fts_settings", ["fts_settings"], "plain"),
        ]
    )
    func whatAQueryDependsOn(_ query: String, _ affected: [String], _ other: String) throws {
        let queue = try DatabaseQueue()
        try queue.write { db in
            try db.execute(
                sql: """
                    CREATE TABLE plain (id); CREATE TABLE fts_settings (x); CREATE TABLE content (x);
                    CREATE TABLE "the content" (body);
                    CREATE VIRTUAL TABLE fts USING fts5(id, body);
                    CREATE VIRTUAL TABLE fts_notes USING fts5(id, body);
                    CREATE VIRTUAL TABLE words USING fts5vocab('fts', row);
                    CREATE VIRTUAL TABLE hits USING fts5(body, content='the content');
                    """
            )
            var region = try db.makeStatement(sql: query).databaseRegion
            let tables = try #require(try VirtualTables(db))
            let names = try tables.dependencies(of: &region, db)
            let interest = ChangeListener.Interest.region(region, virtualTables: names)
            for name in affected {
                #expect(interest.contains(name), "\(name)")
            }
            #expect(!interest.contains(other))
        }
    }

    @Test func aSchemaWithoutVirtualTablesHasNone() throws {
        try DatabaseQueue().write { db in
            try db.execute(sql: "CREATE TABLE a (x); CREATE VIEW v AS SELECT * FROM a")
            let tables = try VirtualTables(db)
            #expect(tables == nil)
        }
    }
}

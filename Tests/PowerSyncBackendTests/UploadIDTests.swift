import BackendTestSupport
import GRDB
import NIOConcurrencyHelpers
import PowerSyncBackend
import PowerSyncUpload
import TestSupport
import Testing

/// An id of an upload is its bytes, whatever the column makes of it.
@Suite(.timeLimit(.minutes(5))) struct UploadIDTests {
    /// The applier for SQLite, over a database in memory.
    private struct Applier: IDApplier {
        let hasRule = true
        private let database: DatabaseQueue
        private let applier: SQLiteUploadApplier
        private let shown = NIOLockedValueBox<String?>(nil)

        init(_ table: SQLiteIDTable, encoding: String = "UTF-8") throws {
            database = try DatabaseQueue()
            try database.write { db in
                try db.execute(sql: "PRAGMA encoding = '\(encoding)'")
                try db.execute(sql: table.sql)
            }
            var options = UploadApplierOptions()
            options.tables = ["items"]
            applier = SQLiteUploadApplier(database, options: options) { [shown] write, db in
                let note: String? = try write.storedRow(db)?["note"]
                shown.withLockedValue { $0 = note }
                return write.entry.id == write.user.id ? .apply : .reject("This is somebody else.")
            }
        }

        func clear() async throws {
            try await database.write { db in try db.execute(sql: "DELETE FROM items") }
        }

        func insert(_ id: String, note: String) async throws -> Bool {
            try await database.write { db in try db.insertItem(id, note: note) }
        }

        func finds(_ id: String) async throws -> Bool {
            try await database.read { db in try db.findsItem(id) }
        }

        func rows() async throws -> [IDRow] {
            try await database.read { db in try db.items() }
        }

        func apply(_ entry: UploadEntry, as user: String) async throws -> (response: UploadResponse, shown: String?) {
            shown.withLockedValue { $0 = nil }
            let request = UploadRequest(clientID: nil, entries: [entry])
            let response = try await applier.apply(request, for: BackendUser(id: user))
            return (response, shown.withLockedValue { $0 })
        }
    }

    /// Two ids for each table: with each table other ones, unless all are wanted.
    private static let cases = Dictionary(
        grouping: SQLiteIDTable.all.flatMap { table in IDSpelling.all.map { (table: table, spelling: $0) } }.one(in: 8),
        by: { $0.table.sql }
    )

    @Test(arguments: SQLiteIDTable.all.one(in: 2))
    func anIDIsItsBytes(_ table: SQLiteIDTable) async throws {
        var checks = IDChecks(try Applier(table))
        for (_, spelling) in Self.cases[table.sql] ?? [] { try await checks.check(spelling, place: table.sql) }
        #expect(
            checks.failures.isEmpty,
            "\(checks.failures.count): \(checks.failures.prefix(5).joined(separator: "\n"))"
        )
    }

    @Test(arguments: ["UTF-16le", "UTF-16be"])
    func anIDIsItsBytesInEveryEncoding(_ encoding: String) async throws {
        for table in SQLiteIDTable.all.one(in: 10) {
            var checks = IDChecks(try Applier(table, encoding: encoding))
            for spelling in IDSpelling.all.one(in: 3) {
                try await checks.check(spelling, [.put], place: "\(encoding), \(table.sql)")
            }
            #expect(
                checks.failures.isEmpty,
                "\(checks.failures.count): \(checks.failures.prefix(5).joined(separator: "\n"))"
            )
        }
    }

    @Test func theListIsNotEmpty() async throws {
        let table = try #require(SQLiteIDTable.all.first { $0.sql.contains("id INTEGER") })
        var checks = IDChecks(try Applier(table))
        for spelling in IDSpelling.all { try await checks.check(spelling, [.patch], place: table.sql) }
        #expect(checks.rejections > 50)
    }

    private static func entry(
        _ op: UpdateType,
        _ id: String,
        _ data: JsonParam? = ["note": .string("sent")]
    ) -> UploadEntry {
        UploadEntry(operationID: 1, op: op, table: "items", id: id, data: data)
    }

    @Test func numbersInColumnsWithoutAType() async throws {
        for type in ["", "BLOB"] {
            let scenario = try UploadScenario(schema: "CREATE TABLE items (id \(type) PRIMARY KEY, note)")
            try await scenario.database.write { db in
                try db.execute(sql: "INSERT INTO items VALUES (7, 'seven'), (1.5, 'real'), (x'61', 'blob')")
            }
            for op in [UpdateType.put, .patch] {
                for id in ["7", "1.5", "a"] {
                    #expect(try await scenario.apply([Self.entry(op, id)], client: nil).rejections.isEmpty)
                }
            }
            let rows = try await scenario.database.read { db in
                try String.fetchAll(db, sql: "SELECT quote(id) || ' ' || note FROM items ORDER BY quote(id)")
            }
            #expect(rows == ["'a' sent", "1.5 sent", "7 sent", "X'61' blob"])

            try await scenario.database.write { db in try db.execute(sql: "INSERT INTO items VALUES ('7', 'text')") }
            for op in [UpdateType.put, .patch, .delete] {
                let response = try await scenario.apply([Self.entry(op, "7")], client: nil)
                #expect(response.rejections.first?.message.contains("several rows") == true)
            }
        }
    }

    @Test func conflictsOfOtherColumns() async throws {
        let clauses = ["REPLACE", "IGNORE", "FAIL", "ROLLBACK", "ABORT"]
        let tables = clauses.flatMap { clause in
            [
                "id TEXT PRIMARY KEY, note TEXT UNIQUE ON CONFLICT \(clause)",
                "id TEXT PRIMARY KEY ON CONFLICT \(clause), note TEXT UNIQUE on /* NULL */ conflict -- x\n \(clause)",
                "id TEXT PRIMARY KEY, note TEXT, UNIQUE (note) ON CONFLICT \(clause)",
                "id TEXT PRIMARY KEY, note TEXT DEFAULT 'NULL', \"ON\" TEXT, UNIQUE (\"note\") ON CONFLICT \(clause)",
                "id TEXT COLLATE NOCASE PRIMARY KEY ON CONFLICT \(clause), note TEXT UNIQUE",
            ]
        }
        for table in tables {
            let scenario = try UploadScenario(schema: "CREATE TABLE items (\(table))")
            try await scenario.database.write { db in
                try db.execute(sql: "INSERT INTO items (id, note) VALUES ('theirs', 'taken'), ('mine', 'free')")
            }
            for entry in [
                Self.entry(.put, "new", ["note": .string("taken")]),
                Self.entry(.put, "mine", ["note": .string("taken")]),
                Self.entry(.patch, "mine", ["note": .string("taken")]),
            ] {
                let response = try await scenario.apply([entry], client: nil)
                #expect(response.rejections.map(\.code) == [.constraint], "\(table): \(entry)")
            }
            let rows = try await scenario.database.read { db in
                try String.fetchAll(db, sql: "SELECT id || ' ' || note FROM items ORDER BY id")
            }
            #expect(rows == ["mine free", "theirs taken"], "\(table)")
        }
    }

    @Test func clausesForOtherThingsAreFollowed() async throws {
        let scenario = try UploadScenario(
            schema: """
                CREATE TABLE items (id TEXT PRIMARY KEY, note TEXT NOT NULL ON CONFLICT REPLACE DEFAULT 'none');
                CREATE TABLE counts (id TEXT PRIMARY KEY);
                CREATE TRIGGER counted AFTER INSERT ON items BEGIN INSERT OR IGNORE INTO counts VALUES ('all'); END;
                """
        )
        for id in ["a", "b"] {
            #expect(try await scenario.apply([Self.entry(.put, id, ["note": .null])], client: nil).rejections.isEmpty)
        }
        let notes = try await scenario.database.read { db in try String.fetchAll(db, sql: "SELECT note FROM items") }
        #expect(notes == ["none", "none"])
    }

    @Test func writesAreRememberedByBytes() async throws {
        let scenario = try UploadScenario(schema: "CREATE TABLE items (id TEXT PRIMARY KEY, note)")
        let spellings = IDSpelling.all.flatMap { [$0.stored, $0.sent] }.filter { !$0.isEmpty }
        // A `Set` of texts takes canonically equivalent ones for one.
        let ids = Set(spellings.map { Array($0.utf8) }).map { String(decoding: $0, as: UTF8.self) }
        for id in ids {
            try await scenario.apply([Self.entry(.put, "a")], client: "c", user: id)
            try await scenario.apply([Self.entry(.put, "a")], client: id, user: "u")
        }
        // None was taken for one that was applied before.
        #expect(try await scenario.rememberedWrites() == 2 * ids.count)
    }
}

import Foundation
import GRDB
import Logging
import PowerSyncSyncConfig
import ServiceTestSupport
import TestSupport
import Testing

@testable import PowerSyncServiceCore
@testable import PowerSyncServiceSQLite

/// Rows that other programs delete without saying so, and keys that are no texts.
@Suite(.timeLimit(.minutes(1))) struct CaptureTests {
    /// The rows and removals that follow a position, the last one of each key.
    private func changes(_ scenario: SourceScenario, after position: SourcePosition) async throws -> Set<String> {
        let tables = try await scenario.source.tables(for: try plan(scenario.config))
        return try await scenario.source.withChanges(of: "s", after: position, tables: tables) { reader in
            var texts: Set<String> = []
            while true {
                for message in try await reader.next() {
                    if case .commit = message { return texts }
                    guard case .changes(let changes, _) = message else { continue }
                    for change in changes {
                        let key = change.row?["id"] ?? change.oldKey?.first ?? .null
                        texts.insert("\(change.row == nil ? "-" : "+")\(key)")
                    }
                }
            }
        }
    }

    struct Replacement: CustomTestStringConvertible, Sendable {
        var testDescription: String
        var schema: [String]
        var before: String
        var statement: String
        var expected: Set<String>

        init(_ name: String, _ schema: [String], _ before: String, _ statement: String, _ expected: Set<String>) {
            testDescription = name
            self.schema = schema
            self.before = before
            self.statement = statement
            self.expected = expected
        }
    }

    private static let named = "CREATE TABLE lists (id TEXT PRIMARY KEY, a TEXT, b TEXT)"

    @Test(arguments: [
        Replacement(
            "a column that must not be NULL gets its default",
            ["CREATE TABLE lists (id TEXT PRIMARY KEY, a TEXT NOT NULL DEFAULT 'x' UNIQUE)"],
            "INSERT INTO lists VALUES ('1', 'x')",
            "INSERT OR REPLACE INTO lists VALUES ('2', NULL)",
            [#"-"1""#, #"+"2""#]
        ),
        Replacement(
            "so does one that is changed",
            ["CREATE TABLE lists (id TEXT PRIMARY KEY, a INTEGER NOT NULL DEFAULT (abs(-7)) UNIQUE)"],
            "INSERT INTO lists VALUES ('1', 7), ('2', 8)",
            "UPDATE OR REPLACE lists SET a = NULL WHERE id = '2'",
            [#"-"1""#, #"+"2""#]
        ),
        Replacement(
            "a default that is a name",
            [#"CREATE TABLE lists (id TEXT PRIMARY KEY, a NOT NULL DEFAULT "id" UNIQUE, b NOT NULL DEFAULT b)"#],
            "INSERT INTO lists VALUES ('1', 'id', '')",
            "INSERT OR REPLACE INTO lists VALUES ('2', NULL, NULL)",
            [#"-"1""#, #"+"2""#]
        ),
        Replacement(
            "an index that does not tell cases apart",
            [named, "CREATE UNIQUE INDEX i ON lists (a COLLATE NOCASE)"],
            "INSERT INTO lists VALUES ('1', 'X', ''), ('3', 'y', '')",
            "INSERT OR REPLACE INTO lists VALUES ('2', 'x', '')",
            [#"-"1""#, #"+"2""#]
        ),
        Replacement(
            "an index that does, of a column that does not",
            [
                "CREATE TABLE lists (id TEXT PRIMARY KEY, a TEXT COLLATE NOCASE)",
                "CREATE UNIQUE INDEX i ON lists (a COLLATE BINARY)",
            ],
            "INSERT INTO lists VALUES ('1', 'X'), ('3', 'x')",
            "INSERT OR REPLACE INTO lists VALUES ('2', 'x')",
            [#"-"3""#, #"+"2""#]
        ),
        Replacement(
            "an index of an expression",
            [named, "CREATE UNIQUE INDEX i ON lists (lower(a), b COLLATE RTRIM DESC)"],
            "INSERT INTO lists VALUES ('1', 'Ab', 'x'), ('3', 'ab', 'y')",
            "INSERT OR REPLACE INTO lists VALUES ('2', 'AB', 'x ')",
            [#"-"1""#, #"+"2""#]
        ),
        Replacement(
            "an index of an expression, and a change",
            [
                named,
                "CREATE UNIQUE INDEX i ON lists (json_extract(a, '$.k,)'), substr(\"b\", 1, 1) COLLATE nocase asc)",
            ],
            #"INSERT INTO lists VALUES ('1', '{"k,)":5}', 'xy'), ('3', '{"k,)":6}', 'x')"#,
            #"UPDATE OR REPLACE lists SET a = '{"k,)":5}', b = 'Xz' WHERE id = '3'"#,
            [#"-"1""#, #"+"3""#]
        ),
        Replacement(
            "an index with comments, of some rows",
            [
                named,
                """
                CREATE UNIQUE INDEX /* ( */ "i (x)" ON lists (a || b -- first )
                    , length(b) DESC /* last */ ) WHERE b <> 'q' -- the others
                """,
            ],
            "INSERT INTO lists VALUES ('1', 'a', 'bc'), ('3', 'x', 'q'), ('4', 'x', 'q')",
            "INSERT OR REPLACE INTO lists VALUES ('2', 'a', 'bc')",
            [#"-"1""#, #"+"2""#]
        ),
        Replacement(
            "a change that brings a row into an index",
            [named, "CREATE UNIQUE INDEX i ON lists (a) WHERE b = 'live'"],
            "INSERT INTO lists VALUES ('1', 'a', 'live'), ('2', 'a', 'dead')",
            "UPDATE OR REPLACE lists SET b = 'live' WHERE id = '2'",
            [#"-"1""#, #"+"2""#]
        ),
        Replacement(
            "the number of a row",
            [named],
            "INSERT INTO lists (rowid, id) VALUES (7, '1'), (8, '2')",
            "INSERT OR REPLACE INTO lists (_rowid_, id) VALUES (7, '3')",
            [#"-"1""#, #"+"3""#]
        ),
        Replacement(
            "the number of a row, changed",
            ["CREATE TABLE lists (id TEXT PRIMARY KEY, rowid TEXT)"],
            "INSERT INTO lists (oid, id) VALUES (7, '1'), (8, '2')",
            "UPDATE OR REPLACE lists SET oid = 7 WHERE id = '2'",
            [#"-"1""#, #"+"2""#]
        ),
        Replacement(
            "keys that are equal numbers",
            ["CREATE TABLE lists (id PRIMARY KEY, a)"],
            "INSERT INTO lists VALUES (1, '')",
            "INSERT OR REPLACE INTO lists VALUES (1.0, '')",
            ["-1", "+1.0"]
        ),
        Replacement(
            "a table without row numbers",
            ["CREATE TABLE lists (id TEXT PRIMARY KEY, a TEXT UNIQUE ON CONFLICT REPLACE) WITHOUT ROWID"],
            "INSERT INTO lists VALUES ('1', 'a')",
            "INSERT INTO lists VALUES ('2', 'a')",
            [#"-"1""#, #"+"2""#]
        ),
        Replacement(
            "a generated column",
            ["CREATE TABLE lists (id TEXT PRIMARY KEY, a TEXT, g TEXT AS (upper(a)) UNIQUE)"],
            "INSERT INTO lists (id, a) VALUES ('1', 'a')",
            "REPLACE INTO lists (id, a) VALUES ('2', 'A')",
            [#"-"1""#, #"+"2""#]
        ),
        Replacement(
            "several rows at once",
            ["CREATE TABLE lists (id INTEGER PRIMARY KEY, a UNIQUE, b UNIQUE)"],
            "INSERT INTO lists VALUES (1, 'a', 'x'), (2, 'b', 'y'), (3, 'c', 'z')",
            "INSERT OR REPLACE INTO lists VALUES (3, 'a', 'y')",
            ["-1", "-2", "+3"]
        ),
    ]
    )
    func replacedRowsAreNoticed(_ replacement: Replacement) async throws {
        let scenario = try SourceScenario(schema: replacement.schema)
        let foreign = try scenario.foreignConnection()
        try await foreign.write { db in try db.execute(sql: replacement.before) }
        let start = try await scenario.source.head()
        try await foreign.write { db in try db.execute(sql: replacement.statement) }
        #expect(try await changes(scenario, after: start) == replacement.expected)
    }

    @Test func laterIndexIsWatched() async throws {
        let scenario = try SourceScenario(schema: [Self.named])
        let foreign = try scenario.foreignConnection()
        try await foreign.write { db in
            try db.execute(sql: "INSERT INTO lists VALUES ('1', 'X', '')")
            try db.execute(sql: "CREATE UNIQUE INDEX i ON lists (lower(a))")
        }
        try await scenario.source.synchroniseCapture()
        let start = try await scenario.source.head()
        try await foreign.write { db in try db.execute(sql: "INSERT OR REPLACE INTO lists VALUES ('2', 'x', '')") }
        #expect(try await changes(scenario, after: start) == [#"-"1""#, #"+"2""#])
    }

    // MARK: Keys that are not UTF-8

    /// Texts in the order of their bytes, some of which are not UTF-8.
    private static let keys: [[UInt8]] = [
        [0x61], [0x61, 0x80], Array("aé".utf8), [0x61, 0xff], [0x62, 0xc3], Array("bé".utf8), [0xc3], Array("é".utf8),
        [0xed, 0xa0, 0x80], Array("\u{fffd}".utf8), [0xff], [0xff, 0x61],
    ]

    @Test(arguments: (0..<12).one(in: 3))
    func unreadableKeysAreLeftOut(_ rotation: Int) async throws {
        // As many valid keys before them as bring each of them to the end of a chunk.
        let log = CollectedLog()
        let folder = try TemporaryFolder()
        let source = try EmbeddedSource(path: folder.path("source.db"), schema: [Self.named], logger: log.logger)
        let count = SnapshotChunk.maximumRows - 1 - rotation
        try await source.pool.write { db in
            for index in 0..<count {
                try db.execute(sql: "INSERT INTO lists (id) VALUES (?)", arguments: ["!\(index)"])
            }
            for key in Self.keys {
                try db.execute(sql: "INSERT INTO lists (id, a) VALUES (CAST(? AS TEXT), 'x')", arguments: [Data(key)])
            }
        }
        let valid = Self.keys.compactMap { String(validating: $0, as: UTF8.self) }
        #expect(valid.count == 5)
        let table = try #require(try await source.tables(for: try plan(SourceScenario.allLists)).first)
        var found: [String] = []
        var key: SnapshotKey?
        while true {
            // As after a restart at each chunk.
            var reader = try await source.snapshot(of: table, after: key)
            guard let chunk = try await reader.next() else { break }
            for row in chunk.rows {
                if case .text(let id)? = row["id"], !id.hasPrefix("!") { found.append(id) }
            }
            key = chunk.lastKey
        }
        #expect(found == valid)
        #expect(log.lines.filter { $0.contains("not valid UTF-8") }.count == 1)
        try source.close()
    }

    @Test func moreOfThemThanAChunkHasRows() async throws {
        let scenario = try SourceScenario(schema: [Self.named])
        let count = SnapshotChunk.maximumRows * 2 + 10
        try await scenario.foreignConnection().write { db in
            for index in 0..<count {
                try db.execute(
                    sql: "INSERT INTO lists (id) VALUES (CAST(x'61ff' || ? AS TEXT))",
                    arguments: ["\(100_000 + index)"]
                )
            }
            try db.execute(sql: "INSERT INTO lists (id) VALUES ('A'), ('z')")
        }
        try await scenario.replicate()
        #expect(try await scenario.rows().keys.sorted() == ["lists/A", "lists/z"])
    }

    @Test func keysThatBecomeAndCeaseToBeUTF8() async throws {
        let scenario = try SourceScenario(schema: [Self.named])
        let foreign = try scenario.foreignConnection()
        try await foreign.write { db in
            try db.execute(sql: "INSERT INTO lists (id) VALUES ('a'), (CAST(x'ff' AS TEXT)), (CAST(x'fe' AS TEXT))")
        }
        let start = try await scenario.source.head()
        try await foreign.write { db in
            try db.execute(sql: "UPDATE lists SET id = CAST(x'fd' AS TEXT) WHERE id = 'a'")
            try db.execute(sql: "UPDATE lists SET id = 'b' WHERE id = CAST(x'ff' AS TEXT)")
            try db.execute(sql: "DELETE FROM lists WHERE id = CAST(x'fe' AS TEXT)")
        }
        #expect(try await changes(scenario, after: start) == [#"-"a""#, #"+"b""#])
    }
}

import Foundation
import GRDB
import PowerSyncProtocol
import PowerSyncSyncConfig
import ServiceTestSupport
import Testing

@testable import PowerSyncServiceCore
@testable import PowerSyncServiceSQLite

/// The embedded source by itself: capture, positions, writes (docs/service.md "The embedded source").
@Suite(.timeLimit(.minutes(1))) struct EmbeddedSourceTests {
    /// The next changes after a position, as texts like `put {"id":"a"}` and `delete ["a"]`.
    private func changes(_ scenario: SourceScenario, after position: SourcePosition) async throws -> [String] {
        let tables = try await scenario.source.tables(for: try plan(scenario.config))
        return try await scenario.source.withChanges(of: "s", after: position, tables: tables) { reader in
            var texts: [String] = []
            while true {
                for message in try await reader.next() {
                    switch message {
                    case .changes(let changes, _): texts += changes.map(describe)
                    case .truncate: texts.append("truncate")
                    case .partialUpdates: texts.append("partial updates")
                    case .cascade: texts.append("cascade")
                    case .tablesChanged: return texts + ["tables changed"]
                    case .begin, .marker: continue
                    case .commit: return texts
                    }
                }
            }
        }
    }

    private func describe(_ change: SourceChange) -> String {
        if let row = change.row {
            "put " + row.columns.map { "\($0.name)=\($0.value)" }.joined(separator: " ")
        } else {
            "delete \(change.oldKey ?? [])"
        }
    }

    @Test func changesOfOneTransactionAreReadTogetherWithTheLatestRows() async throws {
        let scenario = try SourceScenario(schema: ["CREATE TABLE lists (id TEXT PRIMARY KEY, name TEXT)"])
        let start = try await scenario.source.head()
        try await scenario.foreignConnection().write { db in
            try db.execute(
                sql: """
                    INSERT INTO lists VALUES ('a', 'one'), ('b', 'two'), ('c', 'three');
                    UPDATE lists SET name = 'uno' WHERE id = 'a';
                    UPDATE lists SET id = 'd' WHERE id = 'b';
                    DELETE FROM lists WHERE id = 'c';
                    """
            )
        }
        #expect(
            try await changes(scenario, after: start) == [
                #"put id="a" name="uno""#, #"delete ["b"]"#, #"delete ["c"]"#, #"put id="d" name="two""#,
            ]
        )
    }

    @Test func replacedRowsAreNoticedThroughUniqueIndexes() async throws {
        let scenario = try SourceScenario(
            schema: ["CREATE TABLE lists (id TEXT PRIMARY KEY, slug TEXT UNIQUE, name TEXT)"]
        )
        let foreign = try scenario.foreignConnection()
        try await foreign.write { db in
            try db.execute(sql: "INSERT INTO lists VALUES ('a', 'x', '1'), ('b', 'y', '2'), ('c', 'z', '3')")
        }
        let start = try await scenario.source.head()
        try await foreign.write { db in
            try db.execute(sql: "INSERT OR REPLACE INTO lists VALUES ('d', 'x', '4')")
            try db.execute(sql: "UPDATE OR REPLACE lists SET slug = 'y' WHERE id = 'c'")
        }
        #expect(
            Set(try await changes(scenario, after: start)) == [
                #"delete ["a"]"#, #"put id="d" slug="x" name="4""#, #"delete ["b"]"#, #"put id="c" slug="y" name="3""#,
            ]
        )
    }

    @Test func keysThatAreEqualForTheCollationAreDifferentRows() async throws {
        let scenario = try SourceScenario(
            schema: ["CREATE TABLE lists (id TEXT COLLATE NOCASE PRIMARY KEY, name TEXT)"]
        )
        let foreign = try scenario.foreignConnection()
        try await foreign.write { db in try db.execute(sql: "INSERT INTO lists VALUES ('a', '1'), ('b', '2')") }
        let start = try await scenario.source.head()
        try await foreign.write { db in
            try db.execute(sql: "UPDATE lists SET id = 'A' WHERE id = 'a'")
            try db.execute(sql: "INSERT OR REPLACE INTO lists VALUES ('B', '3')")
        }
        #expect(
            Set(try await changes(scenario, after: start)) == [
                #"delete ["a"]"#, #"put id="A" name="1""#, #"delete ["b"]"#, #"put id="B" name="3""#,
            ]
        )
    }

    @Test(arguments: ["", " WITHOUT ROWID"])
    func collationOfTheKeyCounts(_ suffix: String) async throws {
        let scenario = try SourceScenario(
            schema: [
                "CREATE TABLE lists (id TEXT COLLATE NOCASE, name TEXT, PRIMARY KEY (id COLLATE BINARY))" + suffix
            ]
        )
        let foreign = try scenario.foreignConnection()
        try await foreign.write { db in try db.execute(sql: "INSERT INTO lists VALUES ('A', '1'), ('a', '2')") }
        let start = try await scenario.source.head()
        try await foreign.write { db in
            try db.execute(sql: "UPDATE lists SET name = 'x' WHERE id = 'a' COLLATE BINARY")
        }
        #expect(try await changes(scenario, after: start) == [#"put id="a" name="x""#])

        let table = try #require(try await scenario.source.tables(for: try plan(scenario.config)).first)
        // The first page, and those after each of its rows: none is left out, whatever fits a page.
        #expect(try await copiedIDs(scenario, of: table, after: nil) == ["A", "a"])
        #expect(try await copiedIDs(scenario, of: table, after: SnapshotKey(["A"])) == ["a"])
        #expect(try await copiedIDs(scenario, of: table, after: SnapshotKey(["a"])).isEmpty)
    }

    /// The keys of a page of a copy.
    private func copiedIDs(
        _ scenario: SourceScenario,
        of table: SourceTableDescriptor,
        after key: SnapshotKey?
    ) async throws -> [SQLValue] {
        var reader = try await scenario.source.snapshot(of: table, after: key)
        return try await reader.next()?.rows.compactMap { $0["id"] } ?? []
    }

    @Test func columnsAreDescribedWithTheValuesThatTheyHold() async throws {
        let scenario = try SourceScenario(
            schema: [
                """
                CREATE TABLE lists (id TEXT PRIMARY KEY, count INTEGER, size REAL, done BOOLEAN, price NUMERIC, raw BLOB, any)
                """
            ]
        )
        let columns = try #require(try await scenario.source.describeTables().first).columns
        #expect(columns.map(\.clientType) == ["text", "integer", "real", "numeric", "numeric", "blob", "blob"])
        #expect(columns.map(\.values) == [.text, .number, .number, nil, nil, nil, nil])
    }

    @Test func namesOfColumnsMayHaveQuotes() async throws {
        let scenario = try SourceScenario(
            schema: [#"CREATE TABLE lists (id TEXT PRIMARY KEY, "5"" wide" TEXT UNIQUE, "it's" TEXT)"#]
        )
        let start = try await scenario.source.head()
        try await scenario.foreignConnection().write { db in
            try db.execute(sql: "INSERT INTO lists VALUES ('a', 'x', 'y')")
        }
        #expect(try await changes(scenario, after: start) == [#"put id="a" 5" wide="x" it's="y""#])
    }

    @Test func valuesAreExact() async throws {
        let scenario = try SourceScenario(
            schema: ["CREATE TABLE lists (k1 INTEGER, k2, v, w, g AS (v * 2), PRIMARY KEY (k1, k2)) WITHOUT ROWID"]
        )
        let start = try await scenario.source.head()
        try await scenario.foreignConnection().write { db in
            try db.execute(
                sql: """
                    INSERT INTO lists (k1, k2, v, w)
                    VALUES (9223372036854775807, 1.0, 0.1, x'00ff'), (1, 'ü', NULL, '')
                    """
            )
        }
        #expect(
            try await changes(scenario, after: start) == [
                "put k1=9223372036854775807 k2=1.0 v=0.1 w=x'00ff' g=0.2",
                #"put k1=1 k2="ü" v=null w="" g=null"#,
            ]
        )
    }

    @Test func rowsWithoutAKeyAreLeftOut() async throws {
        let scenario = try SourceScenario(schema: ["CREATE TABLE lists (id TEXT PRIMARY KEY, name TEXT)"])
        let start = try await scenario.source.head()
        try await scenario.foreignConnection().write { db in
            try db.execute(sql: "INSERT INTO lists VALUES (NULL, 'no key'), ('a', 'key')")
        }
        #expect(try await changes(scenario, after: start) == [#"put id="a" name="key""#])
        let table = try #require(try await scenario.source.tables(for: try plan(scenario.config)).first)
        var reader = try await scenario.source.snapshot(of: table, after: nil)
        #expect(try await reader.next()?.rows.count == 1)
        #expect(try await reader.next() == nil)
    }

    @Test func rolledBackWritesAreNotCaptured() async throws {
        let scenario = try SourceScenario()
        let start = try await scenario.source.head()
        try await scenario.foreignConnection().write { db in
            try db.inSavepoint {
                try db.execute(sql: "INSERT INTO lists (id) VALUES ('a')")
                return .rollback
            }
        }
        #expect(try await scenario.source.head() == start)
    }

    @Test(arguments: [
        // Many rows, and rows of 3 MB: the third one makes a chunk larger than 8 MiB.
        (rows: 7000, nameLength: 1, sizes: [2000, 2000, 2000, 1000]),
        (rows: 7, nameLength: 3_000_000, sizes: [3, 3, 1]),
    ])
    func longTransactionIsDeliveredInChunksWithOneCommit(rows: Int, nameLength: Int, sizes expected: [Int]) async throws
    {
        let scenario = try SourceScenario()
        let start = try await scenario.source.head()
        try await scenario.foreignConnection().write { db in
            for index in 0..<rows {
                try db.execute(
                    sql: "INSERT INTO lists (id, name) VALUES (?, printf('%.*c', ?, 'x'))",
                    arguments: [index, nameLength]
                )
            }
        }
        let tables = try await scenario.source.tables(for: try plan(scenario.config))
        let sizes = try await scenario.source.withChanges(of: "s", after: start, tables: tables) { reader in
            var sizes: [Int] = []
            while true {
                for message in try await reader.next() {
                    if case .changes(let changes, _) = message { sizes.append(changes.count) }
                    if case .commit = message { return sizes }
                }
            }
        }
        #expect(sizes == expected)
    }

    @Test func snapshotContinuesAfterAKey() async throws {
        let scenario = try SourceScenario(
            schema: ["CREATE TABLE lists (a INTEGER, b TEXT, PRIMARY KEY (b, a))"]
        )
        try await scenario.foreignConnection().write { db in
            for index in 0..<4500 {
                try db.execute(sql: "INSERT INTO lists VALUES (?, ?)", arguments: [index, "\(index % 7)"])
            }
        }
        let table = try #require(try await scenario.source.tables(for: try plan(scenario.config)).first)
        #expect(table.identity.map(\.name) == ["b", "a"])
        var seen: Set<SourceRow> = []
        var key: SnapshotKey?
        while true {
            // A new reader for every chunk, as after a restart.
            var reader = try await scenario.source.snapshot(of: table, after: key)
            guard let chunk = try await reader.next() else { break }
            seen.formUnion(chunk.rows)
            key = chunk.lastKey
        }
        #expect(seen.count == 4500)
    }

    // MARK: Positions

    @Test func preparedStreamKeepsItsPosition() async throws {
        let scenario = try SourceScenario()
        try await scenario.source.emitMarker()
        let position = try await scenario.source.prepareStream("s", resumingAfter: nil, reached: nil)
        #expect(position == (try await scenario.source.head()))
        try await scenario.source.emitMarker()
        #expect(try await scenario.source.prepareStream("s", resumingAfter: position, reached: nil) == position)
        let head = try await scenario.source.head()
        #expect(head.lsn > position.lsn)
        #expect(head.history == position.history)
        #expect(try await scenario.source.prepareStream("s", resumingAfter: head, reached: nil) == head)
    }

    @Test func positionsThatTheSourceCannotServeAreLostHistory() async throws {
        let scenario = try SourceScenario()
        let early = try await scenario.source.prepareStream("other", resumingAfter: nil, reached: nil)
        let position = try await scenario.source.prepareStream("s", resumingAfter: nil, reached: nil)
        func isLost(_ position: SourcePosition, slot: String = "s") async throws -> Bool {
            do {
                _ = try await scenario.source.prepareStream(slot, resumingAfter: position, reached: nil)
                return false
            } catch let error as ReplicationSourceError {
                return error.code == .historyLost
            }
        }
        #expect(try await isLost(early), "before what is kept for the stream")
        #expect(try await isLost(position, slot: "unknown"))
        #expect(try await isLost(SourcePosition(LSN("00000000/00000001"), of: position.history)))
        #expect(try await isLost(SourcePosition(position.lsn, of: SourceHistory(rawValue: "another"))))
        #expect(try await !isLost(position))
        #expect(try await isLost(SourcePosition(.at(99), of: position.history)), "after the head")
        #expect(try await isLost(position), "the log has turned out to be another one")
    }

    // MARK: Schema

    @Test func sameSchemaCanBeAppliedAtEveryStart() async throws {
        let schema = [
            SourceScenario.lists, "CREATE INDEX lists_owner ON lists (owner); CREATE TABLE t (id PRIMARY KEY)",
        ]
        let scenario = try SourceScenario(schema: schema)
        let tables = scenario.source.capture.tables
        let again = try scenario.reopened(schema: schema)
        #expect(again.source.capture.tables == tables)
    }

    struct WrongSchema: CustomTestStringConvertible {
        var statements: [String]
        var mentions: String
        var testDescription: String { mentions }
    }

    @Test(arguments: [
        WrongSchema(statements: [SourceScenario.lists, "CREATE TABEL x (id)"], mentions: "Statement 2"),
        WrongSchema(statements: ["CREATE TABLE _ps_x (id)"], mentions: "_ps_x"),
        WrongSchema(statements: ["CREATE TABLE x (id); INSERT INTO x VALUES (1)"], mentions: "CREATE statements only"),
        WrongSchema(statements: ["CREATE TABLE lists (id TEXT PRIMARY KEY, color)"], mentions: "“color”"),
        WrongSchema(statements: ["CREATE TABLE lists (id TEXT, owner, name TEXT PRIMARY KEY)"], mentions: "“lists”"),
    ])
    func wrongSchemaIsExplained(_ wrong: WrongSchema) async throws {
        let scenario = try SourceScenario()
        #expect { try scenario.reopened(schema: wrong.statements) } throws: { error in
            guard let error = error as? ReplicationSourceError else { return false }
            return error.code == .configuration && error.message.contains(wrong.mentions)
        }
    }

    @Test(arguments: [
        "ALTER TABLE lists ADD COLUMN color",
        "ALTER TABLE lists DROP COLUMN name",
        "ALTER TABLE lists RENAME COLUMN name TO title",
        "DROP TABLE lists; CREATE TABLE lists (id TEXT PRIMARY KEY, owner TEXT, name TEXT)",
        "ALTER TABLE lists RENAME TO others",
        "CREATE TABLE more (id INTEGER PRIMARY KEY)",
    ])
    func changedTablesAreAnnounced(_ statement: String) async throws {
        let scenario = try SourceScenario()
        let start = try await scenario.source.head()
        let tables = try await scenario.source.tables(for: try plan(scenario.config))
        let messages = try await scenario.source.withChanges(of: "s", after: start, tables: tables) { reader in
            _ = try await reader.next()
            try await scenario.foreignConnection().write { db in try db.execute(sql: statement) }
            return try await reader.next()
        }
        guard case .tablesChanged? = messages.first else {
            Issue.record("\(messages)")
            return
        }
    }

    @Test func indexDoesNotChangeTheTable() async throws {
        let scenario = try SourceScenario()
        let tables = scenario.source.capture.tables
        try await scenario.foreignConnection().write { db in
            try db.execute(sql: "CREATE UNIQUE INDEX lists_name ON lists (name)")
        }
        #expect(try await scenario.source.synchroniseCapture().tables == tables)
        let start = try await scenario.source.head()
        try await scenario.foreignConnection().write { db in
            try db.execute(sql: "INSERT INTO lists VALUES ('a', '', 'n')")
            try db.execute(sql: "INSERT OR REPLACE INTO lists VALUES ('b', '', 'n')")
        }
        #expect(Set(try await changes(scenario, after: start)).contains(#"delete ["a"]"#))
    }

    @Test func tablesWithoutAPrimaryKeyCannotBeSynced() async throws {
        let scenario = try SourceScenario(schema: ["CREATE TABLE lists (id TEXT)"])
        #expect(scenario.source.capture.unkeyedTables == ["lists"])
        #expect(try await scenario.source.tables(for: try plan(scenario.config)).isEmpty)
    }
}

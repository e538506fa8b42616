import Foundation
import PowerSyncCoreTestSupport
import PowerSyncProtocol
import PowerSyncTesting
import Testing

@testable import PowerSyncClient

/// Direct tables in the hands of an app, with the real SDK on a scripted service.
@Suite(.timeLimit(.minutes(1))) struct DirectTableTests {
    private static let todos = Table(
        name: "todos",
        columns: [
            .text("title", .notNull), .integer("place", .unique), .text("key", .generated("lower(title)")),
            .text("list_id", .references("lists", onDelete: .cascade)),
        ],
        indexes: [.ascending(name: "by_key", column: "key")],
        direct: true
    )
    private static let lists = Table(name: "lists", columns: [.text("name")], direct: true)
    private static let schema = Schema(lists, todos)

    private func operations(_ database: any PowerSyncDatabaseProtocol) async throws -> [String] {
        var operations: [String] = []
        for try await transaction in database.getCrudTransactions() {
            operations += transaction.crud.map { "\($0.op.rawValue) \($0.table) \($0.id)" }
        }
        return operations
    }

    private func texts(_ sql: String, _ database: any PowerSyncDatabaseProtocol) async throws -> [String?] {
        try await database.getAll(sql) { $0.getStringOptional(index: 0) }
    }

    @Test func watchedQueriesFollowDownloadsAndLocalWrites() async throws {
        let harness = SyncHarness(schema: Self.schema)
        let stream = try await harness.connectAndAccept()
        var titles = try harness.database.watch("SELECT title FROM todos ORDER BY id") { try $0.getString(index: 0) }
            .makeAsyncIterator()
        #expect(try await titles.next() == [])
        stream.send(.checkpoint(1, [.bucket("a")]), .row("a", 1, "todos", "1", #"{"title":"Milk"}"#), .done)
        while let found = try await titles.next(), found != ["Milk"] {}
        try await harness.database.disconnect()
        let changes = try await harness.database.execute(
            """
            INSERT INTO todos (id, title) VALUES ('1', 'Oat milk')
            ON CONFLICT (id) DO UPDATE SET title = excluded.title
            """
        )
        #expect(changes == 1)
        while let found = try await titles.next(), found != ["Oat milk"] {}
        #expect(try await operations(harness.database) == ["PATCH todos 1"])
    }

    /// The tables of which an established SDK uses the file as raw tables.
    enum Variant: CaseIterable {
        case plain, metadata, previousValues, previousValuesOfChanges, emptyUpdatesIgnored, everything

        var todos: Table {
            let previous: TrackPreviousValuesOptions? =
                switch self {
                case .previousValues, .everything: .init()
                case .previousValuesOfChanges: .init(columnFilter: ["title"], onlyWhenChanged: true)
                default: nil
                }
            return Table(
                name: "todos",
                columns: DirectTableTests.todos.columns,
                indexes: DirectTableTests.todos.indexes,
                trackMetadata: [.metadata, .everything].contains(self),
                trackPreviousValues: previous,
                ignoreEmptyUpdates: [.emptyUpdatesIgnored, .everything].contains(self),
                direct: true
            )
        }
    }

    /// What an established SDK does with the file is what our code for raw tables does.
    @Test(arguments: Variant.allCases) func rawTableEquivalentSyncsAndUploadsThroughTheSameFile(
        _ variant: Variant
    ) async throws {
        let schema = Schema(Self.lists, variant.todos)
        let harness = SyncHarness(schema: schema)
        let database = harness.database
        var stream = try await harness.connectAndAccept()
        stream.send(.checkpoint(1, [.bucket("a")]), .row("a", 1, "todos", "1", #"{"title":"Milk","place":1}"#), .done)
        try await database.waitForFirstSync()
        try await database.disconnect()
        let objects = try await texts("SELECT sql FROM sqlite_master ORDER BY name", database)

        let equivalent = schema.rawTableEquivalent
        #expect(equivalent.tables.isEmpty)
        #expect(equivalent.rawTables.map(\.name) == ["lists", "todos"])
        try equivalent.validate()
        try await database.updateSchema(schema: equivalent)
        stream = try await harness.connectAndAccept()
        var titles = try database.watch("SELECT title || place FROM todos ORDER BY id") { try $0.getString(index: 0) }
            .makeAsyncIterator()
        #expect(try await titles.next() == ["Milk1"])
        stream.send(
            .checkpoint(3, [.bucket("a")]),
            .row("a", 2, "todos", "1", #"{"title":"Bread","place":2}"#),
            .row("a", 3, "todos", "2", #"{"title":"Salt","place":1}"#),
            .done
        )
        while let found = try await titles.next(), found != ["Bread2", "Salt1"] {}
        try await database.disconnect()
        let hasMetadata = variant.todos.trackMetadata
        let metadata = hasMetadata ? ", _metadata = 'why'" : ""
        try await database.execute("UPDATE todos SET title = 'Pepper'\(metadata) WHERE id = '2'")
        if variant.todos.ignoreEmptyUpdates { try await database.execute("UPDATE todos SET place = place") }
        let entry = try #require(try await database.getNextCrudTransaction()?.crud.first)
        #expect(entry.metadata == (hasMetadata ? "why" : nil))
        let previous: [String: String?]? =
            switch variant {
            case .previousValues, .everything: ["title": "Salt", "place": "1", "list_id": nil]
            case .previousValuesOfChanges: ["title": "Salt"]
            default: nil
            }
        #expect(entry.previousValues == previous)
        #expect(entry.opData == ["title": "Pepper"])
        #expect(try await operations(database) == ["PATCH todos 2"])
        #expect(try await texts("SELECT sql FROM sqlite_master ORDER BY name", database) == objects)
        try await database.updateSchema(schema: schema)
        #expect(try await texts("SELECT title FROM todos ORDER BY id", database) == ["Bread", "Pepper"])
        #expect(try await texts("SELECT sql FROM sqlite_master ORDER BY name", database) == objects)
        try await database.close()
    }

    @Test func rawTableEquivalentOfAnInsertOnlyTableQueuesAndKeepsNothing() async throws {
        let events = Table(name: "events", columns: [.text("name")], insertOnly: true, direct: true)
        let harness = SyncHarness(schema: Schema(events))
        let database = harness.database
        try await database.waitForReady()
        let objects = try await texts("SELECT sql FROM sqlite_master ORDER BY name", database)
        try await database.updateSchema(schema: Schema(events).rawTableEquivalent)
        try await database.execute("INSERT INTO events (id, name) VALUES ('1', 'begun')")
        #expect(try await operations(database) == ["PUT events 1"])
        #expect(try await texts("SELECT id FROM events", database) == [])
        #expect(try await texts("SELECT sql FROM sqlite_master ORDER BY name", database) == objects)
        try await database.close()
    }

    @Test func schemaChangesKeepChildrenWhileForeignKeysAreEnforced() async throws {
        let path = FileManager.default.temporaryDirectory.appending(path: "\(UUID().uuidString).db").path
        let database = PowerSyncDatabase(
            schema: Self.schema,
            dbFilename: path,
            initialStatements: ["PRAGMA foreign_keys = ON"]
        )
        try await database.execute("INSERT INTO lists (id, name) VALUES ('l', 'Home')")
        try await database.execute("INSERT INTO todos (id, title, list_id) VALUES ('1', 'Milk', 'l')")
        let lists = Table(name: "lists", columns: [.text("title", renamedFrom: "name"), .text("color")], direct: true)
        try await database.updateSchema(schema: Schema(lists, Self.todos))
        #expect(try await texts("SELECT title FROM lists", database) == ["Home"])
        #expect(try await texts("SELECT list_id FROM todos", database) == ["l"])
        await #expect(throws: PowerSyncError.self) {
            try await database.execute("INSERT INTO todos (id, title, list_id) VALUES ('2', 'x', 'nowhere')")
        }
        try await database.execute("DELETE FROM lists")
        #expect(try await texts("SELECT id FROM todos", database) == [])
        let queued = try await operations(database)
        #expect(queued.prefix(2) == ["PUT lists l", "PUT todos 1"])
        #expect(Set(queued.dropFirst(2)) == ["DELETE lists l", "DELETE todos 1"])
        try await database.close(deleteDatabase: true)
    }

    @Test(arguments: [false, true]) func signingOutIsNotRefusedByRowsThatStay(_ cascades: Bool) async throws {
        let reference: ColumnConstraint = cascades ? .references("lists", onDelete: .cascade) : .references("lists")
        let drafts = Table(name: "drafts", columns: [.text("list_id", reference)], localOnly: true, direct: true)
        let path = FileManager.default.temporaryDirectory.appending(path: "\(UUID().uuidString).db").path
        let database = PowerSyncDatabase(
            schema: Schema(Self.lists, drafts),
            dbFilename: path,
            initialStatements: ["PRAGMA foreign_keys = ON"]
        )
        try await database.execute("INSERT INTO lists (id) VALUES ('l')")
        try await database.execute("INSERT INTO drafts VALUES ('d', 'l')")
        try await database.disconnectAndClear(clearLocal: false)
        #expect(try await texts("SELECT id FROM lists", database) == [])
        #expect(try await texts("SELECT id FROM drafts", database) == (cascades ? [] : ["d"]))
        await #expect(throws: PowerSyncError.self) {
            try await database.execute("INSERT INTO drafts VALUES ('e', 'nowhere')")
        }
        try await database.close(deleteDatabase: true)
    }

    @Test func columnThatFTS5DoesNotTakeIsRefusedInASentence() {
        let notes = Table(name: "notes", columns: [.text("rank")], indexes: [.fullText(columns: ["rank"])])
        let error = #expect(throws: PowerSyncError.self) { try notes.validate() }
        #expect(error.map { "\($0)" }?.contains("'notes' cannot have the column 'rank'") == true)
    }

    @Test func otherViewNameIsRefusedInASentence() async throws {
        let schema = Schema(Table(name: "todos", columns: [], viewNameOverride: "tasks", direct: true))
        let error = #expect(throws: PowerSyncError.self) { try schema.validate() }
        #expect(error.map { "\($0)" }?.contains("'todos' cannot have another view name") == true)
        let database = PowerSyncDatabase(schema: schema, dbFilename: ":memory:")
        let refusal = await #expect(throws: PowerSyncError.self) { try await database.execute("SELECT 1") }
        #expect(refusal.map { "\($0)" }?.contains("another view name, 'tasks'") == true)
    }

    @Test func constraintsAreDeclaredInSwift() throws {
        let columns: [Column] = [
            .text("a"), .text("b", renamedFrom: "c", .notNull, .default("'x'")), .integer("d", .check("d > 0")),
            .real("e", .references("t", onDelete: .setNull)), Column(name: "f", type: .text, constraints: [.unique]),
        ]
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys]
        #expect(
            String(decoding: try encoder.encode(columns), as: UTF8.self) == """
                [{"name":"a","type":"text"},\
                {"constraints":["NOT NULL","DEFAULT ('x')"],"name":"b","renamed_from":"c","type":"text"},\
                {"constraints":["CHECK (d > 0)"],"name":"d","type":"integer"},\
                {"constraints":["REFERENCES \\"t\\"(\\"id\\") ON DELETE SET NULL DEFERRABLE INITIALLY DEFERRED"],\
                "name":"e","type":"real"},{"constraints":["UNIQUE"],"name":"f","type":"text"}]
                """
        )
        let table = Table(
            name: "t",
            columns: columns,
            direct: true,
            constraints: [.unique("a", "b"), .check("a < b"), .sql("X")]
        )
        let json = String(decoding: try encoder.encode(table), as: UTF8.self)
        #expect(json.contains(#""constraints":["UNIQUE (\"a\", \"b\")","CHECK (a < b)","X"],"direct":true"#))
    }
}

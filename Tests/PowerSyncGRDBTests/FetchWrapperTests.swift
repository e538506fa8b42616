import Dispatch
import GRDB
import PowerSync
import PowerSyncCoreTestSupport
import PowerSyncGRDB
import PowerSyncTesting
import Testing

/// What fetch wrappers of libraries on GRDB need of a pool (the page "Fetch wrappers").
///
/// They know the pool as `any DatabaseWriter`, read through an observation that is started on it and started again with every
/// other request, and write with `database.write`.
@MainActor @Suite(.timeLimit(.minutes(1))) struct FetchWrapperTests {
    private let harness: PoolHarness

    init() throws {
        harness = try PoolHarness()
    }

    /// A wrapper that does what they do.
    @MainActor private final class Fetched<Value: Sendable & Equatable> {
        private let database: any DatabaseWriter
        private var cancellable: AnyDatabaseCancellable?
        private let results: AsyncStream<Result<Value, any Error>>
        private let continuation: AsyncStream<Result<Value, any Error>>.Continuation

        init(_ database: any DatabaseWriter, _ fetch: @escaping @Sendable (Database) throws -> Value) {
            self.database = database
            (results, continuation) = AsyncStream.makeStream()
            load(fetch)
        }

        /// Another request takes the place of the one before.
        func load(_ fetch: @escaping @Sendable (Database) throws -> Value) {
            let observation = ValueObservation.tracking { db in Result { try fetch(db) } }
            cancellable = observation.start(
                in: database,
                scheduling: .async(onQueue: .main),
                onError: { [continuation] in continuation.yield(.failure($0)) },
                onChange: { [continuation] in continuation.yield($0) }
            )
        }

        /// Waits for an error.
        func waitForError() async -> (any Error)? {
            for await result in results {
                if case .failure(let error) = result { return error }
            }
            return nil
        }

        /// Waits until the wrapper has a value.
        func wait(for expected: Value) async {
            for await result in results {
                if case .success(expected) = result { return }
            }
        }
    }

    private static let names: @Sendable (Database) throws -> [String] = { db in
        try String.fetchAll(db, sql: #"SELECT "lists"."name" FROM "lists" ORDER BY "lists"."name""#)
    }

    @Test func aWrapperFollowsAppAndService() async throws {
        let stream = try await harness.connect()
        let (database, service) = (harness.pool as any DatabaseWriter, harness.service)
        let lists = Fetched(database, Self.names)
        await lists.wait(for: [])
        stream.send(Line.checkpoint(1), Line.put(1, "lists", "s", #"{"name":"Server"}"#), .done)
        await lists.wait(for: ["Server"])
        try await database.write { db in try List(id: "l", name: "App").insert(db) }
        await lists.wait(for: ["App", "Server"])
        let acknowledging = Task { try await service.nextWriteCheckpoint().respond(1) }
        try await acknowledging.value
        try await harness.database.disconnectAndClear()
        await lists.wait(for: [])
        try await harness.database.close()
    }

    @Test func anotherRequestTakesThePlaceOfTheFirst() async throws {
        try await harness.database.waitForReady()
        let database = harness.pool as any DatabaseWriter
        let lists = Fetched(database, Self.names)
        await lists.wait(for: [])
        for filter in ["A%", "B%", "%"] {
            lists.load { db in
                try String.fetchAll(
                    db,
                    sql: "SELECT name FROM lists WHERE name LIKE ? ORDER BY name",
                    arguments: [filter]
                )
            }
        }
        try await database.write { db in
            for name in ["A1", "B1"] { try List(id: name, name: name).insert(db) }
        }
        await lists.wait(for: ["A1", "B1"])
        lists.load { db in try String.fetchAll(db, sql: "SELECT name FROM lists WHERE name LIKE 'B%'") }
        await lists.wait(for: ["B1"])
    }

    @Test func afterAChangeOfTheSchemaWrappersGoOn() async throws {
        try await harness.database.waitForReady()
        let database = harness.pool as any DatabaseWriter
        let lists = Fetched(database, Self.names)
        await lists.wait(for: [])
        let fetchNotes: @Sendable (Database) throws -> [String] = {
            try String.fetchAll($0, sql: "SELECT text FROM notes")
        }
        let notes = Fetched(database, fetchNotes)
        #expect(await (notes.waitForError() as? DatabaseError)?.message?.contains("no such table") == true)
        let table = PowerSync.Table(name: "notes", columns: [.text("text")])
        try await harness.database.updateSchema(schema: Schema(tables: PoolHarness.schema.tables + [table]))
        notes.load(fetchNotes)
        try await database.write { db in
            try db.execute(sql: "INSERT INTO notes (id, text) VALUES ('1', 'new')")
            try List(id: "1", name: "A").insert(db)
        }
        await notes.wait(for: ["new"])
        await lists.wait(for: ["A"])
    }

    @Test
    func statementsAsQueryBuildersWriteThemAliasesJoinsWITHAndRETURNING() async throws {
        try await harness.database.waitForReady()
        let database = harness.pool as any DatabaseWriter
        try await database.write { db in
            let inserted = try Row.fetchAll(
                db,
                sql: """
                    INSERT INTO "lists" ("id", "name") VALUES (?, ?), (?, ?) RETURNING "id", "name"
                    """,
                arguments: ["1", "Groceries", "2", "Garden"]
            )
            #expect(inserted.map { $0["name"] as String } == ["Groceries", "Garden"])
            let updated = try String.fetchAll(
                db,
                sql: #"UPDATE "lists" SET "name" = "lists"."name" || '!' WHERE ("lists"."id" = ?) RETURNING "name""#,
                arguments: ["1"]
            )
            #expect(updated == ["Groceries!"])
            try db.execute(
                sql: """
                    INSERT INTO "todos" ("id", "list_id", "title", "done") SELECT 'a', "lists"."id", 'Milk', 0 FROM "lists"
                    WHERE "lists"."id" = '1'
                    """
            )
            let counts = try Row.fetchAll(
                db,
                sql: """
                    WITH "open" AS (SELECT * FROM "todos" WHERE (NOT "todos"."done"))
                    SELECT "l"."name", count("o"."id") AS "count" FROM "lists" AS "l"
                    LEFT JOIN "open" AS "o" ON ("o"."list_id" IS "l"."id") GROUP BY "l"."id" ORDER BY "l"."name"
                    """
            )
            #expect(counts.map { $0["count"] as Int } == [0, 1])
            let deleted = try String.fetchAll(db, sql: #"DELETE FROM "lists" WHERE ("id" = '2') RETURNING "id""#)
            #expect(deleted == ["2"])
        }
        let uploaded = try await harness.database.getCrudBatch()?.crud.map { "\($0.op.rawValue) \($0.table) \($0.id)" }
        #expect(uploaded == ["PUT lists 1", "PUT lists 2", "PATCH lists 1", "PUT todos a", "DELETE lists 2"])
    }
}

import Foundation
import GRDB
import PowerSync
import PowerSyncGRDB
import Testing

@Suite(.timeLimit(.minutes(1))) struct RecordTests {
    private let harness: PoolHarness

    init() throws {
        harness = try PoolHarness()
    }

    @Test func recordsAndPowerSyncSeeTheSameRows() async throws {
        try await harness.database.execute("INSERT INTO lists (id, name) VALUES ('1', 'Groceries')")
        #expect(try await harness.pool.read { try List.fetchAll($0) } == [List(id: "1", name: "Groceries")])

        try await harness.pool.write { try List(id: "2", name: "Garden").insert($0) }
        let names = try await harness.database.getAll("SELECT name FROM lists ORDER BY id") { cursor in
            try cursor.getString(name: "name")
        }
        #expect(names == ["Groceries", "Garden"])
        #expect(try await harness.database.getUploadQueueStats().count == 2)
    }

    @Test func viewsHaveAPrimaryKey() async throws {
        try await harness.database.waitForReady()
        try await harness.pool.write { db in
            var list = List(id: "1", name: "Groceries")
            try list.insert(db)
            list.name = "Food"
            try list.update(db)
            #expect(try List.find(db, id: "1") == list)
            try #expect(list.updateChanges(db) { $0.name = "Drinks" })
            #expect(try List.fetchOne(db, key: "1")?.name == "Drinks")
            #expect(try List.deleteOne(db, key: "1"))
            #expect(try !List.deleteOne(db, key: "1"))
            #expect(throws: RecordError.self) { try list.update(db) }
        }
        let operations = try await harness.database.getCrudBatch()?.crud.map(\.op)
        #expect(operations == [.put, .patch, .patch, .delete])
    }

    @Test func recordsAreSavedAndNotUpserted() async throws {
        try await harness.database.waitForReady()
        try await harness.pool.write { db in
            try List(id: "1", name: "Groceries").save(db)
            try List(id: "1", name: "Food").save(db)
            #expect(try List.fetchAll(db) == [List(id: "1", name: "Food")])
            let error = #expect(throws: DatabaseError.self) { try List(id: "1", name: "Drinks").upsert(db) }
            #expect(error?.message?.contains("UPSERT") == true)
        }
    }

    @Test func associationsJoinViews() async throws {
        try await harness.database.waitForReady()
        try await harness.pool.write { db in
            try List(id: "1", name: "Groceries").insert(db)
            try Todo(id: "a", listID: "1", title: "Milk", done: false, weight: 1.5).insert(db)
            try Todo(id: "b", listID: "1", title: "Bread", done: true).insert(db)
        }
        struct ListWithTodos: Decodable, Equatable, FetchableRecord {
            var list: List
            var todos: [Todo]
        }
        let lists = try await harness.pool.read { db in
            try List.including(all: List.todos.order(GRDB.Column("title")))
                .asRequest(of: ListWithTodos.self).fetchAll(db)
        }
        #expect(lists.map(\.todos).first?.map(\.title) == ["Bread", "Milk"])
        let open = try await harness.pool.read { db in
            try Todo.filter(GRDB.Column("done") == false).joining(required: Todo.list).fetchCount(db)
        }
        #expect(open == 1)
    }

    @Test func theAppsSchemaSourceAnswersForItsOwnViews() async throws {
        struct ReportSource: DatabaseSchemaSource {
            func columnsForPrimaryKey(_ db: Database, inView view: DatabaseObjectID) throws -> [String]? {
                view.name == "report" ? ["name"] : nil
            }
        }
        let harness = try PoolHarness { configuration in
            configuration.schemaSource = ReportSource()
            try configuration.configurePowerSync(schema: PoolHarness.schema)
        }
        try await harness.database.waitForReady()
        try await harness.pool.write { db in
            try db.execute(sql: "CREATE VIEW report AS SELECT name FROM lists")
            #expect(try db.primaryKey("report").columns == ["name"])
            #expect(try db.primaryKey("lists").columns == ["id"])
        }
    }

    @Test func valuesComeBackAsTheyWere() async throws {
        let blobs = try await harness.database.get(
            sql: "SELECT ?, ?, ?, ?, ?, ?, typeof(?), typeof(?)",
            parameters: [nil, true, Int32.max, Int64.min, 1.5, "text", Data(), Data([0, 255])]
        ) { cursor in
            #expect(cursor.getStringOptional(index: 0) == nil)
            #expect(try cursor.getBoolean(index: 1))
            #expect(try cursor.getInt64(index: 2) == Int64(Int32.max))
            #expect(try cursor.getInt64(index: 3) == Int64.min)
            #expect(try cursor.getDouble(index: 4) == 1.5)
            #expect(try cursor.getString(index: 5) == "text")
            return [try cursor.getString(index: 6), try cursor.getString(index: 7)]
        }
        #expect(blobs == ["blob", "blob"])

        let values: [PowerSyncDataType] = [
            .bool(true), .int32(1), .int64(2), .double(1.5), .string("a"), .data(Data([1])),
        ]
        let row = try await harness.pool.read { db in
            try Row.fetchOne(db, sql: "SELECT ?, ?, ?, ?, ?, ?", arguments: StatementArguments(values))
                .map { Array($0.databaseValues) }
        }
        let expected: [any DatabaseValueConvertible] = [1, 1, 2, 1.5, "a", Data([1])]
        #expect(row == expected.map(\.databaseValue))
    }

    @Test func errorsNameTheTable() async throws {
        let error = await #expect(throws: PowerSyncError.self) {
            try await harness.database.getAll("SELECT * FROM usersfail") { _ in () }
        }
        #expect(error?.localizedDescription.contains("usersfail") == true)
    }

    @Test func functionsAreOnEveryConnection() async throws {
        try await harness.database.waitForReady()
        let identifiers = try await harness.pool.read { db in
            try String.fetchAll(db, sql: "SELECT uuid() UNION ALL SELECT powersync_client_id()")
        }
        #expect(identifiers.count == 2)
        #expect(try await harness.database.getClientId() == identifiers.last)
        try await harness.pool.write { db in
            try List(id: "1", name: "Groceries").insert(db)
            try db.execute(sql: "SELECT powersync_clear(1)")
            #expect(try List.fetchCount(db) == 0)
        }
        let status = try await harness.pool.read {
            try String.fetchOne($0, sql: "SELECT powersync_offline_sync_status()")
        }
        #expect(status?.hasPrefix(#"{"connected":false"#) == true)
    }
}

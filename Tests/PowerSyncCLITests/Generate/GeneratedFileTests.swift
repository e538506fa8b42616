import Foundation
import PowerSync
import PowerSyncSyncConfig
import PowerSyncTesting
import Testing

@testable import PowerSyncGenerator

/// `Synced.swift`, which was generated and is compiled here, in use.
@Suite(.timeLimit(.minutes(1))) struct GeneratedFileTests {
    private static let root = URL(filePath: #filePath).appending(path: "../../../..").standardizedFileURL
    private static let folder = "Tests/Fixtures/Generate"
    private static let output = "Tests/PowerSyncCLITests/Generate/Synced.swift"

    private func text(_ path: String) throws -> String {
        try String(contentsOf: Self.root.appending(path: path), encoding: .utf8)
    }

    @Test func theFileIsWhatIsGenerated() throws {
        let tables = try DeclaredTable.all(in: Self.root.appending(path: "\(Self.folder)/schema.sql").path)
        let plan = try #require(SyncConfig.parse(try text("\(Self.folder)/sync.yaml")).plan)
        var options = SwiftSource.Options()
        options.usesDates = true
        options.inputs = ["sync.yaml", "schema.sql"]
        options.command = """
            powersync generate swift \(Self.folder)/sync.yaml --schema \(Self.folder)/schema.sql --output \(Self.output) --dates
            """
        let generated = try SwiftSource(ClientModel(plan, source: DeclaredSource(tables)), options).text
        let difference = TextDifference(from: try text(Self.output), to: generated)
        #expect(difference?.lines == nil, "run: \(options.command)")
    }

    @Test func rowsAreWrittenAndRead() async throws {
        let database = PowerSyncDatabase(inMemory: Synced.schema, logger: DefaultLogger(minSeverity: .fault))
        let list = Synced.ListsRow(
            id: "l1",
            ownerID: "u1",
            name: "Groceries",
            createdAt: Date(timeIntervalSince1970: 1_700_000_000),
            archived: false
        )
        let todo = Synced.TodosRow(
            id: "t1",
            listID: "l1",
            title: "Milk",
            default: nil,
            position: 2,
            estimate: 0.5,
            price: Decimal(string: "12345678901234567890.12"),
            done: true
        )
        try await database.insert(list, into: Synced.ListsRow.tableName)
        try await database.insert(todo, into: Synced.TodosRow.tableName)
        #expect(try await database.getAll("SELECT * FROM lists", as: Synced.ListsRow.self) == [list])
        #expect(try await database.getAll("SELECT * FROM todos WHERE done", as: Synced.TodosRow.self) == [todo])
        try Synced.schema.checkingRows(of: "lists", as: Synced.ListsRow.self)
            .checkingRows(of: "todos", as: Synced.TodosRow.self).validate()
        let uploads = try #require(try await database.getCrudBatch()).crud.compactMap(\.opDataTyped)
        #expect(uploads.map { $0["archived"] } == [.bool(false), nil])
        guard case .string(let date)? = uploads[0]["created_at"] else {
            Issue.record("\(uploads)")
            return
        }
        #expect(date.hasPrefix("2023-11-14T22:13:20") && date.hasSuffix("Z"))
        #expect(uploads.map { $0["done"] } == [nil, .bool(true)])
        #expect(uploads.map { $0["price"] } == [nil, .string("12345678901234567890.12")])
    }

    @Test func subscriptionsHaveTheParametersThatAreGiven() {
        let database = PowerSyncDatabase(inMemory: Synced.schema, logger: DefaultLogger(minSeverity: .fault))
        #expect(Synced.Streams.myLists(database).parameters == nil)
        let page = Synced.Streams.page(database, done: false, ids: ["a"], in: 3)
        #expect(page.name == "page")
        #expect(page.parameters == ["done": .bool(false), "ids": .array([.string("a")]), "in": .int(3)])
        #expect(Synced.Streams.found(database).parameters == [:])
        let others: JsonParam = ["name": .null, "filter": .object(["name": .string("Home")])]
        let found = Synced.Streams.found(database, name: .string("Work"), others: others)
        #expect(found.parameters == ["name": .string("Work"), "filter": .object(["name": .string("Home")])])
    }

    @Test func clientsSyncThroughTheGeneratedStreams() async throws {
        let service = try FakeService(streams: try text("\(Self.folder)/sync.yaml"))
        try service.put("lists", ["id": "l1", "owner_id": "u1", "name": "Groceries", "archived": false])
        try service.put(
            "todos",
            ["id": "t1", "list_id": "l1", "title": "Milk", "position": 1, "done": false, "price": "1.50"],
            ["id": "t2", "list_id": "l1", "title": "Tea", "position": 2, "done": true],
            ["id": "t3", "list_id": "other", "title": "Hidden", "position": 2, "done": true]
        )
        let database = PowerSyncDatabase(inMemory: Synced.schema, logger: DefaultLogger(minSeverity: .fault))
        try await database.connect(connector: service.connector(user: "u1"))
        let page = try await Synced.Streams.page(database, done: true, ids: ["t1", "t2", "t3"], in: 2).subscribe()
        try await page.waitForFirstSync()
        let paged = try await database.getAll("SELECT * FROM todos", as: Synced.TodosRow.self)
        #expect(paged.map(\.id) == ["t2"])

        let todos = try await Synced.Streams.todos(database, listID: "l1").subscribe()
        try await todos.waitForFirstSync()
        let rows = try await database.getAll("SELECT * FROM todos ORDER BY id", as: Synced.TodosRow.self)
        #expect(rows.map(\.title) == ["Milk", "Tea"] && rows.map(\.price) == [Decimal(string: "1.50"), nil])

        let summaries = try await Synced.Streams.summaries(database).subscribe()
        try await summaries.waitForFirstSync()
        let summary = try await database.get("SELECT * FROM summaries", as: Synced.SummariesRow.self)
        #expect(summary == Synced.SummariesRow(id: "l1", title: "GROCERIES", size: 9))
        let lists = try await database.getAll("SELECT * FROM lists", as: Synced.ListsRow.self)
        #expect(lists.map(\.ownerID) == ["u1"] && lists.map(\.archived) == [false])
        try await database.close()
        withExtendedLifetime((page, todos, summaries)) {}
    }
}

import Foundation
import PowerSyncCoreTestSupport
import PowerSyncProtocol
import PowerSyncTesting
import Testing

@testable import PowerSyncClient

/// Raw tables in the hands of an app, with the real SDK on a scripted service.
@Suite(.timeLimit(.minutes(1))) struct RawTableTests {
    private static let inferred = RawTable(
        name: "todos",
        schema: RawTableSchema(tableName: "local_todos"),
        clear: "DELETE FROM local_todos"
    )

    private func harness(_ table: RawTable = inferred) -> SyncHarness {
        SyncHarness(schema: Schema(Table(name: "lists", columns: [.text("name")]), table))
    }

    private func createTable(
        _ database: any PowerSyncDatabaseProtocol,
        _ columns: String = "list_id TEXT, title TEXT, draft TEXT"
    ) async throws {
        try await database.execute("CREATE TABLE local_todos (id TEXT PRIMARY KEY, \(columns))")
    }

    private func createTrigger(
        _ write: String,
        _ table: RawTable,
        _ database: any PowerSyncDatabaseProtocol
    ) async throws {
        try await database.execute(
            sql: "SELECT powersync_create_raw_table_crud_trigger(?, ?, ?)",
            parameters: [table.jsonDescription(), "todos_\(write)", write]
        )
    }

    private func entries(_ database: any PowerSyncDatabaseProtocol) async throws -> [CrudEntry] {
        var entries: [CrudEntry] = []
        for try await transaction in database.getCrudTransactions() {
            entries += transaction.crud
        }
        return entries
    }

    private func texts(_ sql: String, _ database: any PowerSyncDatabaseProtocol) async throws -> [String?] {
        try await database.getAll(sql) { $0.getStringOptional(index: 0) }
    }

    // MARK: - Triggers

    @Test
    func insertTriggerYieldsOnePUT() async throws {
        let database = harness().database
        try await createTable(database)
        try await createTrigger("INSERT", Self.inferred, database)
        try await database.execute("INSERT INTO local_todos (id, title) VALUES ('1', 'Milk')")
        let entries = try await entries(database)
        #expect(entries.map(\.op) == [.put])
        #expect(entries.first?.table == "todos")
        #expect(entries.first?.opData == ["title": "Milk"])
    }

    @Test
    func updateTriggerYieldsOnePATCHAndNoneForAColumnThatIsNotSynced() async throws {
        let table = RawTable(
            name: "todos",
            schema: RawTableSchema(
                tableName: "local_todos",
                syncedColumns: ["title"],
                options: TableOptions(trackPreviousValues: .init(), ignoreEmptyUpdates: true)
            )
        )
        let database = harness(table).database
        try await createTable(database)
        try await database.execute("INSERT INTO local_todos (id, title) VALUES ('1', 'Milk')")
        try await createTrigger("UPDATE", table, database)
        try await database.execute("UPDATE local_todos SET draft = 'x'")
        #expect(try await entries(database).isEmpty)
        try await database.execute("UPDATE local_todos SET title = 'Bread'")
        let entries = try await entries(database)
        #expect(entries.map(\.op) == [.patch])
        #expect(entries.first?.opData == ["title": "Bread"])
        #expect(entries.first?.previousValues == ["title": "Milk"])
    }

    // MARK: - Syncing

    private static let explicit = RawTable(
        name: "todos",
        put: PendingStatement(
            sql: "INSERT OR REPLACE INTO local_todos (id, title, draft) VALUES (?, ?, ?)",
            parameters: [.id, .column("title"), .rest]
        ),
        delete: PendingStatement(sql: "DELETE FROM local_todos WHERE id = ?", parameters: [.id])
    )

    @Test(
        arguments: [(inferred, "l|Milk|"), (explicit, #"|Milk|{"list_id":"l","other":[1]}"#)]
    )
    func putsAndRemovesArrive(_ table: RawTable, _ stored: String) async throws {
        let harness = harness(table)
        try await createTable(harness.database)
        let stream = try await harness.connectAndAccept()
        stream.send(
            .checkpoint(2, [.bucket("a")]),
            .row("a", 1, "todos", "1", #"{"title":"Milk","list_id":"l","other":[1]}"#),
            .row("a", 2, "todos", "2", "{}"),
            .done
        )
        try await harness.database.waitForFirstSync()
        let row =
            "SELECT ifnull(list_id, '') || '|' || title || '|' || ifnull(draft, '') FROM local_todos WHERE id = '1'"
        #expect(try await texts(row, harness.database) == [stored])
        var counts = try harness.database.watch("SELECT count(*) FROM local_todos") { try $0.getInt(index: 0) }
            .makeAsyncIterator()
        #expect(try await counts.next() == [2])
        stream.send(.checkpoint(3, [.bucket("a")]), .row("a", 3, "todos", "1", nil), .done)
        while let count = try await counts.next(), count != [1] {}
        #expect(try await texts("SELECT id FROM local_todos", harness.database) == ["2"])
    }

    // MARK: - Watching

    @Test(arguments: [
        "SELECT title FROM local_todos ORDER BY title",
        "SELECT t.title FROM local_todos t JOIN lists l ON l.id = t.list_id ORDER BY t.title",
    ])
    func watchFollowsDownloadsAndLocalWrites(_ sql: String) async throws {
        let harness = harness()
        try await createTable(harness.database)
        for write in ["INSERT", "UPDATE", "DELETE"] {
            try await createTrigger(write, Self.inferred, harness.database)
        }
        var titles = try harness.database.watch(
            options: WatchOptions(sql: sql, throttle: 0) {
                try $0.getString(index: 0)
            }
        ).makeAsyncIterator()
        #expect(try await titles.next() == [])
        let stream = try await harness.connectAndAccept()
        stream.send(
            .checkpoint(2, [.bucket("a")]),
            .row("a", 1, "lists", "l", #"{"name":"Shopping"}"#),
            .row("a", 2, "todos", "1", #"{"title":"Milk","list_id":"l"}"#),
            .done
        )
        while let titles = try await titles.next(), titles != ["Milk"] {}
        stream.send(
            .checkpoint(3, [.bucket("a")]),
            .row("a", 3, "todos", "2", #"{"title":"Bread","list_id":"l"}"#),
            .done
        )
        while let titles = try await titles.next(), titles != ["Bread", "Milk"] {}
        try await harness.database.execute("UPDATE local_todos SET title = 'Wine' WHERE id = '1'")
        while let titles = try await titles.next(), titles != ["Bread", "Wine"] {}
        try await harness.database.disconnectAndClear()
        while let titles = try await titles.next(), titles != [] {}
    }

    // MARK: - Migrations

    @Test func columnThatIsAddedBetweenCheckpointsIsFilled() async throws {
        let harness = harness()
        try await createTable(harness.database, "title TEXT")
        let stream = try await harness.connectAndAccept()
        stream.send(
            .checkpoint(1, [.bucket("a")]),
            .row("a", 1, "todos", "1", #"{"title":"Milk","amount":1}"#),
            .done
        )
        try await harness.database.waitForFirstSync()
        try await harness.database.execute("ALTER TABLE local_todos ADD COLUMN amount INTEGER")
        var amounts = try harness.database.watch("SELECT amount FROM local_todos") { $0.getIntOptional(index: 0) }
            .makeAsyncIterator()
        #expect(try await amounts.next() == [nil])
        stream.send(
            .checkpoint(2, [.bucket("a")]),
            .row("a", 2, "todos", "1", #"{"title":"Milk","amount":2}"#),
            .done
        )
        while let amounts = try await amounts.next(), amounts != [2] {}
    }

    @Test func managedTableBecomesRaw() async throws {
        let harness = SyncHarness(schema: Schema(Table(name: "todos", columns: [.text("title")])))
        let first = try await harness.connectAndAccept()
        first.send(
            .checkpoint(2, [.bucket("a")]),
            .row("a", 1, "todos", "1", #"{"title":"Milk"}"#),
            .row("a", 2, "todos", "2", #"{"title":"Bread"}"#),
            .done
        )
        try await harness.database.waitForFirstSync()
        try await harness.database.disconnect()

        try await harness.database.updateSchema(schema: Schema(Self.inferred))
        #expect(try await texts("SELECT id FROM ps_untyped ORDER BY id", harness.database) == ["1", "2"])
        try await harness.database.writeTransaction { transaction in
            try transaction.execute(
                sql: "CREATE TABLE local_todos (id TEXT PRIMARY KEY, title TEXT, length INTEGER)",
                parameters: []
            )
            try transaction.execute(
                sql: """
                    INSERT INTO local_todos (id, title)
                    SELECT id, data ->> 'title' FROM ps_untyped WHERE type = 'todos' AND id = '1'
                    """,
                parameters: []
            )
            try transaction.execute(sql: "DELETE FROM ps_untyped WHERE type = 'todos'", parameters: [])
            // The other row was not taken along: it comes with the next checkpoint.
            _ = try transaction.get(sql: "SELECT powersync_trigger_resync(0)", parameters: []) { _ in }
        }
        #expect(try await texts("SELECT title FROM local_todos", harness.database) == ["Milk"])

        let second = try await harness.connectAndAccept()
        var titles = try harness.database.watch("SELECT title FROM local_todos ORDER BY id") {
            try $0.getString(index: 0)
        }.makeAsyncIterator()
        second.send(.checkpoint(2, [.bucket("a")]), .done)
        while let titles = try await titles.next(), titles != ["Milk", "Bread"] {}
        #expect(try await texts("SELECT id FROM ps_untyped", harness.database) == [])
    }

    // MARK: - Errors

    @Test func failureTellsTheAppTheRowAndTheLogNothingOfIt() async throws {
        let harness = harness()
        try await createTable(harness.database)
        let stream = try await harness.connectAndAccept()
        stream.send(
            .checkpoint(1, [.bucket("a")]),
            .row("a", 1, "todos", "id-of-row", #"["secret title"]"#),
            .done
        )
        try await harness.wait { $0.downloadError != nil }
        let error = try #require(harness.database.currentStatus.downloadError as? PowerSyncError)
        #expect(error.localizedDescription.contains("not a JSON object"))
        #expect(
            error.localizedDescription.contains(
                #"(context: replacing into todos, id = id-of-row, data = ["secret title"])"#
            )
        )
        for severity in [LogSeverity.debug, .info, .warning, .error] {
            for message in harness.log.messages(severity) {
                #expect(!message.contains("secret"))
                #expect(!message.contains("id-of-row"))
            }
        }
        #expect(harness.log.messages(.error).contains { $0.contains("raw table todos") })
    }

    @Test func rowThatAConstraintRefusesIsInTheStatusAndStopsNothing() async throws {
        let harness = harness()
        try await createTable(harness.database, "title TEXT CHECK (length(title) < 5)")
        let stream = try await harness.connectAndAccept()
        stream.send(
            .checkpoint(3, [.bucket("a")]),
            .row("a", 1, "todos", "1", #"{"title":"secret title"}"#),
            .row("a", 2, "todos", "2", #"{"title":"Milk"}"#),
            .row("a", 3, "lists", "l", #"{"name":"Shop"}"#),
            .done
        )
        try await harness.wait { $0.lastSyncedAt != nil }
        let status = harness.database.currentStatus
        #expect(
            status.setAsideRows == [
                SetAsideRow(table: "todos", id: "1", reason: "CHECK constraint failed: length(title) < 5")
            ]
        )
        #expect(status.downloadError == nil)
        #expect("\(status)".contains("1 row set aside"))
        #expect(try await texts("SELECT title FROM local_todos", harness.database) == ["Milk"])
        #expect(try await texts("SELECT name FROM lists", harness.database) == ["Shop"])
        #expect(harness.log.messages(.warning).contains { $0.contains("'todos'") && $0.contains("'1'") })
        for severity in [LogSeverity.debug, .info, .warning, .error] {
            #expect(!harness.log.messages(severity).contains { $0.contains("secret") })
        }
        stream.send(.checkpoint(4, [.bucket("a")]), .row("a", 4, "todos", "1", #"{"title":"Eggs"}"#), .done)
        try await harness.wait { $0.setAsideRows.isEmpty }
        #expect(try await texts("SELECT title FROM local_todos ORDER BY id", harness.database) == ["Eggs", "Milk"])
    }

    @Test func failureToClearIsThrown() async throws {
        let database = harness(RawTable(name: "todos", schema: RawTableSchema(), clear: "DELETE FROM missing")).database
        let error = await #expect(throws: PowerSyncError.self) { try await database.disconnectAndClear() }
        #expect(error?.localizedDescription.contains("no such table: missing") == true)
        #expect(error?.localizedDescription.contains("Clearing raw table todos") == true)
    }
}

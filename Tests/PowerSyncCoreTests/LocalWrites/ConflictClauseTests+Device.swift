import GRDB
import PowerSyncCoreTestSupport
import PowerSyncProtocol
import PowerSyncSQLite
import Testing

@testable import PowerSyncCore

extension ConflictClauseTests {
    /// A database with a table `items`, a plain one that gets the same statements, and a server that gets the queue.
    struct Device {
        let local: LocalTestDatabase
        private let plain: DatabaseQueue
        private let server: DatabaseQueue
        private let kind: Kind
        private let rows = "SELECT id, name, n FROM items ORDER BY id"

        init(_ kind: Kind, withTriggers: Bool) throws {
            self.kind = kind
            let create = "CREATE TABLE items (id TEXT PRIMARY KEY NOT NULL, \(kind.columns))"
            let indexes = kind.indexes.map { $0.replacing("TABLE", with: "items") }
            var configuration = Configuration()
            configuration.prepareDatabase { try $0.execute(sql: "PRAGMA recursive_triggers = OFF") }
            plain = try DatabaseQueue(configuration: configuration)
            server = try DatabaseQueue()
            for queue in [plain, server] {
                try queue.write { try $0.execute(sql: "\(create)\n;\n\(indexes.joined(separator: "\n;\n"))") }
            }
            let table: String
            if kind.isRaw {
                table = "items"
                local = try LocalTestDatabase(schema: ClientSchema())
                try local.write("\(create)\n;\n\(indexes.joined(separator: "\n;\n"))")
                try Device.createTriggers(local, ClientTableOptions())
            } else if !kind.direct.isEmpty {
                table = "items"
                let schema = ClientSchema(
                    tables: [ClientTable(name: "items", columns: kind.direct, options: .init(), isDirect: true)]
                )
                local = try LocalTestDatabase(schema: schema)
                try indexes.forEach { try local.write($0) }
                // The triggers learn of keys that the app has added.
                try local.apply(schema)
            } else {
                table = "ps_data__items"
                let columns = [ClientColumn(name: "name", type: .text), ClientColumn(name: "n", type: .integer)]
                local = try LocalTestDatabase(.items(columns))
                for index in kind.indexes {
                    let pattern = { (name: String) in "json_extract(data, '$.\(name)')" }
                    let sql = index.replacing("name", with: pattern("name")).replacing(/\bn\b/, with: pattern("n"))
                    try local.write(sql.replacing("TABLE", with: table))
                }
            }
            let fill =
                "INSERT INTO items (id, name, n) VALUES ('a', 'x', 1), ('b', 'y', 2), ('c', 'z', 3), ('d', 'd', 4)"
            for queue in [plain, server, local.queue] { try queue.write { try $0.execute(sql: fill) } }
            try local.write("DELETE FROM ps_crud")
            guard withTriggers else { return }
            for (queue, table) in [(plain, "items"), (local.queue, table)] {
                try queue.write { db in
                    try db.execute(sql: "CREATE TABLE log (what)")
                    for event in ["INSERT", "UPDATE", "DELETE"] {
                        let row = event == "DELETE" ? "OLD" : "NEW"
                        try db.execute(
                            sql: """
                                CREATE TRIGGER log_\(event) AFTER \(event) ON \(table) BEGIN
                                INSERT INTO log VALUES ('\(event) ' || \(row).id); END
                                """
                        )
                    }
                    guard kind.takesUpserts else { return }
                    // It would never end with recursive triggers.
                    try db.execute(
                        sql:
                            "CREATE TRIGGER touch AFTER UPDATE ON items BEGIN UPDATE items SET n = n WHERE id = NEW.id; END"
                    )
                }
            }
        }

        static func createTriggers(
            _ database: LocalTestDatabase,
            _ options: ClientTableOptions,
            syncedColumns: [String]? = nil
        ) throws {
            let structure = ClientRawTable.Structure(
                tableName: "items",
                syncedColumns: syncedColumns,
                options: options
            )
            let table = ClientRawTable(name: "items", structure: structure)
            for write in ["INSERT", "UPDATE", "DELETE"] {
                try database.run(
                    "SELECT powersync_create_raw_table_crud_trigger(?, ?, ?)",
                    [table.json.text, "items_\(write)", write]
                )
            }
        }

        /// Runs statements in both databases, in one transaction if there are several; each may fail.
        func run(_ statements: [String]) throws {
            let statements = statements.filter { kind.takesUpserts || !$0.contains("ON CONFLICT") }
            func run(_ queue: DatabaseQueue) throws -> [Int64] {
                try queue.writeWithoutTransaction { db in
                    if statements.count > 1 { try db.execute(sql: "BEGIN") }
                    let counts = try statements.map { statement -> Int64 in
                        let connection = try #require(db.sqliteConnection)
                        let changes = RowChanges(of: SQLText.changedTable(statement), on: connection)
                        do { try db.execute(sql: statement) } catch { return -1 }
                        return changes.count
                    }
                    if statements.count > 1 { try db.execute(sql: "COMMIT") }
                    return counts
                }
            }
            #expect(try run(local.queue) == run(plain), "changed rows (-1: error) of \(statements)")
        }

        /// Applies the queue to the server, and compares all.
        func check(_ history: String) throws {
            let rows = try local.rows(rows)
            #expect(
                rows == (try texts(plain, self.rows)),
                "device and plain SQLite, \(kind.testDescription): \(history)"
            )
            let writes = try local.queue.read { try UploadQueue.batch($0, limit: 10_000) }?.writes ?? []
            do {
                try server.write { db in for write in writes { try apply(write, db) } }
            } catch {
                Issue.record("\(kind.testDescription): the server refuses \(writes): \(error), \(history)")
            }
            #expect(rows == (try texts(server, self.rows)), "device and server, \(kind.testDescription): \(history)")
            if try local.integer("SELECT count(*) FROM sqlite_master WHERE name = 'log'") == 1 {
                let log = "SELECT what FROM log ORDER BY rowid"
                #expect(try local.rows(log) == texts(plain, log), "triggers, \(kind.testDescription): \(history)")
            }
        }

        private func texts(_ queue: DatabaseQueue, _ sql: String) throws -> [String] {
            try queue.read { db in
                try Row.fetchAll(db, sql: sql).map { row in
                    row.databaseValues.map { $0.isNull ? "" : String.fromDatabaseValue($0) ?? "\($0)" }
                        .joined(separator: "|")
                }
            }
        }

        private func apply(_ write: QueuedWrite, _ db: Database) throws {
            var values: [(name: String, value: DatabaseValue)] = [("id", write.rowID.databaseValue)]
            for member in write.data?.members ?? [] {
                let text = (["value": member.value] as JSONObject).text
                let value = try DatabaseValue.fetchOne(db, sql: "SELECT json_extract(?, '$.value')", arguments: [text])
                values.append((member.name, value ?? .null))
            }
            let arguments = StatementArguments(values.map(\.value))
            switch write.kind {
            case .delete: try db.execute(sql: "DELETE FROM items WHERE id = ?", arguments: [write.rowID])
            case .put:
                // The service's constraints refuse what is in the way.
                let names = values.map(\.name).joined(separator: ", ")
                let marks = values.map { _ in "?" }.joined(separator: ", ")
                try db.execute(sql: "DELETE FROM items WHERE id = ?", arguments: [write.rowID])
                try db.execute(sql: "INSERT OR ABORT INTO items (\(names)) VALUES (\(marks))", arguments: arguments)
            case .patch:
                guard values.count > 1 else { return }
                let assignments = values.dropFirst().map { "\($0.name) = ?" }.joined(separator: ", ")
                try db.execute(
                    sql: "UPDATE OR ABORT items SET \(assignments) WHERE id = ?",
                    arguments: StatementArguments((values.dropFirst() + [values[0]]).map(\.value))
                )
            }
        }
    }
}

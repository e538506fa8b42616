import GRDB
import IntegrationTestSupport
import PowerSync
import PowerSyncService
import Testing

/// SDK and service in one process, over HTTP and WebSocket on a loopback port.
@Suite(.timeLimit(.minutes(2)))
struct EndToEndTests {
    private let service: TodoService

    init() throws {
        service = try TodoService()
    }

    private static let transports: [SyncTransportMethod] = [.http, .webSocket]

    /// Ways in which lines travel: BSON and NDJSON over HTTP, BSON over WebSocket.
    ///
    /// The rows are in views, or in direct tables.
    private static let ways: [(ServiceConfiguration.ResponseFormats, SyncTransportMethod, isDirect: Bool)] = [
        (.all, .http, false), (.all, .http, true), (.ndjsonOnly, .http, false), (.all, .webSocket, false),
    ]

    private static func options(_ transport: SyncTransportMethod) -> ConnectOptions {
        var options = ConnectOptions()
        options.retryDelay = 0.2
        options.clientConfiguration = SyncClientConfiguration(transport: transport)
        return options
    }

    @Test(arguments: ways)
    func offlineWritesReachTheSourceAndOtherClients(
        formats: ServiceConfiguration.ResponseFormats,
        transport: SyncTransportMethod,
        isDirect: Bool
    ) async throws {
        let options = Self.options(transport)
        let schema = isDirect ? TodoService.directSchema : TodoService.schema
        // Each kind of client sees what the other has written.
        let (first, second, stranger) = (
            service.client("first", schema: schema), service.client("second"),
            service.client("stranger", schema: schema)
        )
        try await first.writeTransaction { transaction in
            try transaction.execute(
                sql: "INSERT INTO lists(id, owner_id, name) VALUES ('l1', 'anna', 'Groceries')",
                parameters: nil
            )
            try transaction.execute(
                sql: "INSERT INTO todos(id, list_id, title, done) VALUES ('t1', 'l1', 'Milk 🥛', 0)",
                parameters: nil
            )
        }
        var configuration = service.configuration
        configuration.formats = formats
        try await service.run(configuration) { address in
            try await first.connect(connector: service.connector("anna", address.url), options: options)
            try await second.connect(connector: service.connector("anna", address.url), options: options)
            try await stranger.connect(connector: service.connector("bert", address.url), options: options)
            try await first.waitForFirstSync()
            try await second.waitForRows(of: "todos", toEqual: [["t1", "l1", "Milk 🥛", "0"]])
            try await second.waitForRows(of: "lists", toEqual: [["l1", "anna", "Groceries"]])

            // Live: an update, a row that leaves the user's buckets, and a delete.
            try await second.execute("UPDATE todos SET done = 1 WHERE id = 't1'")
            try await first.waitForRows(of: "todos", toEqual: [["t1", "l1", "Milk 🥛", "1"]])
            try await service.writeToSource { db in
                try db.execute(sql: "INSERT INTO lists(id, owner_id, name) VALUES ('l2', 'anna', 'Work')")
                try db.execute(sql: "UPDATE lists SET owner_id = 'bert' WHERE id = 'l1'")
            }
            try await first.waitForRows(of: "lists", toEqual: [["l2", "anna", "Work"]])
            try await first.waitForRows(of: "todos", toEqual: [])
            try await stranger.waitForRows(of: "todos", toEqual: [["t1", "l1", "Milk 🥛", "1"]])
            if isDirect {
                // What a constraint refuses is not queued; what a statement of SQL changes is.
                await #expect(throws: PowerSyncError.self) { try await stranger.execute("UPDATE todos SET done = 7") }
                try await stranger.execute(
                    """
                    INSERT INTO todos (id, list_id, title) VALUES ('t1', 'l1', 'x'), ('t2', 'l1', 'Bread')
                    ON CONFLICT (id) DO UPDATE SET done = 0
                    """
                )
                try await stranger.waitForEmptyQueue()
                try await second.waitForRows(of: "lists", toEqual: [["l2", "anna", "Work"]])
                let found = try await stranger.getAll("SELECT id FROM todos_fts WHERE todos_fts MATCH 'milk OR bread'")
                {
                    try $0.getString(index: 0)
                }
                #expect(Set(found) == ["t1", "t2"])
            }
            for client in [first, second, stranger] {
                try await client.close()
            }
        }
        let todos: [[String?]] =
            isDirect
            ? [["t1", "l1", "Milk 🥛", "0"], ["t2", "l1", "Bread", "0"]] : [["t1", "l1", "Milk 🥛", "1"]]
        #expect(try await service.sourceRows("todos") == todos)
    }

    @Test(arguments: transports)
    func aRestartedServiceContinuesWhereItWas(transport: SyncTransportMethod) async throws {
        let (first, second) = (service.client("first"), service.client("second"))
        let options = Self.options(transport)
        var configuration = service.configuration
        configuration.port = try await service.run { address in
            try await first.connect(connector: service.connector("anna", address.url), options: options)
            try await second.connect(connector: service.connector("anna", address.url), options: options)
            try await first.execute("INSERT INTO lists(id, owner_id, name) VALUES ('l1', 'anna', 'Groceries')")
            try await second.waitForRows(of: "lists", toEqual: [["l1", "anna", "Groceries"]])
            return address.port
        }
        // Both edit the same row while the service is away; the source changes, too.
        try await first.execute("UPDATE lists SET name = 'first' WHERE id = 'l1'")
        try await second.execute("UPDATE lists SET name = 'second' WHERE id = 'l1'")
        try await service.writeToSource { db in
            try db.execute(sql: "INSERT INTO lists(id, owner_id, name) VALUES ('l2', 'anna', 'From the server')")
        }
        try await service.run(configuration) { _ in
            try await first.waitForEmptyQueue()
            try await second.waitForEmptyQueue()
            let rows = try await service.sourceRows("lists")
            #expect(rows.count == 2)
            try await first.waitForRows(of: "lists", toEqual: rows)
            try await second.waitForRows(of: "lists", toEqual: rows)
            try await first.close()
            try await second.close()
        }
    }

    @Test(arguments: transports)
    func clientLosesWhatARestoredSourceHasLostAndUploadsWhatItHas(transport: SyncTransportMethod) async throws {
        let client = service.client("client")
        var configuration = service.configuration
        var backup = ""
        configuration.port = try await service.run { address in
            try await client.connect(
                connector: service.connector("anna", address.url),
                options: Self.options(transport)
            )
            try await client.execute("INSERT INTO lists(id, owner_id, name) VALUES ('l1', 'anna', 'kept')")
            try await client.waitForEmptyQueue()
            backup = try service.backUpSource()
            try await client.execute("INSERT INTO lists(id, owner_id, name) VALUES ('l2', 'anna', 'lost')")
            try await client.waitForEmptyQueue()
            return address.port
        }
        try service.restoreSource(from: backup)
        try await client.execute("INSERT INTO lists(id, owner_id, name) VALUES ('l3', 'anna', 'not uploaded yet')")
        try await service.run(configuration) { _ in
            let restored: [[String?]] = [["l1", "anna", "kept"], ["l3", "anna", "not uploaded yet"]]
            try await client.waitForRows(of: "lists", toEqual: restored)
            try await service.writeToSource { db in
                try db.execute(sql: "INSERT INTO lists(id, owner_id, name) VALUES ('l4', 'anna', 'new')")
            }
            try await client.waitForRows(of: "lists", toEqual: restored + [["l4", "anna", "new"]])
            #expect(try await service.sourceRows("lists") == restored + [["l4", "anna", "new"]])
            try await client.close()
        }
    }

    @Test(arguments: zip(transports, ["401", "PSYNC_S2101"]))
    func aTokenOfAnotherKeyIsRefusedAndTheStatusSaysSo(transport: SyncTransportMethod, text: String) async throws {
        var foreign = service.configuration
        foreign.authentication.keys = [.hs256(secret: Array("another-key-0123456789abcdefghijkl".utf8), id: "test")]
        let token = try foreign.makeDevelopmentToken(userID: "anna")
        let client = service.client("refused")
        try await service.run { address in
            let status = client.currentStatus.asFlow()
            try await client.connect(
                connector: try TestConnector(url: address.url, token: token),
                options: Self.options(transport)
            )
            for await snapshot in status {
                guard let error = snapshot.downloadError else { continue }
                #expect(!snapshot.connected)
                #expect("\(error)".contains(text), "\(error)")
                break
            }
            try await client.close()
        }
    }

    @Test(arguments: transports)
    func aRefusedTokenIsReplacedByTheNextOne(transport: SyncTransportMethod) async throws {
        var foreign = service.configuration
        foreign.authentication.keys = [.hs256(secret: Array("another-key-0123456789abcdefghijkl".utf8), id: "test")]
        let tokens = [
            try foreign.makeDevelopmentToken(userID: "anna"),
            try service.configuration.makeDevelopmentToken(userID: "anna"),
        ]
        let client = service.client("second token")
        try await service.run { address in
            try await client.connect(
                connector: try TestConnector(url: address.url, tokens: tokens),
                options: Self.options(transport)
            )
            try await client.waitForFirstSync()
            try await client.close()
        }
    }

    @Test(arguments: transports)
    func aRowThatIsTooLargeIsLeftOutAndTheRestIsSynced(transport: SyncTransportMethod) async throws {
        let client = service.client("large")
        try await service.run { address in
            try await service.writeToSource { db in
                try db.execute(sql: "INSERT INTO lists(id, owner_id, name) VALUES ('l1', 'anna', 'Small')")
                try db.execute(
                    sql: "INSERT INTO lists(id, owner_id, name) VALUES ('l2', 'anna', printf('%.*c', 16777216, 'x'))"
                )
                try db.execute(sql: "INSERT INTO lists(id, owner_id, name) VALUES ('l3', 'anna', 'Also small')")
            }
            try await client.connect(
                connector: service.connector("anna", address.url),
                options: Self.options(transport)
            )
            try await client.waitForRows(
                of: "lists",
                toEqual: [["l1", "anna", "Small"], ["l3", "anna", "Also small"]]
            )
            try await client.close()
        }
    }
}

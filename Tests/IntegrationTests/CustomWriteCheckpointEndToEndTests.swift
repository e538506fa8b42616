import GRDB
import IntegrationTestSupport
import NIOConcurrencyHelpers
import PowerSync
import PowerSyncService
import Testing

/// A back end that takes uploads, gives them numbers of its own, and tells with a row when they are through (docs/service.md "Events"):
/// SDK and service over HTTP and WebSocket.
@Suite(.timeLimit(.minutes(2)))
struct CustomWriteCheckpointEndToEndTests {
    private static let syncConfig = """
        config: {edition: 3}
        streams:
          lists: {auto_subscribe: true, query: SELECT * FROM lists WHERE owner_id = auth.user_id()}
          news: {auto_subscribe: true, priority: 0, query: SELECT * FROM todos WHERE list_id = auth.user_id()}
        event_definitions:
          write_checkpoints:
            payloads:
              - SELECT user_id, client_id, checkpoint FROM checkpoints WHERE is_through
        """

    private static let transports: [SyncTransportMethod] = [.http, .webSocket]

    private let service: TodoService

    init() throws {
        service = try TodoService()
    }

    private var configuration: ServiceConfiguration {
        var configuration = service.configuration
        configuration.syncConfig = .content(Self.syncConfig)
        let checkpoints = """
            CREATE TABLE IF NOT EXISTS checkpoints (
              user_id TEXT, client_id TEXT, checkpoint INTEGER, is_through INTEGER DEFAULT 1,
              PRIMARY KEY (user_id, client_id)
            )
            """
        configuration.source = .embedded(path: service.sourcePath, statements: TodoService.statements + [checkpoints])
        return configuration
    }

    private static func options(
        _ transport: SyncTransportMethod,
        _ policy: UploadRejectionPolicy = .retry
    ) -> ConnectOptions {
        var options = ConnectOptions(uploadRejectionPolicy: policy)
        options.crudThrottle = 0
        options.retryDelay = 0.2
        options.clientConfiguration = SyncClientConfiguration(transport: transport)
        return options
    }

    /// What the back end does with an upload, before it has applied anything of it.
    private enum Answer {
        case taken
        case rejected
    }

    /// Gives uploads the numbers 1, 2, … and applies none.
    private final class QueueingConnector: PowerSyncBackendConnectorProtocol {
        private let connector: TestConnector
        private let answer: Answer
        private let count = NIOLockedValueBox(0)

        init(_ connector: TestConnector, _ answer: Answer = .taken) {
            self.connector = connector
            self.answer = answer
        }

        func fetchCredentials() async throws -> PowerSyncCredentials? { try await connector.fetchCredentials() }

        func uploadData(database: any PowerSyncDatabaseProtocol) async throws {
            guard let transaction = try await database.getNextCrudTransaction() else { return }
            let number = count.withLockedValue { count in
                count += 1
                return "\(count)"
            }
            switch answer {
            case .taken: try await transaction.complete(writeCheckpoint: number)
            case .rejected: throw UploadRejectionError(reason: "no", writeCheckpoint: number)
            }
        }
    }

    private func write(_ sql: String, _ arguments: StatementArguments = StatementArguments()) async throws {
        try await service.writeToSource { db in try db.execute(sql: sql, arguments: arguments) }
    }

    /// Writes a row of priority 0, which is shown whatever the client waits for, in one transaction with other statements.
    ///
    /// When the client shows it, it has got everything of the transactions before.
    private func announce(_ id: String, with statements: String = "", _ arguments: StatementArguments = []) async throws
    {
        try await service.writeToSource { db in
            if !statements.isEmpty { try db.execute(sql: statements, arguments: arguments) }
            try db.execute(sql: "INSERT INTO todos VALUES (?, 'anna', 'news', 0)", arguments: [id])
        }
    }

    /// Waits until a client shows a row of priority 0.
    private func waitForNews(_ id: String, _ client: any PowerSyncDatabaseProtocol) async throws {
        let rows = try client.watch("SELECT id FROM todos WHERE id = '\(id)'") { try $0.getString(index: 0) }
        for try await ids in rows where ids == [id] { return }
    }

    private func name(_ client: any PowerSyncDatabaseProtocol) async throws -> String {
        try await client.get("SELECT name FROM lists WHERE id = 'l1'") { try $0.getString(index: 0) }
    }

    private func waitForName(_ name: String, _ client: any PowerSyncDatabaseProtocol) async throws {
        try await client.waitForRows(of: "lists", toEqual: [["l1", "anna", name]])
    }

    /// The names that a client shows, up to one; each with whether a row had told the number when it was shown.
    private static func names(
        of client: any PowerSyncDatabaseProtocol,
        upTo last: String,
        _ isTold: NIOLockedValueBox<Bool>
    ) async throws -> [String] {
        var names: [String] = []
        let changes = try client.watch("SELECT name FROM lists WHERE id = 'l1'") { try $0.getString(index: 0) }
        for try await rows in changes {
            let isTold = isTold.withLockedValue(\.self)
            names += rows.map { isTold ? "\($0), told" : $0 }
            if rows == [last] { break }
        }
        return names
    }

    @Test(arguments: transports)
    func whatTheUserWroteStaysUntilTheRowOfItsNumberComes(transport: SyncTransportMethod) async throws {
        let client = service.client("phone")
        try await service.run(configuration) { address in
            try await write("INSERT INTO lists VALUES ('l1', 'anna', 'first')")
            let connector = QueueingConnector(try service.connector("anna", address.url))
            try await client.connect(connector: connector, options: Self.options(transport))
            try await waitForName("first", client)
            let clientID = try await client.getClientId()
            let isTold = NIOLockedValueBox(false)
            async let names = Self.names(of: client, upTo: "by the back end", isTold)

            try await client.execute("UPDATE lists SET name = 'mine' WHERE id = 'l1'")
            try await client.waitForEmptyQueue()
            // What another user writes meanwhile, and then nothing but rows of priority 0.
            try await announce("1", with: "UPDATE lists SET name = 'by another user'")
            try await waitForNews("1", client)
            try await announce("2")
            try await waitForNews("2", client)
            #expect(try await name(client) == "mine")
            // Numbers of others, none, and one that the condition leaves out.
            try await announce(
                "3",
                with: """
                    INSERT INTO checkpoints VALUES
                      ('anna', 'tablet', 9, 1), ('bert', ?1, 9, 1), ('carl', ?1, NULL, 1), ('anna', ?1, 9, 0)
                    """,
                [clientID]
            )
            try await waitForNews("3", client)
            try await announce("4")
            try await waitForNews("4", client)
            #expect(try await name(client) == "mine")

            isTold.withLockedValue { $0 = true }
            try await write(
                """
                UPDATE lists SET name = 'by the back end';
                UPDATE checkpoints SET checkpoint = 1, is_through = 1 WHERE user_id = 'anna' AND client_id = ?
                """,
                [clientID]
            )
            let shown = try await names
            #expect(shown.last == "by the back end, told")
            #expect(Set(shown.dropLast()).isSubset(of: ["first", "mine", "mine, told"]), "\(shown)")

            // The number of the first upload says nothing of the second.
            try await client.execute("UPDATE lists SET name = 'mine again' WHERE id = 'l1'")
            try await client.waitForEmptyQueue()
            try await announce("5", with: "UPDATE lists SET name = 'the end'")
            try await waitForNews("5", client)
            try await announce("6")
            try await waitForNews("6", client)
            #expect(try await name(client) == "mine again")
            try await write(
                "UPDATE checkpoints SET checkpoint = 2 WHERE user_id = 'anna' AND client_id = ?",
                [clientID]
            )
            try await waitForName("the end", client)
            #expect(client.currentStatus.uploadError == nil)
            try await client.close()
        }
    }

    /// The row is gone when the client comes back, and both have been restarted.
    @Test(arguments: transports)
    func aRestartLosesNoNumber(transport: SyncTransportMethod) async throws {
        let options = Self.options(transport)
        var configuration = self.configuration
        configuration.port = try await service.run(configuration) { address in
            let (phone, tablet) = (service.client("phone"), service.client("tablet"))
            try await write("INSERT INTO lists VALUES ('l1', 'anna', 'first')")
            for client in [phone, tablet] {
                let connector = QueueingConnector(try service.connector("anna", address.url))
                try await client.connect(connector: connector, options: options)
                try await waitForName("first", client)
            }
            try await phone.execute("UPDATE lists SET name = 'mine' WHERE id = 'l1'")
            try await phone.waitForEmptyQueue()
            let clientID = try await phone.getClientId()
            try await phone.close()
            try await write(
                "UPDATE lists SET name = 'by the back end'; INSERT INTO checkpoints VALUES ('anna', ?, 1, 1)",
                [clientID]
            )
            try await waitForName("by the back end", tablet)
            try await announce("1", with: "DELETE FROM checkpoints")
            try await waitForNews("1", tablet)
            try await tablet.close()
            return address.port
        }
        let phone = service.client("phone")
        #expect(try await name(phone) == "mine")
        try await service.run(configuration) { address in
            let connector = QueueingConnector(try service.connector("anna", address.url))
            try await phone.connect(connector: connector, options: options)
            try await waitForName("by the back end", phone)
            #expect(phone.currentStatus.uploadError == nil)
            try await phone.close()
        }
    }

    @Test(arguments: transports)
    func whatIsRejectedStaysUntilItsNumberComesAndIsReportedAsRejected(transport: SyncTransportMethod) async throws {
        let client = service.client("phone")
        try await service.run(configuration) { address in
            try await write("INSERT INTO lists VALUES ('l1', 'anna', 'first')")
            let connector = QueueingConnector(try service.connector("anna", address.url), .rejected)
            try await client.connect(connector: connector, options: Self.options(transport, .skip))
            try await waitForName("first", client)
            try await client.execute("UPDATE lists SET name = 'refused' WHERE id = 'l1'")
            try await client.waitForEmptyQueue()
            for id in ["1", "2"] {
                try await announce(id)
                try await waitForNews(id, client)
            }
            #expect(try await name(client) == "refused")
            let clientID = try await client.getClientId()
            try await write("INSERT INTO checkpoints VALUES ('anna', ?, 1, 1)", [clientID])
            try await waitForName("first", client)
            // And nothing of a write checkpoint that the service does not give.
            #expect(client.currentStatus.uploadError is UploadRejectionError)
            #expect(try await client.rejectedWrites().map(\.reason) == ["no"])
            try await client.close()
        }
    }

    /// In the requests mode a client asks when it connects; its back end has to be asked in the place of the service.
    @Test(arguments: transports) func aClientThatAsksTheServiceForCheckpointsIsRefused(
        transport: SyncTransportMethod
    ) async throws {
        let client = service.client("phone")
        try await service.run(configuration) { address in
            try await write("INSERT INTO lists VALUES ('l1', 'anna', 'first')")
            let connector = QueueingConnector(try service.connector("anna", address.url))
            var options = Self.options(transport)
            options.checkpointMode = .requests()
            try await client.connect(connector: connector, options: options)
            for await status in client.currentStatus.asFlow() {
                guard let error = status.downloadError as? SyncTransportError else { continue }
                #expect(error.httpStatus == 400)
                #expect("\(error)".contains("custom Write Checkpoints"))
                break
            }
            let error = await #expect(throws: CheckpointRequestError.self) { try await client.requestCheckpoint() }
            #expect(error != nil)
            try await client.connect(connector: connector, options: Self.options(transport))
            try await waitForName("first", client)
            try await client.close()
        }
    }
}

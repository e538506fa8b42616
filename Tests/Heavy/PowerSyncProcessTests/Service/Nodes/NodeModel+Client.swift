import IntegrationTestSupport
import NIOConcurrencyHelpers
import PostgresTestSupport
import PowerSync
import PowerSyncService

extension NodeModel {
    /// A client that is connected to one node after the other.
    final class Client {
        /// The name of lists whose transaction never ends.
        static let never = "never"

        let database: any PowerSyncDatabaseProtocol
        private(set) var isConnected = false
        private let name: String
        private let service: TodoService
        private let source: TestDatabase
        private var rows = 0
        private let seen = NIOLockedValueBox<[String]>([])

        /// Opens the file of a client, and looks at all its states.
        init(_ name: String, _ service: TodoService, _ source: TestDatabase) throws {
            self.name = name
            self.service = service
            self.source = source
            database = service.client(name)
            let states = try database.watch(
                """
                SELECT (SELECT name FROM lists WHERE id = 'first'), (SELECT name FROM lists WHERE id = 'last'),
                       (SELECT count(*) FROM lists WHERE name = '\(Self.never)'),
                       (SELECT count(*) FROM todos WHERE title = '\(name)')
                """
            ) { cursor in
                State(
                    first: cursor.getStringOptional(index: 0).flatMap { Int($0) } ?? -1,
                    last: cursor.getStringOptional(index: 1).flatMap { Int($0) } ?? -1,
                    uncommitted: try cursor.getInt(index: 2),
                    own: try cursor.getInt(index: 3)
                )
            }
            Task { [seen] in
                var before = State(first: -1, last: -1, uncommitted: 0, own: 0)
                for try await state in states {
                    guard let state = state.first else { continue }
                    if !state.canFollow(before) {
                        seen.withLockedValue { $0.append("\(name) saw \(before), then \(state)") }
                    }
                    before = state
                }
            }
        }

        /// What was seen that must not be.
        var faults: [String] { seen.withLockedValue(\.self) }

        /// Goes to another node.
        func connect(to node: ServiceNode) async throws {
            isConnected = true
            var options = ConnectOptions()
            options.retryDelay = 0.1
            let token = try service.configuration.makeDevelopmentToken(userID: "anna")
            try await database.connect(
                connector: SourceConnector(url: node.url, token: token, source: source),
                options: options
            )
        }

        /// Makes a row of its own.
        func write() async throws {
            rows += 1
            try await database.execute(
                sql: "INSERT INTO todos (id, list_id, title, done) VALUES (?, 'l10', ?, 0)",
                parameters: ["\(name)-\(rows)", name]
            )
        }
    }

    /// What a client sees of the rows that say whether it may.
    private struct State {
        /// The transactions that have written the rows `first` and `last`.
        var first: Int
        var last: Int
        /// How many rows there are of transactions that do not end.
        var uncommitted: Int
        /// How many rows there are that the client has written.
        var own: Int

        func canFollow(_ other: State) -> Bool {
            first == last && first >= other.first && uncommitted == 0 && own >= other.own
        }
    }

    /// Writes what a client uploads to the source, as the backend of an app does.
    private struct SourceConnector: PowerSyncBackendConnectorProtocol {
        let url: String
        let token: String
        let source: TestDatabase

        func fetchCredentials() async throws -> PowerSyncCredentials? {
            PowerSyncCredentials(endpoint: url, token: token)
        }

        func uploadData(database: any PowerSyncDatabaseProtocol) async throws {
            while let transaction = try await database.getNextCrudTransaction() {
                for entry in transaction.crud {
                    let title = entry.opData?["title"] ?? nil
                    try source.run(
                        """
                        INSERT INTO todos VALUES ('\(entry.id)', 'l10', '\(title ?? "")', 0) ON CONFLICT DO NOTHING
                        """
                    )
                }
                try await transaction.complete()
            }
        }
    }
}

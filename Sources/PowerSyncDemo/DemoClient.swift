import Foundation
import NIOConcurrencyHelpers
import PowerSync

/// One installation of the demo app: a user and a database file.
final class DemoClient: Sendable {
    /// A row as the demo compares it: the id, then the columns in the order of ``DemoApp/schema``.
    typealias Row = [String?]

    /// What to call it in the output.
    let name: String
    /// Its place among the clients, from 0 on.
    let number: Int
    /// The signed-in user.
    let user: String
    /// Its database.
    let database: any PowerSyncDatabaseProtocol
    /// Where its photos are.
    let photoFolder: String

    private let transport: SyncTransportMethod
    private let streams = NIOLockedValueBox(0)

    /// Creates a client; its file is opened by the first use.
    init(
        name: String,
        number: Int,
        user: String,
        folder: URL,
        transport: DemoCommand.Transport,
        logger: any LoggerProtocol
    ) {
        self.name = name
        self.number = number
        self.user = user
        self.transport = transport == .websocket ? .webSocket : .http
        photoFolder = folder.appending(path: "photos-\(name)").path(percentEncoded: false)
        database = PowerSyncDatabase(
            schema: DemoApp.schema,
            dbFilename: folder.appending(path: "client-\(name).db").path,
            logger: logger
        )
    }

    /// Starts syncing; returns at once.
    func connect(to backend: DemoBackend) async throws {
        var options = ConnectOptions()
        options.retryDelay = 0.5
        options.crudThrottle = 0.1
        let requestLogger = SyncRequestLoggerConfiguration(requestLevel: .info) { [self] line in
            if line.hasPrefix("Starting request"), line.hasSuffix("/sync/stream") {
                streams.withLockedValue { $0 += 1 }
            }
        }
        options.clientConfiguration = SyncClientConfiguration(requestLogger: requestLogger, transport: transport)
        try await database.connect(connector: try backend.connector(for: self), options: options)
    }

    /// How many sync streams were asked for.
    var streamRequests: Int { streams.withLockedValue(\.self) }

    /// Adds a list with todos in one transaction.
    func addList(_ name: String, todos: [String]) async throws {
        let user = user
        try await database.writeTransaction { transaction in
            let list = UUID().uuidString.lowercased()
            try transaction.execute(
                sql: "INSERT INTO lists(id, owner_id, name) VALUES (?, ?, ?)",
                parameters: [list, user, name]
            )
            for title in todos {
                try transaction.execute(
                    sql: "INSERT INTO todos(id, list_id, title, done) VALUES (uuid(), ?, ?, 0)",
                    parameters: [list, title]
                )
            }
        }
    }

    /// The number of local writes that wait for their upload.
    func waitingUploads() async throws -> Int {
        try await database.get("SELECT count(*) FROM ps_crud") { try $0.getInt(index: 0) }
    }

    /// The number of rows of a table.
    func count(_ table: String) async throws -> Int {
        try await database.get("SELECT count(*) FROM \(table)") { try $0.getInt(index: 0) }
    }

    /// Waits until every local write has been uploaded.
    func waitForEmptyQueue() async throws {
        let database = database
        try await within(.seconds(30), "the upload of \(name)'s writes") {
            let counts = try database.watch("SELECT count(*) FROM ps_crud") { try $0.getInt(index: 0) }
            for try await count in counts where count == [0] {
                return
            }
        }
    }

    /// Waits until the rows of a table are as expected.
    ///
    /// - Parameters:
    ///   - table: The table.
    ///   - expected: All its rows, by id.
    /// - Throws: ``DemoFailure`` when it takes too long.
    func waitForRows(of table: String, toEqual expected: [Row]) async throws {
        let database = database
        let sql = Self.select(table)
        try await within(.seconds(60), "\(name) having the \(expected.count) rows of \(table)") {
            let changes = try database.watch(sql) { cursor in
                (0..<cursor.columnCount).map { cursor.getStringOptional(index: $0) }
            }
            for try await rows in changes where rows == expected {
                return
            }
        }
    }

    /// Waits until a table has a number of rows.
    func waitForCount(of table: String, toBe expected: Int) async throws {
        let database = database
        try await within(.seconds(60), "\(name) having \(expected) rows of \(table)") {
            let counts = try database.watch("SELECT count(*) FROM \(table)") { try $0.getInt(index: 0) }
            for try await count in counts where count == [expected] {
                return
            }
        }
    }

    /// The statement that reads a table as ``Row`` values, in the client and in the source.
    static func select(_ table: String) -> String {
        let columns = DemoApp.schema.tables.first { $0.name == table }?.columns.map(\.name) ?? []
        return "SELECT id, \(columns.joined(separator: ", ")) FROM \(table) ORDER BY id"
    }
}

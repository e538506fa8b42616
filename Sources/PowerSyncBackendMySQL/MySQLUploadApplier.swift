public import Foundation
public import Logging
public import PowerSyncBackend
import PowerSyncMySQLConnection

/// Applies uploads of clients to the tables of an app in MySQL or MariaDB.
///
/// ```swift
/// var options = UploadApplierOptions()
/// options.tables = ["lists"]
/// let applier = MySQLUploadApplier(settings, options: options) { write, _ in
///     // Whose the list is, and whose it becomes.
///     try await write.belongsToUser(by: "owner_id") ? .apply : .reject("The list belongs to another user.")
/// }
/// let response = try await applier.apply(UploadRequest(json: body), for: user)
/// ```
///
/// It does what `SQLiteUploadApplier` does: a request is one transaction, each local transaction of the client is applied as a whole or not
/// at all, each write once, and ids are compared byte by byte, whatever the collation of the column. Tables must be InnoDB's; a
/// write to any other is an error. Deadlocks and lock waits of 5 s begin the request again, up to ten times, after pauses that grow to a
/// second.
///
/// Values have the types of their columns, with the server's strict mode: integers, signed and unsigned, of 64 bits; decimals; JSON, and
/// texts of JSON; `DATETIME` and `TIMESTAMP` also from ISO 8601 with a time zone, in UTC; base64, or `\x` with hexadecimal digits, for
/// binary columns. What the server refuses is a rejection with the code `constraint`.
///
/// The tables `_ps_upload_clients` and `_ps_upload_writes` are made in the schema when they are not there, which needs the privilege
/// `CREATE` once. Rows that a request is about are locked until its transaction ends.
public struct MySQLUploadApplier: UploadApplier {
    /// Decides about a write of a user, inside the transaction that applies it.
    ///
    /// Called for each write that is new, in order, after it was found that its table can be written; again for the same write when the
    /// request is begun again, because of another transaction or because a write was refused. What the transaction has done is rolled
    /// back then. What it throws makes the request fail, and the client sends the write again.
    public typealias Authorization =
        @Sendable (_ write: ServerWrite, _ transaction: MySQLUploadTransaction) async throws -> WriteDecision

    private let applier: ServerApplier<MySQLServers>

    /// Creates an applier without connections, which are opened when they are needed.
    ///
    /// - Parameters:
    ///   - settings: The server and the schema.
    ///   - options: How writes are applied.
    ///   - logger: Gets lines about connections at trace and debug.
    ///   - authorize: Decides about each write.
    public init(
        _ settings: MySQLServerSettings,
        options: UploadApplierOptions = UploadApplierOptions(),
        logger: Logger = Logger(label: "powersync.backend", factory: { _ in SwiftLogNoOpLogHandler() }),
        authorize: @escaping Authorization
    ) {
        self.init(settings, options: options, logger: logger, timing: UploadTiming(), authorize: authorize)
    }

    package init(
        _ settings: MySQLServerSettings,
        options: UploadApplierOptions = UploadApplierOptions(),
        logger: Logger = Logger(label: "powersync.backend", factory: { _ in SwiftLogNoOpLogHandler() }),
        timing: UploadTiming,
        authorize: @escaping Authorization
    ) {
        let pool = MySQLPool(
            MySQLConnector(settings.connection, logger: logger),
            maximumConnections: settings.maximumConnections
        )
        applier = ServerApplier(MySQLServers(pool: pool), options, timing, authorize: authorize)
    }

    /// Applies a request.
    ///
    /// - Parameters:
    ///   - request: What the client has sent.
    ///   - user: The user of the client, as the backend has found out; never taken from the request.
    /// - Returns: What to answer. When it is there, everything that it calls applied is committed.
    /// - Throws: What the closure throws, errors of the server and of connections, if nothing could be applied before them;
    ///   `UploadTimeLimitError` after the time limit of the options; `UploadFormatError` when the numbers of the writes do not ascend. The client sends everything again then. When the connection
    ///   ends while the transaction is committed, it is found out with the next request whether it was.
    public func apply(_ request: UploadRequest, for user: BackendUser) async throws -> UploadResponse {
        try await applier.apply(request, for: user)
    }

    /// Forgets clients that have not uploaded for long.
    ///
    /// A client that comes back later is like a new one: if it had not got the answer to its last upload, that is applied for the
    /// second time.
    ///
    /// - Parameter date: Since when they were not seen, for example a year ago.
    /// - Returns: How many were forgotten.
    /// - Throws: Errors of the server and of connections.
    @discardableResult
    public func forgetClients(notSeenSince date: Date) async throws -> Int {
        try await applier.forgetClients(notSeenSince: date)
    }
}

/// Connections of a pool to MySQL or MariaDB.
struct MySQLServers: UploadServers {
    let pool: MySQLPool

    func withServer<Result: Sendable>(_ body: (MySQLServer) async throws -> Result) async throws -> Result {
        try await pool.withConnection { connection in
            let server = MySQLServer(connection)
            try await server.prepare()
            return try await body(server)
        }
    }
}

/// The transaction that applies a request, for statements of the app's own.
///
/// ```swift
/// let rows = try await transaction.query(
///     "SELECT 1 FROM members WHERE list_id = ? AND user_id = ?",
///     [.string(list), .string(write.user.id)]
/// )
/// return rows.isEmpty ? .reject("You are no member of the list.") : .apply
/// ```
///
/// One statement at a time. A statement that fails ends the request, even if the closure catches its error. Statements that begin or end
/// transactions, or commit as `CREATE TABLE` does, are not for it.
public struct MySQLUploadTransaction: Sendable {
    let server: MySQLServer
    let statements: AppStatements

    /// Runs a statement that reads: rows are as earlier writes of the request have made them.
    ///
    /// - Parameters:
    ///   - sql: A statement, which must not change rows, with `?` for each value.
    ///   - values: The values in their order.
    /// - Returns: The rows, with values as the server's texts.
    /// - Throws: An error of the server, or when there are more or fewer values than `?`.
    public func query(_ sql: String, _ values: [JsonValue] = []) async throws -> [StoredRow] {
        let statement = try MySQLText.statement(sql, values)
        return try await statements.run(changes: false) { try await server.storedRows(statement) }
    }

    /// Runs a statement that changes rows.
    ///
    /// - Parameters:
    ///   - sql: A statement with `?` for each value.
    ///   - values: The values in their order.
    /// - Throws: An error of the server, or when there are more or fewer values than `?`.
    public func execute(_ sql: String, _ values: [JsonValue] = []) async throws {
        let statement = try MySQLText.statement(sql, values)
        try await statements.run(changes: true) { try await server.run(statement) }
    }
}

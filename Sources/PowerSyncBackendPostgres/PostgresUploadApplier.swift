public import Foundation
public import Logging
public import PostgresNIO
public import PowerSyncBackend

/// Applies uploads of clients to the tables of an app in PostgreSQL.
///
/// ```swift
/// var options = UploadApplierOptions()
/// options.tables = ["lists"]
/// let applier = PostgresUploadApplier(client, options: options) { write, _ in
///     // Whose the list is, and whose it becomes.
///     try await write.belongsToUser(by: "owner_id") ? .apply : .reject("The list belongs to another user.")
/// }
/// let response = try await applier.apply(UploadRequest(json: body), for: user)
/// ```
///
/// It does what `SQLiteUploadApplier` does: a request is one transaction, each local transaction of the client is applied as a whole or not
/// at all, each write once, and ids are compared byte by byte. Tables are those of the first schema in the `search_path` of the
/// connections. Deadlocks, serialization failures and locks that are not free within 5 s begin the request again, up to ten times, after
/// pauses that grow to a second.
///
/// Values have the types of their columns: a text becomes a `uuid`, a `timestamptz`, a `numeric` or a value of an enumeration as
/// PostgreSQL reads it; 1 and 0 become a `boolean`; JSON, and a text of JSON, a `jsonb`; an array of JSON, and its text, an array;
/// base64, or `\x` with hexadecimal digits, a `bytea`. What PostgreSQL refuses is a rejection with the code `constraint`.
///
/// The tables `_ps_upload_clients` and `_ps_upload_writes` are made in that schema when they are not there, which needs the privilege
/// `CREATE` once. Rows that a request is about are locked until its transaction ends.
public struct PostgresUploadApplier: UploadApplier {
    /// Decides about a write of a user, inside the transaction that applies it.
    ///
    /// Called for each write that is new, in order, after it was found that its table can be written; again for the same write when the
    /// request is begun again, because of another transaction or because a write was refused. What the transaction has done is rolled
    /// back then. What it throws makes the request fail, and the client sends the write again.
    public typealias Authorization =
        @Sendable (_ write: ServerWrite, _ transaction: PostgresUploadTransaction) async throws -> WriteDecision

    private let applier: ServerApplier<PostgresServers>

    /// Creates an applier.
    ///
    /// - Parameters:
    ///   - client: Connections to the app's database; its `run()` has to run.
    ///   - options: How writes are applied.
    ///   - logger: Gets what PostgresNIO logs of the connections.
    ///   - authorize: Decides about each write.
    public init(
        _ client: PostgresClient,
        options: UploadApplierOptions = UploadApplierOptions(),
        logger: Logger = Logger(label: "powersync.backend", factory: { _ in SwiftLogNoOpLogHandler() }),
        authorize: @escaping Authorization
    ) {
        self.init(client, options: options, logger: logger, timing: UploadTiming(), authorize: authorize)
    }

    package init(
        _ client: PostgresClient,
        options: UploadApplierOptions = UploadApplierOptions(),
        logger: Logger = Logger(label: "powersync.backend", factory: { _ in SwiftLogNoOpLogHandler() }),
        timing: UploadTiming,
        authorize: @escaping Authorization
    ) {
        let servers = PostgresServers(client: client, logger: logger)
        applier = ServerApplier(servers, options, timing, authorize: authorize)
    }

    /// Applies a request.
    ///
    /// - Parameters:
    ///   - request: What the client has sent.
    ///   - user: The user of the client, as the backend has found out; never taken from the request.
    /// - Returns: What to answer. When it is there, everything that it calls applied is committed.
    /// - Throws: What the closure throws and `PSQLError`, if nothing could be applied before them; `UploadTimeLimitError` after the time
    ///   limit of the options; `UploadFormatError` when the numbers of the writes do not ascend. The client sends everything again then. When the connection ends while the transaction is
    ///   committed, it is found out with the next request whether it was.
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
    /// - Throws: `PSQLError`.
    @discardableResult
    public func forgetClients(notSeenSince date: Date) async throws -> Int {
        try await applier.forgetClients(notSeenSince: date)
    }
}

/// Connections of a client to PostgreSQL.
struct PostgresServers: UploadServers {
    let client: PostgresClient
    let logger: Logger

    func withServer<Result: Sendable>(_ body: (PostgresServer) async throws -> Result) async throws -> Result {
        try await client.withConnection { connection in try await body(PostgresServer(connection, logger)) }
    }
}

/// The transaction that applies a request, for statements of the app's own.
///
/// ```swift
/// let rows = try await transaction.query(
///     "SELECT 1 FROM members WHERE list_id = \(list) AND user_id = \(write.user.id)"
/// )
/// return rows.isEmpty ? .reject("You are no member of the list.") : .apply
/// ```
///
/// One statement at a time. A statement that fails ends the request, even if the closure catches its error. Statements that begin or end
/// transactions are not for it.
public struct PostgresUploadTransaction: Sendable {
    let connection: PostgresConnection
    let logger: Logger
    let statements: AppStatements

    /// Runs a statement that reads: rows are as earlier writes of the request have made them.
    ///
    /// - Parameter query: A statement, which must not change rows.
    /// - Returns: The rows.
    /// - Throws: `PSQLError`.
    public func query(_ query: PostgresQuery) async throws -> [PostgresRow] {
        try await statements.run(changes: false) { try await connection.rows(query, logger) }
    }

    /// Runs a statement that changes rows.
    ///
    /// - Parameter query: A statement.
    /// - Returns: The rows that it returns.
    /// - Throws: `PSQLError`.
    @discardableResult
    public func execute(_ query: PostgresQuery) async throws -> [PostgresRow] {
        try await statements.run(changes: true) { try await connection.rows(query, logger) }
    }
}

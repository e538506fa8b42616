package import Logging
import NIOConcurrencyHelpers
import NIOCore

/// A connection to a MySQL or MariaDB server.
///
/// One call at a time; another one meanwhile throws `.busy`. A call that is cancelled, that fails on the way, or that leaves rows behind
/// closes the connection; an error of the server (`.server`) does not.
package final class MySQLConnection: Sendable {
    /// Connects: TCP, TLS, authentication, and the settings of the session (UTF-8, UTC, empty `sql_mode`, repeatable read, no limits
    /// of time).
    ///
    /// - Parameters:
    ///   - settings: Where, and as whom.
    ///   - logger: Gets lines at trace and debug.
    /// - Returns: A connection that can be used.
    /// - Throws: ``MySQLConnectionError``, `CancellationError`.
    package static func open(
        _ settings: MySQLConnectionSettings,
        logger: Logger
    ) async throws -> MySQLConnection {
        let limit = PacketInbox.Limit.until(.now() + TimeAmount(settings.connectTimeout))
        let channel = PacketChannel(settings, logger: logger)
        do {
            var handshake = try Handshake(settings, channel, limit)
            let greeting = try await handshake.run()
            var calls = MySQLCall(channel, hasNoEOF: greeting.hasNoEOF)
            let version = try await calls.query("SELECT VERSION()", limit).firstString ?? ""
            for statement in session(isMariaDB: version.contains("MariaDB")) {
                _ = try await calls.query(statement, limit)
            }
            return MySQLConnection(settings, channel, greeting, version, logger)
        } catch {
            channel.close()
            throw error
        }
    }

    /// What every session is told.
    ///
    /// Collation 45 is the one that all servers know; `sql_mode` may change values of `CHAR` and quotes;
    /// and no time limit of the server ends what waits for the storage.
    private static func session(isMariaDB: Bool) -> [String] {
        [
            "SET NAMES utf8mb4 COLLATE utf8mb4_general_ci",
            """
            SET SESSION time_zone = '+00:00', sql_mode = '', net_write_timeout = 3600, net_read_timeout = 3600, \
            wait_timeout = 28800, \(isMariaDB ? "max_statement_time" : "max_execution_time") = 0
            """,
            "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ",
        ]
    }

    private enum State {
        case idle, busy, closed
    }

    /// What the server says to `SELECT VERSION()`: `9.7.4`, `10.11.19-MariaDB-0+deb12u1`.
    package let serverVersion: String
    /// The server's number of this connection, as `SHOW PROCESSLIST` has it.
    package let connectionID: UInt32

    private let settings: MySQLConnectionSettings
    private let channel: PacketChannel
    private let hasNoEOF: Bool
    private let logger: Logger
    private let state = NIOLockedValueBox(State.idle)

    private init(
        _ settings: MySQLConnectionSettings,
        _ channel: PacketChannel,
        _ greeting: Handshake.Greeting,
        _ serverVersion: String,
        _ logger: Logger
    ) {
        self.settings = settings
        self.channel = channel
        hasNoEOF = greeting.hasNoEOF
        connectionID = greeting.connectionID
        self.serverVersion = serverVersion
        self.logger = logger
    }

    deinit { close() }

    /// Whether the server is MariaDB; MySQL or one of its kind if not.
    package var isMariaDB: Bool { serverVersion.contains("MariaDB") }

    /// Whether the connection can be used for another call.
    package var isUsable: Bool { state.withLockedValue { $0 == .idle } && channel.isOpen }

    /// Runs a query with a small answer.
    ///
    /// - Parameters:
    ///   - sql: One statement. Values are in it.
    ///   - timeout: The longest time; `nil`: ``MySQLConnectionSettings/statementTimeout``.
    /// - Returns: All rows; none for a statement that has none.
    /// - Throws: ``MySQLConnectionError``, `CancellationError`.
    package func query(_ sql: String, timeout: Duration? = nil) async throws -> MySQLResult {
        let limit = limit(timeout)
        return try await call { call in try await call.query(sql, limit) }
    }

    /// Runs a statement, and ignores rows if it has some.
    ///
    /// - Parameters:
    ///   - sql: One statement. Values are in it.
    ///   - timeout: The longest time; `nil`: ``MySQLConnectionSettings/statementTimeout``.
    /// - Throws: ``MySQLConnectionError``, `CancellationError`.
    package func execute(_ sql: String, timeout: Duration? = nil) async throws {
        let limit = limit(timeout)
        try await withRows(sql, limit, rows: limit) { rows in
            while try await rows.next() != nil {}
        }
    }

    /// Asks the server whether it is there.
    ///
    /// - Throws: ``MySQLConnectionError``, `CancellationError`.
    func ping(timeout: Duration) async throws {
        let limit = limit(timeout)
        try await call { call in try await call.acknowledge(ByteBuffer(bytes: [0x0E]), limit) }
    }

    /// Runs a query with an answer of any size.
    ///
    /// - Parameters:
    ///   - sql: One statement. Values are in it.
    ///   - timeout: How long the server may take before the first row and between two, if the settings' limits are too short for this query.
    ///   - body: Takes the rows. When it leaves some behind, the connection is closed.
    /// - Returns: The result of `body`.
    /// - Throws: ``MySQLConnectionError``, `CancellationError`, what `body` throws.
    package func withRows<Result>(
        _ sql: String,
        timeout: Duration? = nil,
        _ body: (inout MySQLRows) async throws -> Result
    ) async throws -> Result {
        try await withRows(sql, limit(timeout), rows: .silence(TimeAmount(timeout ?? settings.rowsTimeout)), body)
    }

    private func withRows<Result>(
        _ sql: String,
        _ limit: PacketInbox.Limit,
        rows rowsLimit: PacketInbox.Limit,
        _ body: (inout MySQLRows) async throws -> Result
    ) async throws -> Result {
        try await call { call in
            var rows = try await call.begin(sql, limit, rows: rowsLimit)
            defer { call.isAnswered = rows.isAtEnd }
            return try await body(&rows)
        }
    }

    /// Begins a query whose rows are taken in several steps: until ``endRows(_:)``, the connection is in use.
    ///
    /// - Parameter sql: One statement. Values are in it.
    /// - Returns: The rows.
    /// - Throws: ``MySQLConnectionError``, `CancellationError`.
    package func beginRows(_ sql: String) async throws -> MySQLRows {
        var call = try beginCall()
        do {
            return try await call.begin(sql, limit(nil), rows: .silence(TimeAmount(settings.rowsTimeout)))
        } catch {
            end(isAnswered: call.isAnswered)
            throw error
        }
    }

    /// Makes the connection free for other calls; closes it when rows were left behind.
    ///
    /// - Parameter rows: What ``beginRows(_:)`` has returned, as far as it was taken.
    package func endRows(_ rows: MySQLRows) {
        end(isAnswered: rows.isAtEnd)
    }

    /// Reads the binary log, and closes the connection at the end.
    ///
    /// - Parameters:
    ///   - request: Which part of the log, and as which replica.
    ///   - body: Takes the events.
    /// - Returns: The result of `body`.
    /// - Throws: ``MySQLConnectionError``, `CancellationError`, what `body` throws.
    package func withBinlog<Result>(
        _ request: BinlogRequest,
        _ body: (inout BinlogPackets) async throws -> Result
    ) async throws -> Result {
        let limit = limit(nil)
        defer { close() }
        return try await call { call in
            _ = try await call.query(request.preparation(heartbeat: settings.heartbeat, isMariaDB: isMariaDB), limit)
            if request.serverID != 0 { try await register(request, &call, limit) }
            channel.setLimit(request.memoryLimit)
            channel.send(.command(request.dump(isMariaDB: isMariaDB)))
            call.isAnswered = false
            var packets = BinlogPackets(
                PacketReader(channel),
                .silence(TimeAmount(request.silenceLimit ?? settings.logTimeout))
            )
            return try await body(&packets)
        }
    }

    /// Shows the replica in the server's list of them, which is all that a registration is for.
    private func register(_ request: BinlogRequest, _ call: inout MySQLCall, _ limit: PacketInbox.Limit) async throws {
        do {
            try await call.acknowledge(request.registration, limit)
        } catch let error as MySQLConnectionError where error.code == .server {
            logger.debug("The server does not register this replica", metadata: ["error": "\(error)"])
        }
    }

    /// Closes the connection, at any time and from anywhere: a call that waits throws `.closed`.
    package func close() {
        let before = state.withLockedValue { state in
            defer { state = .closed }
            return state
        }
        // COM_QUIT, where the server waits for a command.
        channel.close(before == .idle ? ByteBuffer(bytes: [0x01]) : nil)
    }

    private func limit(_ timeout: Duration?) -> PacketInbox.Limit {
        .until(.now() + TimeAmount(timeout ?? settings.statementTimeout))
    }

    /// Runs a call that no other one disturbs.
    private func call<Result>(_ body: (inout MySQLCall) async throws -> Result) async throws -> Result {
        var call = try beginCall()
        defer { end(isAnswered: call.isAnswered) }
        return try await body(&call)
    }

    /// Makes the connection busy.
    private func beginCall() throws(MySQLConnectionError) -> MySQLCall {
        let before = state.withLockedValue { state in
            defer { if state == .idle { state = .busy } }
            return state
        }
        switch before {
        case .idle: return MySQLCall(channel, hasNoEOF: hasNoEOF)
        case .busy: throw MySQLConnectionError(.busy, "The connection is in use by another call.")
        case .closed: throw MySQLConnectionError(.closed, "The connection was closed.")
        }
    }

    /// Makes the connection idle, or closes it when the server has not said all that it has to say.
    private func end(isAnswered: Bool) {
        if isAnswered {
            state.withLockedValue { if $0 == .busy { $0 = .idle } }
        } else {
            close()
        }
    }
}

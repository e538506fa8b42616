import Dispatch
import NIOConcurrencyHelpers
import PowerSyncServiceCore

/// A connection to a PostgreSQL server, with the settings of ``PostgresSession``.
///
/// libpq runs on a queue of its own, which it may block; callers only wait. A call whose task is cancelled ends at once: what
/// runs on the server is cancelled, and the connection is of no use after that. The connection is closed with the last
/// reference to it.
package final class PostgresConnection: Sendable {
    /// What a connection is for.
    package enum Purpose: Sendable {
        /// Statements.
        case statements
        /// Statements, and then the change stream.
        case replication
    }

    /// How long connecting may take, over all hosts, if the connection string does not say it.
    static let connectTimeout = Duration.seconds(15)
    /// How long a statement may take that has no other limit.
    static let statementTimeout = Duration.seconds(60)

    /// What its session says as long as it is the one that was opened: see ``sessionToken``.
    let token = RandomID.make()
    private let queue = DispatchQueue(label: "powersync.postgres")
    private let libpq: LibPQ
    private let version = NIOLockedValueBox(0)

    private init(_ libpq: LibPQ) {
        self.libpq = libpq
    }

    deinit {
        close()
    }

    /// Connects.
    ///
    /// - Parameters:
    ///   - string: Where to.
    ///   - purpose: What for.
    ///   - settings: Of the session, stronger than those that every session has.
    /// - Returns: The connection.
    /// - Throws: ``PostgresError``, or `CancellationError`.
    package static func open(
        _ string: PostgresConnectionString,
        for purpose: Purpose = .statements,
        settings: [(name: String, value: String)] = []
    ) async throws -> PostgresConnection {
        let libpq = try LibPQ()
        var parameters = [
            (name: "fallback_application_name", value: "powersync"), (name: "client_encoding", value: "UTF8"),
            // A peer that vanishes is noticed within a minute.
            (name: "keepalives", value: "1"), (name: "keepalives_idle", value: "30"),
            (name: "keepalives_interval", value: "10"), (name: "keepalives_count", value: "3"),
            (name: "tcp_user_timeout", value: "60000"),
        ]
        if purpose == .replication { parameters.append((name: "replication", value: "database")) }
        if let wanted = string.wantedSession { parameters.append(wanted) }
        let connection = PostgresConnection(libpq)
        let statement = sessionSettings(settings + [(name: tokenName, value: connection.token)])
        let version = try await connection.run { [parameters] libpq in
            let hosts = string.hosts
            // What the string says counts for each host.
            let timeout = string.connectTimeout ?? connectTimeout / hosts.count
            for (index, host) in hosts.enumerated() {
                let deadline = ContinuousClock.now.advanced(by: timeout)
                do {
                    try libpq.connect(string, parameters + host, until: deadline)
                    try prepare(libpq, statement, until: deadline)
                    break
                } catch let error as PostgresError where error.code != .closed && index < hosts.count - 1 {
                    libpq.finish()
                }
            }
            return libpq.serverVersion
        }
        connection.version.withLockedValue { $0 = version }
        return connection
    }

    /// Runs what a session begins with.
    ///
    /// The limits that the database or the role sets count until that has ended, so one of a few milliseconds may be over before.
    private static func prepare(_ libpq: LibPQ, _ statement: String, until deadline: ContinuousClock.Instant) throws {
        for attempt in 1... {
            do {
                try libpq.send(statement, nil, until: deadline, "preparing a connection")
                _ = try libpq.receiveAll(until: deadline, "preparing a connection")
                return
            } catch let error as PostgresError {
                guard error.sqlState == PostgresError.SQLState.queryCanceled, attempt < 10 else { throw error }
            }
        }
    }

    /// The version of the server, such as 150_000.
    package var serverVersion: Int { version.withLockedValue { $0 } }

    /// What every session begins with.
    ///
    /// Set by statements: what the connection string says about `options` stays.
    private static func sessionSettings(_ others: [(name: String, value: String)]) -> String {
        let settings =
            [("statement_timeout", "0")] + PostgresSession.settings + [
                ("lock_timeout", "0"), ("idle_in_transaction_session_timeout", "0"),
                // What is waited for is the own disk, not that of a standby.
                ("synchronous_commit", "local"), ("default_transaction_isolation", "read committed"),
            ] + others
        // Those that only newer servers have.
        let optional = ["transaction_timeout", "idle_session_timeout"].map { name in
            "SELECT set_config('\(name)', '0', false) WHERE current_setting('\(name)', true) IS NOT NULL"
        }
        return (settings.map { "SET \($0.name) TO '\($0.value)'" } + optional).joined(separator: "; ")
    }

    /// Closes the connection; what is running fails.
    package func close() {
        libpq.interrupt()
        queue.async { [libpq] in libpq.finish() }
    }

    /// Cancels what the server runs, without waiting for it: the server may be out of reach, and libpq sets no limit then.
    private static func cancel(_ libpq: LibPQ) {
        guard let cancellation = libpq.cancellation else { return }
        DispatchQueue(label: "powersync.postgres.cancel").async { cancellation.run() }
    }

    /// Runs a last statement, if that is possible within a second, and closes the connection; waits for the end.
    ///
    /// Cancellation does not shorten it.
    func finish(_ sql: String) async {
        // It is closed already, or will be when what is running ends.
        guard isUsable else { return close() }
        await withCheckedContinuation { continuation in
            queue.async { [libpq] in
                let deadline = ContinuousClock.now.advanced(by: .seconds(1))
                if (try? libpq.send(sql, nil, until: deadline, "closing a connection")) != nil {
                    _ = try? libpq.receiveAll(until: deadline, "closing a connection")
                }
                libpq.interrupt()
                libpq.finish()
                continuation.resume()
            }
        }
    }

    /// Whether statements can be sent.
    var isUsable: Bool { !libpq.isInterrupted }

    /// How long a server has to show that it is there.
    private static let answerTimeout = Duration.seconds(5)

    /// Asks a server whether it is still there, over a connection that was kept; without an answer the connection is of no use
    /// any more.
    func answers() async -> Bool {
        let activity = "trying a connection"
        do {
            try await run { libpq in
                try libpq.takeWhatHasCome(activity)
                let deadline = ContinuousClock.now.advanced(by: Self.answerTimeout)
                try libpq.send("SELECT 1", nil, until: deadline, activity)
                _ = try libpq.receiveAll(until: deadline, activity)
            }
            return true
        } catch {
            return false
        }
    }

    // MARK: Statements

    /// Runs a statement.
    ///
    /// - Parameters:
    ///   - sql: One statement.
    ///   - arguments: The values of `$1`, `$2` …, as texts.
    ///   - timeout: How long it may take.
    ///   - activity: What is being done, for errors.
    /// - Returns: The rows, as texts.
    /// - Throws: ``PostgresError``, or `CancellationError`.
    @discardableResult
    package func query(
        _ sql: String,
        _ arguments: [String?] = [],
        timeout: Duration = statementTimeout,
        activity: String
    ) async throws -> [[String?]] {
        try await run { libpq in
            let deadline = ContinuousClock.now.advanced(by: timeout)
            try libpq.send(sql, arguments, until: deadline, activity)
            return try libpq.receiveAll(until: deadline, activity)
        }
    }

    /// Runs several statements without parameters.
    ///
    /// - Returns: What the last one has returned.
    /// - Throws: ``PostgresError``, or `CancellationError`.
    @discardableResult
    package func execute(
        _ sql: String,
        timeout: Duration = statementTimeout,
        activity: String
    ) async throws -> [[String?]] {
        try await run { libpq in
            let deadline = ContinuousClock.now.advanced(by: timeout)
            try libpq.send(sql, nil, until: deadline, activity)
            return try libpq.receiveAll(until: deadline, activity)
        }
    }

    /// Begins to run a statement whose rows are read with ``nextRows(timeout:activity:_:)``.
    func beginRows(of sql: String, _ arguments: [String?], activity: String) async throws {
        try await run { libpq in
            try libpq.send(sql, arguments, until: .now.advanced(by: Self.statementTimeout), activity)
            try libpq.beginRows(activity)
        }
    }

    /// Reads rows of a statement, for as long as the reader wants more.
    ///
    /// - Parameters:
    ///   - timeout: How long the server may be silent.
    ///   - activity: What is being done, for errors.
    ///   - reader: Takes rows on another thread.
    /// - Returns: The reader, and whether there may be more rows.
    /// - Throws: ``PostgresError``, or `CancellationError`.
    func nextRows<Reader: RowReader>(
        timeout: Duration,
        activity: String,
        _ reader: Reader
    ) async throws -> (reader: Reader, hasMore: Bool) {
        try await run { libpq in
            var reader = reader
            while reader.wantsMore {
                let deadline = ContinuousClock.now.advanced(by: timeout)
                guard try libpq.nextRow(until: deadline, activity, { reader.read($0) }) else { return (reader, false) }
            }
            return (reader, true)
        }
    }

    /// Waits for a notification of a channel that this connection listens to.
    ///
    /// Those that have come since the last call count, too.
    ///
    /// - Parameter deadline: Until when to wait.
    /// - Returns: What the notifications say; empty when the time is up.
    /// - Throws: ``PostgresError``, or `CancellationError`.
    func waitForNotifications(until deadline: ContinuousClock.Instant) async throws -> [String] {
        try await run { libpq in
            while true {
                let texts = libpq.takeNotifications()
                let rest = ContinuousClock.now.duration(to: deadline)
                guard texts.isEmpty, rest > .zero else { return texts }
                try libpq.waitForActivity(.readable, timeout: rest, "waiting for notifications")
            }
        }
    }

    // MARK: Running

    /// Runs work with libpq on the queue, without a caller that waits for it; it ends when the connection is closed.
    func detach(_ body: @escaping @Sendable (LibPQ) -> Void) {
        queue.async { [libpq] in body(libpq) }
    }

    /// Runs something with libpq on the queue.
    ///
    /// After an error that is not the server's, the connection is closed.
    func run<Value: Sendable>(_ body: @escaping @Sendable (LibPQ) throws -> Value) async throws -> Value {
        let call = PendingCall<Value>()
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                guard call.begin(continuation) else { return }
                queue.async { [libpq] in
                    let result = Result { try body(libpq) }
                    guard case .failure(let error) = result, (error as? PostgresError)?.code != .server else {
                        return call.finish(result)
                    }
                    // Before the caller gets the error, and could use the connection again.
                    libpq.interrupt()
                    call.finish(result)
                    if (error as? PostgresError)?.code != .connection { Self.cancel(libpq) }
                    libpq.finish()
                }
            }
        } onCancel: {
            call.cancel { libpq.interrupt() }
        }
    }
}

/// Takes rows of a statement.
protocol RowReader: Sendable {
    /// Whether it takes another one.
    var wantsMore: Bool { get }
    /// Takes a row.
    mutating func read(_ row: LibPQ.Row)
}

/// A call with a caller that waits until it is finished or cancelled.
private final class PendingCall<Value: Sendable>: Sendable {
    private enum State {
        case idle
        case waiting(CheckedContinuation<Value, any Error>)
        case ended
    }

    private let state = NIOLockedValueBox(State.idle)

    /// Begins to wait; `false` when the call was cancelled before.
    func begin(_ continuation: CheckedContinuation<Value, any Error>) -> Bool {
        let begins = state.withLockedValue { state in
            guard case .idle = state else { return false }
            state = .waiting(continuation)
            return true
        }
        if !begins { continuation.resume(throwing: CancellationError()) }
        return begins
    }

    func finish(_ result: Result<Value, any Error>) {
        end()?.resume(with: result)
    }

    /// Ends the call with `CancellationError`, whatever comes of it.
    ///
    /// - Parameter stop: Stops the call, before the caller gets its end.
    func cancel(_ stop: () -> Void) {
        let continuation = end()
        stop()
        continuation?.resume(throwing: CancellationError())
    }

    private func end() -> CheckedContinuation<Value, any Error>? {
        state.withLockedValue { state in
            defer { state = .ended }
            guard case .waiting(let continuation) = state else { return nil }
            return continuation
        }
    }
}

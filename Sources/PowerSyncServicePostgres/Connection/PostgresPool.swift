import NIOConcurrencyHelpers
import PowerSyncServiceCore

/// A few connections for short statements, opened when they are needed.
final class PostgresPool: Sendable {
    private struct State {
        var idle: [(connection: PostgresConnection, since: ContinuousClock.Instant)] = []
        var isClosed = false
    }

    /// For how long a connection that was used is taken for one whose server is there.
    private static let trust = Duration.seconds(1)

    private let string: PostgresConnectionString
    private let settings: [(name: String, value: String)]
    private let state = NIOLockedValueBox(State())
    private let slots: ConcurrencyQueue

    /// Creates a pool without connections.
    ///
    /// - Parameters:
    ///   - string: Where to connect.
    ///   - maximumConnections: The most connections.
    ///   - settings: Of the sessions; see ``PostgresConnection/open(_:for:settings:)``.
    init(_ string: PostgresConnectionString, maximumConnections: Int, settings: [(name: String, value: String)] = []) {
        self.string = string
        self.settings = settings
        slots = ConcurrencyQueue(maximumRunning: maximumConnections, maximumWaiting: .max)
    }

    /// Closes all connections that are not in use.
    func close() {
        let idle = state.withLockedValue { state in
            state.isClosed = true
            defer { state.idle = [] }
            return state.idle
        }
        for kept in idle { kept.connection.close() }
    }

    /// Runs `body`, which only reads, with a connection that no other caller has.
    ///
    /// The server is not asked before whether it is still there, if it has answered on the connection within the last second: it would be
    /// another round trip. A connection that is lost all the same is a reason to begin anew.
    ///
    /// - Parameter body: Called once more when the connection is lost.
    /// - Returns: The result of `body`.
    /// - Throws: What `body` throws, or ``PostgresError``.
    func withReadingConnection<Result>(_ body: (PostgresConnection) async throws -> Result) async throws -> Result {
        try await slots.withSlot {
            if let recent = takeIdle(usedAfter: .now.advanced(by: .zero - Self.trust)) {
                do {
                    return try await use(recent, body)
                } catch let error as PostgresError where error.code == .connection {
                    // Those of the same age are likely to be as bad.
                    dropIdle()
                    try Task.checkCancellation()
                }
            }
            return try await withAnsweringConnection(body)
        }
    }

    /// Runs `body`, once, with a connection that no other caller has.
    ///
    /// A connection that was kept may be one that the server has closed since, and the end of it may still be on its way: the
    /// server is asked before, because a statement that was sent is not repeated.
    func withConnection<Result>(_ body: (PostgresConnection) async throws -> Result) async throws -> Result {
        try await slots.withSlot { try await withAnsweringConnection(body) }
    }

    private func withAnsweringConnection<Result>(
        _ body: (PostgresConnection) async throws -> Result
    ) async throws -> Result {
        if let kept = await takeAnswering() { return try await use(kept, body) }
        return try await use(try await PostgresConnection.open(string, settings: settings), body)
    }

    /// A connection that was kept, and whose server is there.
    private func takeAnswering() async -> PostgresConnection? {
        guard let kept = takeIdle() else { return nil }
        if await kept.answers() { return kept }
        kept.close()
        // Those of the same age are likely to be as bad.
        dropIdle()
        return nil
    }

    private func use<Result>(
        _ connection: PostgresConnection,
        _ body: (PostgresConnection) async throws -> Result
    ) async throws -> Result {
        defer { putBack(connection) }
        return try await body(connection)
    }

    /// Takes the connection that was used last.
    private func takeIdle(usedAfter time: ContinuousClock.Instant? = nil) -> PostgresConnection? {
        state.withLockedValue { state in
            if let time, let last = state.idle.last, last.since < time { return nil }
            return state.idle.popLast()?.connection
        }
    }

    private func putBack(_ connection: PostgresConnection) {
        let isKept = state.withLockedValue { state in
            guard !state.isClosed, connection.isUsable else { return false }
            state.idle.append((connection, .now))
            return true
        }
        if !isKept { connection.close() }
    }

    /// Closes the connections that are not in use.
    func dropIdle() {
        let idle = state.withLockedValue { state in
            defer { state.idle = [] }
            return state.idle
        }
        for kept in idle { kept.connection.close() }
    }
}

import NIOConcurrencyHelpers
import PowerSyncServiceCore

/// A few connections for short statements, opened when they are needed.
final class PostgresPool: Sendable {
    private struct State {
        var idle: [PostgresConnection] = []
        var isClosed = false
    }

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
        for connection in idle { connection.close() }
    }

    /// Runs `body`, once, with a connection that no other caller has.
    ///
    /// A connection that was kept may be one that the server has closed since, and the end of it may still be on its way: the
    /// server is asked before, because a statement that was sent is not repeated.
    func withConnection<Result>(_ body: (PostgresConnection) async throws -> Result) async throws -> Result {
        try await slots.withSlot {
            if let kept = await takeAnswering() { return try await use(kept, body) }
            return try await use(try await PostgresConnection.open(string, settings: settings), body)
        }
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

    private func takeIdle() -> PostgresConnection? {
        state.withLockedValue { $0.idle.popLast() }
    }

    private func putBack(_ connection: PostgresConnection) {
        let isKept = state.withLockedValue { state in
            guard !state.isClosed, connection.isUsable else { return false }
            state.idle.append(connection)
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
        for connection in idle { connection.close() }
    }
}

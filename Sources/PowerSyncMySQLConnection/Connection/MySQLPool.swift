import NIOConcurrencyHelpers
import NIOCore
import NIOPosix

/// A few connections for short statements, opened when they are needed, and closed after 30 s without use.
///
/// On MariaDB, their statements wait until a node of a Galera cluster has what other nodes have confirmed.
package final class MySQLPool: Sendable {
    private struct State {
        /// The last one is taken first.
        var idle: [(connection: MySQLConnection, since: NIODeadline)] = []
        /// How many callers have a connection, or are about to open one.
        var running = 0
        var waiters = CircularBuffer<(id: UInt64, continuation: CheckedContinuation<Void, any Error>)>()
        var lastWaiter: UInt64 = 0
        var isClosed = false
        /// Whether something will look for connections that have not been used for long.
        var isSwept = false
    }

    /// How long a connection is kept without use.
    private static let idleTime = TimeAmount.seconds(30)

    private let connector: MySQLConnector
    private let maximumConnections: Int
    private let state = NIOLockedValueBox(State())

    /// Creates a pool without connections.
    ///
    /// - Parameters:
    ///   - connector: Opens them.
    ///   - maximumConnections: The most connections at a time; more callers wait, in their order.
    package init(_ connector: MySQLConnector, maximumConnections: Int) {
        self.connector = connector
        self.maximumConnections = maximumConnections
    }

    deinit { close() }

    /// Runs `body`, once, with a connection that no other caller has.
    ///
    /// The connection is closed when `body` throws.
    ///
    /// - Throws: ``MySQLConnectionError``, `CancellationError`, what `body` throws.
    package func withConnection<Result>(
        _ body: (MySQLConnection) async throws -> Result
    ) async throws -> Result {
        try await acquire()
        defer { release() }
        let connection = if let kept = try await takeAnswering() { kept } else { try await open() }
        do {
            let result = try await body(connection)
            keep(connection)
            return result
        } catch {
            connection.close()
            throw error
        }
    }

    /// Closes the connections that are not in use, and the others after their use (``MySQLConnector/close()`` closes them at once); later
    /// calls throw `.closed`.
    package func close() {
        let (idle, waiters) = state.withLockedValue { state in
            state.isClosed = true
            defer { (state.idle, state.waiters) = ([], []) }
            return (state.idle, state.waiters)
        }
        for (connection, _) in idle { connection.close() }
        for (_, continuation) in waiters { continuation.resume(throwing: Self.closed) }
    }

    private static var closed: MySQLConnectionError { MySQLConnectionError(.closed, "The connections were closed.") }

    private func open() async throws -> MySQLConnection {
        let connection = try await connector.open()
        guard connection.isMariaDB else { return connection }
        do {
            try await connection.execute("SET SESSION wsrep_sync_wait = 1")
        } catch let error as MySQLConnectionError where error.code == .server {
            // It is built without Galera.
        }
        return connection
    }

    /// A connection that was kept, and whose server is there: the end of a connection may still be on its way, and a statement that was
    /// sent is not repeated.
    private func takeAnswering() async throws -> MySQLConnection? {
        while let connection = state.withLockedValue({ $0.idle.popLast()?.connection }) {
            guard connection.isUsable else { continue }
            do {
                try await connection.ping(timeout: .seconds(5))
                return connection
            } catch is MySQLConnectionError {
                connection.close()
                // Those that are older are likely to be as bad.
                let others = state.withLockedValue { state in
                    defer { state.idle = [] }
                    return state.idle
                }
                for (other, _) in others { other.close() }
            }
        }
        return nil
    }

    private func keep(_ connection: MySQLConnection) {
        let (isKept, mustSweep) = state.withLockedValue { state in
            guard !state.isClosed, connection.isUsable else { return (false, false) }
            state.idle.append((connection, .now()))
            defer { state.isSwept = true }
            return (true, !state.isSwept)
        }
        if !isKept { connection.close() }
        if mustSweep { sweepLater(Self.idleTime) }
    }

    private func sweepLater(_ time: TimeAmount) {
        MultiThreadedEventLoopGroup.singleton.next().scheduleTask(in: time) { [weak self] in self?.sweep() }
    }

    /// Closes what has not been used for long.
    private func sweep() {
        let now = NIODeadline.now()
        let (old, next) = state.withLockedValue { state in
            let count = state.idle.firstIndex { $0.since + Self.idleTime > now } ?? state.idle.count
            let old = state.idle.prefix(count)
            state.idle.removeFirst(count)
            let next = state.idle.first.map { $0.since + Self.idleTime - now }
            state.isSwept = next != nil
            return (old, next)
        }
        for (connection, _) in old { connection.close() }
        if let next { sweepLater(next) }
    }

    // MARK: Turns

    private func acquire() async throws {
        let id = state.withLockedValue { state in
            state.lastWaiter += 1
            return state.lastWaiter
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let answer = state.withLockedValue { state -> Result<Void, any Error>? in
                    if Task.isCancelled { return .failure(CancellationError()) }
                    if state.isClosed { return .failure(Self.closed) }
                    guard state.running >= maximumConnections else {
                        state.running += 1
                        return .success(())
                    }
                    state.waiters.append((id, continuation))
                    return nil
                }
                if let answer { continuation.resume(with: answer) }
            }
        } onCancel: {
            let waiter = state.withLockedValue { state in
                state.waiters.firstIndex { $0.id == id }.map { state.waiters.remove(at: $0).continuation }
            }
            waiter?.resume(throwing: CancellationError())
        }
    }

    private func release() {
        let waiter = state.withLockedValue { state in
            let waiter = state.waiters.popFirst()
            if waiter == nil { state.running -= 1 }
            return waiter
        }
        waiter?.continuation.resume()
    }
}

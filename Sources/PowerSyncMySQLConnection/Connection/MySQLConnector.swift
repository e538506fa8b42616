package import Logging
import NIOConcurrencyHelpers

/// Opens connections to one server, and can close all that are open.
package final class MySQLConnector: Sendable {
    private struct State {
        var connections: [Opened] = []
        var isClosed = false
    }

    private struct Opened {
        weak var connection: MySQLConnection?
    }

    private let settings: MySQLConnectionSettings
    private let logger: Logger
    private let state = NIOLockedValueBox(State())

    /// Creates a connector without connections.
    ///
    /// - Parameters:
    ///   - settings: Where to connect.
    ///   - logger: Gets lines at trace and debug.
    package init(_ settings: MySQLConnectionSettings, logger: Logger) {
        self.settings = settings
        self.logger = logger
    }

    /// Opens a connection.
    ///
    /// - Throws: ``MySQLConnectionError``, with `.closed` after ``close()``; `CancellationError`.
    package func open() async throws -> MySQLConnection {
        guard !state.withLockedValue(\.isClosed) else { throw Self.closed }
        let connection = try await MySQLConnection.open(settings, logger: logger)
        let isClosed = state.withLockedValue { state in
            state.connections.removeAll { $0.connection == nil }
            state.connections.append(Opened(connection: connection))
            return state.isClosed
        }
        guard !isClosed else {
            connection.close()
            throw Self.closed
        }
        return connection
    }

    /// Closes all connections, those in use, too: their calls throw `.closed`, and so do later ones of ``open()``.
    package func close() {
        let connections = state.withLockedValue { state in
            state.isClosed = true
            defer { state.connections = [] }
            return state.connections.compactMap(\.connection)
        }
        for connection in connections { connection.close() }
    }

    private static var closed: MySQLConnectionError { MySQLConnectionError(.closed, "The connections were closed.") }
}

import Logging
import NIOCore
import PostgresNIO

/// The connection to the server has ended.
struct ConnectionEnded: Error, CustomStringConvertible {
    var description: String { "The connection to the server has ended." }
}

extension PostgresConnection {
    /// Runs a statement, and collects its rows.
    ///
    /// PostgresNIO never answers a statement that is sent after the end of the connection; this throws ``ConnectionEnded``.
    ///
    /// The connection ends when the task is cancelled: PostgresNIO waits for the answer in any case.
    ///
    /// - Throws: `PSQLError`, ``ConnectionEnded``, `CancellationError`.
    func rows(_ query: PostgresQuery, _ logger: Logger) async throws -> [PostgresRow] {
        // On the loop of the connection, so that it does not end between the question and the statement.
        let answer = eventLoop.flatSubmit { () -> EventLoopFuture<PostgresQueryResult> in
            guard !self.isClosed else { return self.eventLoop.makeFailedFuture(ConnectionEnded()) }
            return self.query(query, logger: logger)
        }
        do {
            let rows = try await withTaskCancellationHandler {
                try await answer.get().rows
            } onCancel: {
                close().whenComplete { _ in }
            }
            try Task.checkCancellation()
            return rows
        } catch {
            try Task.checkCancellation()
            throw error
        }
    }
}

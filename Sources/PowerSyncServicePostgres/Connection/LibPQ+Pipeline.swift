import CLibPQ

/// Several statements in one round trip (libpq's pipeline mode).
extension LibPQ {
    /// Sends statements together, and receives what they return.
    ///
    /// After one that fails, the server leaves out the rest.
    ///
    /// - Parameters:
    ///   - statements: With their arguments.
    ///   - timeout: How long the server may take for each of them.
    ///   - activity: What is being done, for errors.
    ///   - body: Gets the rows, and which statement they are of.
    /// - Throws: The first ``PostgresError``, or what `body` throws.
    func runTogether(
        _ statements: [(sql: String, arguments: [PostgresArgument])],
        timeout: Duration,
        _ activity: String,
        _ body: (Int, Row) throws -> Void
    ) throws {
        try check(activity)
        for statement in statements { try Self.checkSizes(of: statement.arguments, activity) }
        guard unsafe PQenterPipelineMode(connection) == 1 else { throw failure(activity) }
        for statement in statements {
            try queue(statement.sql, statement.arguments, activity)
            // Or else the server keeps what it has to say until the last one is done.
            guard unsafe PQsendFlushRequest(connection) == 1 else { throw failure(activity) }
        }
        guard unsafe PQpipelineSync(connection) == 1 else { throw failure(activity) }
        // The server takes the next one when it has done the one before.
        while try !flushSome(activity) {
            try wait([.readable, .writable], until: .now.advanced(by: timeout), activity)
            guard unsafe PQconsumeInput(connection) == 1 else { throw failure(activity) }
        }
        var (index, failure) = (0, nil as (any Error)?)
        while true {
            guard let result = unsafe try nextResult(until: .now.advanced(by: timeout), activity) else {
                // The end of one statement; on a connection that is lost, there would be no end of them.
                guard unsafe PQstatus(connection) == CONNECTION_OK, index < statements.count else {
                    throw self.failure(activity)
                }
                index += 1
                continue
            }
            defer { unsafe PQclear(result) }
            if unsafe PQresultStatus(result) == PGRES_PIPELINE_SYNC { break }
            if let error = unsafe error(of: result, activity) { failure = failure ?? error }
            guard failure == nil else { continue }
            do {
                for row in unsafe rows(of: result) { try body(index, row) }
            } catch {
                failure = error
            }
        }
        guard unsafe PQexitPipelineMode(connection) == 1 else { throw failure ?? self.failure(activity) }
        if let failure { throw failure }
    }
}

import CLibPQ

/// Several statements in one round trip (libpq's pipeline mode).
extension LibPQ {
    /// A statement whose arguments and results have their binary form.
    typealias PipelinedStatement = (sql: String, arguments: [PostgresArgument])

    /// What libpq gives a result for.
    private struct Command {
        enum Kind {
            case text, preparation, execution, removal
        }

        let kind: Kind
        /// Which statement it is for.
        let statement: Int

        /// Whether it names something that the session is to have.
        var isByName: Bool { kind == .execution || kind == .removal }
    }

    /// Sends statements together, and receives what they return.
    ///
    /// After one that fails, the server leaves out the rest.
    ///
    /// - Parameters:
    ///   - statements: With their arguments.
    ///   - preparing: Whether those that come again are prepared. Then the session may have lost what was prepared, and the error of that
    ///     is one after which a repetition helps (``PostgresError/repeatingConflicts(_:)``).
    ///   - timeout: How long the server may take for each of them.
    ///   - activity: What is being done, for errors.
    ///   - body: Gets the rows, and which statement they are of.
    /// - Returns: How many rows each statement has changed or returned.
    /// - Throws: The first ``PostgresError``, or what `body` throws.
    @discardableResult
    func runTogether(
        _ statements: [PipelinedStatement],
        preparing: Bool = false,
        timeout: Duration,
        _ activity: String,
        _ body: (Int, Row) throws -> Void
    ) throws -> [Int] {
        try check(activity)
        for statement in statements { try Self.checkSizes(of: statement.arguments, activity) }
        guard unsafe PQenterPipelineMode(connection) == 1 else { throw failure(activity) }
        var commands: [Command] = []
        for (number, statement) in statements.enumerated() {
            commands += try queue(statement, preparing: preparing, activity).map {
                Command(kind: $0, statement: number)
            }
            // Or else the server keeps what it has to say until the last one is done.
            guard unsafe PQsendFlushRequest(connection) == 1 else { throw failure(activity) }
        }
        guard unsafe PQpipelineSync(connection) == 1 else { throw failure(activity) }
        // The server takes the next one when it has done the one before.
        while try !flushSome(activity) {
            try wait([.readable, .writable], until: .now.advanced(by: timeout), activity)
            guard unsafe PQconsumeInput(connection) == 1 else { throw failure(activity) }
        }
        var counts = [Int](repeating: 0, count: statements.count)
        var (index, failure) = (0, nil as (any Error)?)
        while true {
            guard let result = unsafe try nextResult(until: .now.advanced(by: timeout), activity) else {
                // The end of one command; on a connection that is lost, there would be no end of them.
                guard unsafe PQstatus(connection) == CONNECTION_OK, index < commands.count else {
                    throw self.failure(activity)
                }
                index += 1
                continue
            }
            defer { unsafe PQclear(result) }
            if unsafe PQresultStatus(result) == PGRES_PIPELINE_SYNC { break }
            if failure == nil, let error = unsafe error(of: result, activity) {
                failure = error
                forgetPreparations(of: statements, after: error, of: commands, index)
            }
            guard failure == nil else { continue }
            let command = commands[index]
            guard command.kind == .text || command.kind == .execution else { continue }
            if let count = unsafe PQcmdTuples(result).flatMap({ unsafe Int(String(cString: $0)) }) {
                counts[command.statement] = count
            }
            do {
                for row in unsafe rows(of: result) { try body(command.statement, row) }
            } catch {
                failure = error
            }
        }
        guard unsafe PQexitPipelineMode(connection) == 1 else { throw failure ?? self.failure(activity) }
        if let failure { throw failure }
        return counts
    }

    /// Gives a statement to libpq, which sends it with the next flush.
    ///
    /// - Returns: What there will be results for.
    private func queue(
        _ statement: PipelinedStatement,
        preparing: Bool,
        _ activity: String
    ) throws -> [Command.Kind] {
        let use =
            preparing
            ? prepared.use(
                PreparedStatements.Key(statement),
                byteCount: statement.arguments.reduce(0) { $0 + ($1.bytes?.count ?? 0) },
                at: .now
            ) : .text
        switch use {
        case .text:
            try send(statement, as: nil, activity)
            return [.text]
        case .execute(let name):
            try send(statement, as: name, activity)
            return [.execution]
        case .prepare(let name, let replaced):
            var kinds: [Command.Kind] = [.preparation, .execution]
            if let replaced {
                try send(("DEALLOCATE \(PostgresText.identifier(replaced))", []), as: nil, activity)
                kinds.insert(.removal, at: 0)
            }
            let types = statement.arguments.map { Oid($0.type) }
            guard unsafe PQsendPrepare(connection, name, statement.sql, CInt(types.count), types) == 1 else {
                throw failure(activity)
            }
            try send(statement, as: name, activity)
            return kinds
        }
    }

    /// Gives a statement to libpq, by its text or by the name that it has been given.
    private func send(_ statement: PipelinedStatement, as name: String?, _ activity: String) throws {
        let arguments = statement.arguments
        let types = arguments.map { Oid($0.type) }
        let lengths = arguments.map { CInt($0.bytes?.count ?? 0) }
        let formats = [CInt](repeating: 1, count: arguments.count)
        let count = CInt(arguments.count)
        let isSent = unsafe withPointers(arguments.map(\.bytes)) { values in
            if let name {
                unsafe PQsendQueryPrepared(connection, name, count, values, lengths, formats, 1)
            } else {
                unsafe PQsendQueryParams(connection, statement.sql, count, types, values, lengths, formats, 1)
            }
        }
        guard isSent == 1 else { throw failure(activity) }
    }

    /// Takes back what was to be prepared by commands that the server has left out, or everything if that is what it does not have.
    private func forgetPreparations(
        of statements: [PipelinedStatement],
        after error: PostgresError,
        of commands: [Command],
        _ index: Int
    ) {
        guard index < commands.count else { return }
        if commands[index].isByName, PostgresError.SQLState.ofPlans.contains(error.sqlState ?? "") {
            return prepared.forgetAll()
        }
        for command in commands[index...] where command.kind == .preparation {
            prepared.forget(PreparedStatements.Key(statements[command.statement]))
        }
    }
}

extension PreparedStatements.Key {
    fileprivate init(_ statement: LibPQ.PipelinedStatement) {
        self.init(sql: statement.sql, types: statement.arguments.map(\.type))
    }
}

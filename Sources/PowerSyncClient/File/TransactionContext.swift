/// A context with an open transaction, on top of any connection context.
struct TransactionContext: Transaction {
    let connection: any ConnectionContext

    /// Runs a callback in a transaction that may write.
    static func write<R>(
        on connection: any ConnectionContext,
        callback: (any Transaction) throws -> R
    ) throws -> R {
        try run(on: connection, begin: "BEGIN IMMEDIATE", callback: callback)
    }

    /// Runs a callback whose writes stay all or none, in a transaction of their own or in the one that is open.
    ///
    /// Nothing is locked before the first write.
    static func whole<R>(
        on connection: any ConnectionContext,
        callback: (any Transaction) throws -> R
    ) throws -> R {
        // A savepoint would do here as well, but inside of one GRDB keeps what it hears of each row until the end.
        guard try mayHaveTransaction(connection) else {
            return try run(on: connection, begin: "BEGIN", callback: callback)
        }
        let name = "powersync_whole"
        return try run(
            on: connection,
            begin: "SAVEPOINT \(name)",
            commit: "RELEASE \(name)",
            rollBack: ["ROLLBACK TO \(name)", "RELEASE \(name)"],
            callback: callback
        )
    }

    /// Whether a transaction is open on a connection, or that is unknown: only connections of ours tell.
    private static func mayHaveTransaction(_ connection: any ConnectionContext) throws -> Bool {
        switch connection {
        case let connection as LocalConnection: try connection.isInsideTransaction
        case let connection as LeasedConnection: try connection.isInsideTransaction
        default: true
        }
    }

    /// Runs a callback on the state of the database at this moment.
    ///
    /// A deferred transaction takes its snapshot at its first read, so there is one before the callback. It also makes
    /// the connection notice a schema that others have changed.
    static func read<R>(
        on connection: any ConnectionContext,
        callback: (any Transaction) throws -> R
    ) throws -> R {
        try run(on: connection, begin: "BEGIN") { transaction in
            _ = try transaction.getOptional(sql: "SELECT 1 FROM sqlite_master LIMIT 1", parameters: []) { _ in () }
            return try callback(transaction)
        }
    }

    /// Runs a callback between the beginning and the end of a transaction.
    ///
    /// When the callback or the commit throws, the transaction is rolled back and that error is thrown. A failing
    /// rollback is ignored: a statement such as `INSERT OR ROLLBACK` may have ended the transaction already.
    private static func run<R>(
        on connection: any ConnectionContext,
        begin: String,
        commit: String = "COMMIT",
        rollBack: [String] = ["ROLLBACK"],
        callback: (any Transaction) throws -> R
    ) throws -> R {
        try connection.execute(sql: begin, parameters: [])
        do {
            let result = try callback(TransactionContext(connection: connection))
            try connection.execute(sql: commit, parameters: [])
            return result
        } catch {
            for sql in rollBack { _ = try? connection.execute(sql: sql, parameters: []) }
            throw error
        }
    }

    func execute(sql: String, parameters: [(any Sendable)?]?) throws -> Int64 {
        try connection.execute(sql: sql, parameters: parameters)
    }

    func getOptional<RowType>(
        sql: String,
        parameters: [(any Sendable)?]?,
        mapper: @Sendable @escaping (any SqlCursor) throws -> RowType
    ) throws -> RowType? {
        try connection.getOptional(sql: sql, parameters: parameters, mapper: mapper)
    }

    func getAll<RowType>(
        sql: String,
        parameters: [(any Sendable)?]?,
        mapper: @Sendable @escaping (any SqlCursor) throws -> RowType
    ) throws -> [RowType] {
        try connection.getAll(sql: sql, parameters: parameters, mapper: mapper)
    }

    func get<RowType>(
        sql: String,
        parameters: [(any Sendable)?]?,
        mapper: @Sendable @escaping (any SqlCursor) throws -> RowType
    ) throws -> RowType {
        try connection.get(sql: sql, parameters: parameters, mapper: mapper)
    }
}

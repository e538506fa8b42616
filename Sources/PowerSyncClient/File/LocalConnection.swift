import GRDB

/// The connection that a callback of the app works with.
struct LocalConnection: ConnectionContext {
    private let database: Lent<Database>
    private let logger: any LoggerProtocol
    /// The kinds of the columns of the file's schema.
    let kinds: ColumnKinds

    /// Runs a callback with a context that ends with it.
    ///
    /// A transaction that the callback left open is rolled back, for the next user of the connection.
    static func use<R>(
        _ db: Database,
        logger: any LoggerProtocol,
        kinds: ColumnKinds,
        _ callback: (any ConnectionContext) throws -> R
    ) throws -> R {
        let connection = LocalConnection(database: Lent(db), logger: logger, kinds: kinds)
        defer {
            connection.database.end()
            if db.isInsideTransaction {
                logger.warning("A callback left a transaction open; it is rolled back", tag: LogTag.database)
                try? db.rollback()
            }
        }
        return try callback(connection)
    }

    /// The GRDB connection behind a context of ours, for the engine's own statements.
    ///
    /// - Throws: ``PowerSyncError/operationFailed(message:underlyingError:)`` for a context that is not ours, or not valid
    ///   here and now.
    static func database(of context: any ConnectionContext) throws -> Database {
        switch context {
        case let connection as LocalConnection: return try connection.database.value()
        case let transaction as TransactionContext: return try database(of: transaction.connection)
        default:
            throw PowerSyncError.notSupported(byConnection: context)
        }
    }

    /// A statement to run again and again, prepared once if the context is ours.
    ///
    /// Use it only as long as the context, and on its thread.
    static func preparedRun(
        sql: String,
        on context: any ConnectionContext
    ) throws -> ([(any Sendable)?]) throws -> Int64 {
        switch context {
        case let connection as LocalConnection: try connection.runner().preparedRun(sql: sql)
        case let transaction as TransactionContext: try preparedRun(sql: sql, on: transaction.connection)
        default: { parameters in try context.execute(sql: sql, parameters: parameters) }
        }
    }

    /// Whether a transaction is open.
    var isInsideTransaction: Bool {
        get throws { try database.value().isInsideTransaction }
    }

    private func runner() throws -> StatementRunner {
        StatementRunner(db: try database.value(), logger: logger)
    }

    func execute(sql: String, parameters: [(any Sendable)?]?) throws -> Int64 {
        try runner().execute(sql: sql, parameters: parameters)
    }

    func getAll<RowType>(
        sql: String,
        parameters: [(any Sendable)?]?,
        mapper: @Sendable @escaping (any SqlCursor) throws -> RowType
    ) throws -> [RowType] {
        try runner().rows(sql: sql, parameters: parameters, mapper: mapper)
    }

    func getOptional<RowType>(
        sql: String,
        parameters: [(any Sendable)?]?,
        mapper: @Sendable @escaping (any SqlCursor) throws -> RowType
    ) throws -> RowType? {
        try runner().rows(sql: sql, parameters: parameters, limit: 1, mapper: mapper).first
    }

    func get<RowType>(
        sql: String,
        parameters: [(any Sendable)?]?,
        mapper: @Sendable @escaping (any SqlCursor) throws -> RowType
    ) throws -> RowType {
        guard let row = try runner().rows(sql: sql, parameters: parameters, limit: 1, mapper: mapper).first else {
            throw PowerSyncError.noRow(of: sql)
        }
        return row
    }
}

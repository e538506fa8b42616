import GRDBSQLite

/// The connection of an app's pool that a callback of the app works with.
struct LeasedConnection: ConnectionContext {
    private let lease: Lent<any SQLiteConnectionLease>
    /// The kinds of the columns of the file's schema.
    let kinds: ColumnKinds

    /// Runs a callback with a context that ends with it.
    ///
    /// A transaction that the callback left open is rolled back, for the next user of the connection.
    static func use<R>(
        _ lease: any SQLiteConnectionLease,
        logger: any LoggerProtocol,
        kinds: ColumnKinds,
        _ callback: (any ConnectionContext) throws -> R
    ) throws -> R {
        let connection = LeasedConnection(lease: Lent(lease), kinds: kinds)
        defer {
            connection.lease.end()
            if unsafe sqlite3_get_autocommit(lease.pointer) == 0 {
                logger.warning("A callback left a transaction open; it is rolled back", tag: LogTag.database)
                _ = try? lease.execute(sql: "ROLLBACK", parameters: [])
            }
        }
        return try callback(connection)
    }

    /// Whether a transaction is open.
    var isInsideTransaction: Bool {
        get throws { unsafe sqlite3_get_autocommit(try lease.value().pointer) == 0 }
    }

    func execute(sql: String, parameters: [(any Sendable)?]?) throws -> Int64 {
        try lease.value().execute(sql: sql, parameters: try LeasedConnection.values(of: parameters))
    }

    func getAll<RowType>(
        sql: String,
        parameters: [(any Sendable)?]?,
        mapper: @Sendable @escaping (any SqlCursor) throws -> RowType
    ) throws -> [RowType] {
        try lease.value().withIterator(sql: sql, parameters: try LeasedConnection.values(of: parameters)) { rows in
            var elements: [RowType] = []
            while let element = try rows.next(callback: mapper) {
                elements.append(element)
            }
            return elements
        }
    }

    func getOptional<RowType>(
        sql: String,
        parameters: [(any Sendable)?]?,
        mapper: @Sendable @escaping (any SqlCursor) throws -> RowType
    ) throws -> RowType? {
        try lease.value().withIterator(sql: sql, parameters: try LeasedConnection.values(of: parameters)) { rows in
            let first = try rows.next(callback: mapper)
            // A statement that writes (`INSERT … RETURNING`) has to be stepped to its end to be committed.
            if (rows as? LeasedStatement)?.isReadonly != true {
                while try rows.next(callback: { _ in () }) != nil {}
            }
            return first
        }
    }

    func get<RowType>(
        sql: String,
        parameters: [(any Sendable)?]?,
        mapper: @Sendable @escaping (any SqlCursor) throws -> RowType
    ) throws -> RowType {
        // No row is another `nil` than that of a mapper whose elements are optionals.
        guard let row = try getOptional(sql: sql, parameters: parameters, mapper: mapper) else {
            throw PowerSyncError.noRow(of: sql)
        }
        return row
    }

    private static func values(of parameters: [(any Sendable)?]?) throws -> [PowerSyncDataType?] {
        try (parameters ?? []).map { try PowerSyncDataType.value(of: $0) }
    }
}

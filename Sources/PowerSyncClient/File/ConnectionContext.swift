/// A connection that a callback owns while it runs.
///
/// Valid only inside the callback and on the thread that runs it; later or elsewhere every method throws. Mappers may run
/// further statements on the same context.
public protocol ConnectionContext: Sendable {
    /// Runs a statement to its end, or several, one after the other.
    ///
    /// - Parameters:
    ///   - sql: The statements, with `;` between them.
    ///   - parameters: Values for `?`, as many as there are parameters. Of several statements, each takes as many as it has, in order.
    /// - Returns: The number of changed rows, also of a view, without those that triggers of the app change; 0 for statements of
    ///   other kinds.
    /// - Throws: ``PowerSyncError``.
    @discardableResult func execute(sql: String, parameters: [(any Sendable)?]?) throws -> Int64

    /// Reads the first row.
    ///
    /// - Returns: `nil` when there is no row.
    /// - Throws: ``PowerSyncError``, or what the mapper throws.
    func getOptional<RowType>(
        sql: String,
        parameters: [(any Sendable)?]?,
        mapper: @Sendable @escaping (any SqlCursor) throws -> RowType
    ) throws -> RowType?

    /// Reads all rows.
    ///
    /// - Throws: ``PowerSyncError``, or what the mapper throws.
    func getAll<RowType>(
        sql: String,
        parameters: [(any Sendable)?]?,
        mapper: @Sendable @escaping (any SqlCursor) throws -> RowType
    ) throws -> [RowType]

    /// Reads the first row.
    ///
    /// - Throws: ``PowerSyncError/operationFailed(message:underlyingError:)`` when there is no row, other
    ///   ``PowerSyncError``s, or what the mapper throws.
    func get<RowType>(
        sql: String,
        parameters: [(any Sendable)?]?,
        mapper: @Sendable @escaping (any SqlCursor) throws -> RowType
    ) throws -> RowType
}

/// A connection with an open transaction.
public protocol Transaction: ConnectionContext {}

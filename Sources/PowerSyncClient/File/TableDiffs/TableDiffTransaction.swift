import PowerSyncCore
import PowerSyncProtocol

/// The transaction in which recorded changes are handled.
///
/// When the handler returns, the transaction is committed and the changes are forgotten. When it throws, everything is
/// rolled back, and the changes come again.
public struct TableDiffTransaction: Transaction {
    private let transaction: any Transaction

    /// The database with one more table, `DIFF`: the changes in their order.
    ///
    /// | Column | Content |
    /// | --- | --- |
    /// | `operation_id` | the position of the change |
    /// | `id` | the id of the row |
    /// | `operation` | `INSERT`, `UPDATE` or `DELETE` |
    /// | `timestamp` | when it happened: UTC, ISO 8601 with milliseconds |
    /// | `value` | the row after the change, of a deletion the row before it, as a JSON object |
    /// | `previous_value` | of an update the row before it, as a JSON object |
    ///
    /// `DIFF` is a common table expression that is added to each statement.
    public let diff: any ConnectionContext

    /// The database with one more table, `DIFF`: the changes in their order, with the columns of the view.
    ///
    /// Besides `id` and the recorded columns there are `__operation_id`, `__operation`, `__timestamp` and
    /// `__previous_value`, with the content that ``diff`` describes.
    public let extractedDiff: any ConnectionContext

    /// Creates the context of a handler.
    ///
    /// - Parameters:
    ///   - transaction: The transaction.
    ///   - stored: A query for the changes.
    ///   - extracted: A query for the changes with columns.
    init(_ transaction: any Transaction, stored: String, extracted: String) {
        self.transaction = transaction
        diff = CommonTableContext(connection: transaction, name: "DIFF", query: stored)
        extractedDiff = CommonTableContext(connection: transaction, name: "DIFF", query: extracted)
    }

    /// The changes in their order.
    ///
    /// - Throws: ``PowerSyncError``.
    /// - Complexity: O(changes), in memory as well; prefer ``diff`` when there may be many.
    public func records() throws -> [TableDiffRecord] {
        try diff.getAll(sql: "SELECT * FROM DIFF", parameters: []) { cursor in
            try TableDiffRecord(cursor)
        }
    }

    /// Runs one statement to its end.
    @discardableResult
    public func execute(sql: String, parameters: [(any Sendable)?]?) throws -> Int64 {
        try transaction.execute(sql: sql, parameters: parameters)
    }

    /// Reads the first row.
    public func getOptional<RowType>(
        sql: String,
        parameters: [(any Sendable)?]?,
        mapper: @Sendable @escaping (any SqlCursor) throws -> RowType
    ) throws -> RowType? {
        try transaction.getOptional(sql: sql, parameters: parameters, mapper: mapper)
    }

    /// Reads all rows.
    public func getAll<RowType>(
        sql: String,
        parameters: [(any Sendable)?]?,
        mapper: @Sendable @escaping (any SqlCursor) throws -> RowType
    ) throws -> [RowType] {
        try transaction.getAll(sql: sql, parameters: parameters, mapper: mapper)
    }

    /// Reads the first row, which must exist.
    public func get<RowType>(
        sql: String,
        parameters: [(any Sendable)?]?,
        mapper: @Sendable @escaping (any SqlCursor) throws -> RowType
    ) throws -> RowType {
        try transaction.get(sql: sql, parameters: parameters, mapper: mapper)
    }
}

/// A recorded change of a row.
public struct TableDiffRecord: Sendable, Equatable {
    /// The position of the change.
    ///
    /// Grows as long as the changes are recorded.
    public let operationId: Int64
    /// The id of the row.
    public let id: String
    /// What happened to it.
    public let operation: TableDiffOperation
    /// When it happened: UTC, ISO 8601 with milliseconds.
    public let timestamp: String
    /// The recorded columns after the change, of a deletion before it.
    ///
    /// Values are as they were stored, without the types of the schema. NULL may be missing. A number that no double can hold
    /// is infinite, and half a surrogate pair is U+FFFD. Of what cannot be read as a JSON object there are no columns: a row
    /// may be nested too deeply.
    public let value: JsonParam
    /// The recorded columns before an update; `nil` for other changes.
    public let previousValue: JsonParam?
}

extension TableDiffRecord {
    fileprivate init(_ cursor: any SqlCursor) throws {
        let name = try cursor.getString(name: "operation")
        guard let operation = TableDiffOperation(rawValue: name) else {
            throw PowerSyncError.unknownOperation(name)
        }
        self.init(
            operationId: try cursor.getInt64(name: "operation_id"),
            id: try cursor.getString(name: "id"),
            operation: operation,
            timestamp: try cursor.getString(name: "timestamp"),
            value: try cursor.getStringOptional(name: "value").map(TableDiffRecord.members(of:)) ?? [:],
            previousValue: try cursor.getStringOptional(name: "previous_value").map(TableDiffRecord.members(of:))
        )
    }

    /// Never throws for what is in a row: its changes, and all after them, would be handed over again for ever.
    private static func members(of row: String) -> JsonParam {
        JsonParam(JSONObject(storedRow: row))
    }
}

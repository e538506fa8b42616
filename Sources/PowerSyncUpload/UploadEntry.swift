/// A write of a client, on its way to the app's own backend.
///
/// As JSON it is what clients in other languages send, too:
///
/// ```json
/// {"op_id":7,"tx_id":3,"op":"PATCH","type":"todos","id":"t1","data":{"done":1},"old":{"done":0},"metadata":"swipe"}
/// ```
///
/// ```swift
/// let entry = UploadEntry(operationID: 7, op: .patch, table: "todos", id: "t1", data: ["done": .int(1)])
/// ```
///
/// Foundation's `JSONEncoder` writes a real number without a fraction as an integer. The bytes of ``UploadRequest`` keep
/// numbers as they are: `1.0` stays a real number, and 9007199254740993 stays exact.
public struct UploadEntry: Sendable, Hashable, Codable {
    /// The position in the client's queue, `op_id`: grows with each write, and never names two writes of a client.
    public var operationID: Int64
    /// What happened to the row.
    public var op: UpdateType
    /// The name of the table, `type`.
    public var table: String
    /// The id of the row.
    public var id: String
    /// What the entries of one local transaction have in common, `tx_id`.
    ///
    /// Neighbours with the same number are one transaction; an entry without one is a transaction by itself.
    public var transactionID: Int64?
    /// The new values, by column.
    public var data: JsonParam?
    /// The values before the write, `old`, if the client's table tracks them.
    public var previousValues: JsonParam?
    /// What the app wrote to the column `_metadata`.
    public var metadata: String?

    private enum CodingKeys: String, CodingKey {
        case operationID = "op_id"
        case op
        case table = "type"
        case id
        case transactionID = "tx_id"
        case data
        case previousValues = "old"
        case metadata
    }

    /// Creates an entry.
    ///
    /// - Parameters:
    ///   - operationID: The position in the client's queue.
    ///   - op: What happened to the row.
    ///   - table: The name of the table.
    ///   - id: The id of the row.
    ///   - transactionID: What the entries of one local transaction have in common.
    ///   - data: The new values, by column.
    ///   - previousValues: The values before the write.
    ///   - metadata: What the app wrote to the column `_metadata`.
    public init(
        operationID: Int64,
        op: UpdateType,
        table: String,
        id: String,
        transactionID: Int64? = nil,
        data: JsonParam? = nil,
        previousValues: JsonParam? = nil,
        metadata: String? = nil
    ) {
        self.operationID = operationID
        self.op = op
        self.table = table
        self.id = id
        self.transactionID = transactionID
        self.data = data
        self.previousValues = previousValues
        self.metadata = metadata
    }
}

import PowerSyncProtocol
import PowerSyncSQLite

/// An operation as it is stored, in the memory of a row of `operations` or of a segment.
///
/// Its bytes are gone with the next step of the statement that they came from.
struct StoredOperation {
    var opID: Int64
    var kind: SyncOperation.Kind
    var checksum: Checksum
    /// The op id of what replaced this operation, or one that it stands for.
    var targetOp: Int64?
    /// The id of the source table; empty for a `MOVE` or a `CLEAR`, as are all that follow.
    var sourceTable = UnsafeRawBufferPointer(start: nil, count: 0)
    /// The 16 bytes of the row's identity.
    var sourceKey = UnsafeRawBufferPointer(start: nil, count: 0)
    /// The name of the table on clients.
    var table = UnsafeRawBufferPointer(start: nil, count: 0)
    /// The row id on clients.
    var rowID = UnsafeRawBufferPointer(start: nil, count: 0)
    /// The row as JSON; empty for a `REMOVE`.
    var data = UnsafeRawBufferPointer(start: nil, count: 0)

    /// Creates an operation without a row.
    init(opID: Int64, kind: SyncOperation.Kind, checksum: Checksum, targetOp: Int64?) {
        self.opID = opID
        self.kind = kind
        self.checksum = checksum
        self.targetOp = targetOp
    }

    /// The current row of a query of ``columns``.
    init(_ row: PreparedStatement) {
        // The first letter of the name, which version 1 of the storage wrote in full.
        let kind: SyncOperation.Kind =
            switch row.text(at: 1)?.first {
            case UInt8(ascii: "P"): .put
            case UInt8(ascii: "R"): .remove
            case UInt8(ascii: "C"): .clear
            default: .move
            }
        self.init(
            opID: row.integer(at: 0),
            kind: kind,
            checksum: Checksum(truncating: row.integer(at: 2)),
            targetOp: row.isNull(at: 3) ? nil : row.integer(at: 3)
        )
        guard kind == .put || kind == .remove else { return }
        if let bytes = row.text(at: 4) { sourceTable = bytes }
        sourceKey = row.blob(at: 5)
        if let bytes = row.text(at: 6) { table = bytes }
        if let bytes = row.text(at: 7) { rowID = bytes }
        if let bytes = row.text(at: 8) { data = bytes }
    }

    /// What is selected from `operations AS o`, joined with `names AS s` (source tables) and `names AS t` (tables).
    static let columns = "o.op_id, o.op, o.checksum, o.target_op, s.name, o.source_key, t.name, o.row_id, o.data"
}

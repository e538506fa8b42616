import PowerSyncProtocol
import PowerSyncSQLite
import PowerSyncServiceCore

/// The rows of `operations`.
extension StoredOperation {
    /// The current row of a query of ``columns``.
    init(_ row: PreparedStatement) {
        // The first letter of the name, which version 1 of the storage wrote in full.
        let kind: SyncOperation.Kind =
            switch unsafe row.text(at: 1)?.first {
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
        if let bytes = unsafe row.text(at: 4) { unsafe sourceTable = bytes }
        unsafe sourceKey = row.blob(at: 5)
        if let bytes = unsafe row.text(at: 6) { unsafe table = bytes }
        if let bytes = unsafe row.text(at: 7) { unsafe rowID = bytes }
        if let bytes = unsafe row.text(at: 8) { unsafe data = bytes }
    }

    /// What is selected from `operations AS o`, joined with `names AS s` (source tables) and `names AS t` (tables).
    static let columns = "o.op_id, o.op, o.checksum, o.target_op, s.name, o.source_key, t.name, o.row_id, o.data"
}

import Logging
import PowerSyncProtocol
import PowerSyncRules

/// The metadata keys of the replicator's log lines.
enum ReplicationLogKey {
    /// The id of the replication stream.
    static let stream = "ps.stream"
    /// A source table.
    static let table = "ps.table"
    /// The identity of a source row: `column=value` for each column of the key.
    static let rowKey = "ps.row_key"
    /// A number of rows.
    static let rows = "ps.rows"
    /// A size.
    static let bytes = "ps.bytes"
    /// A source position.
    static let lsn = "ps.lsn"
    /// An op id.
    static let checkpoint = "ps.checkpoint"
    /// A code of the error catalogue.
    static let code = "ps.code"
    /// An error.
    static let error = "error"
}

extension Logger {
    /// Tells operators that rows are missing on clients.
    func warn(_ rejected: [RejectedRow]) {
        for row in rejected {
            let key = row.key.map { "\($0.name)=\($0.value)" }.joined(separator: " ")
            warning(
                "A row is too large to be synced, and is skipped: clients keep what they have of it.",
                metadata: [
                    ReplicationLogKey.code: "\(ErrorCode.rowTooLarge.rawValue)",
                    ReplicationLogKey.table: "\(row.table)",
                    ReplicationLogKey.rowKey: "\(key.prefix(200))",
                    ReplicationLogKey.bytes: "\(row.bytes)",
                ]
            )
        }
    }
}

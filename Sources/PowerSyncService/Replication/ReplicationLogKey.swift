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
    /// What a row is missing from: buckets of these definitions, or an index.
    static let target = "ps.target"
    /// An error.
    static let error = "error"
}

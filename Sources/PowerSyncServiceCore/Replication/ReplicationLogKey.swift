/// The metadata keys of the replicator's log lines.
package enum ReplicationLogKey {
    /// The id of the replication stream.
    package static let stream = "ps.stream"
    /// What operators call the version of the sync config.
    static let versionLabel = "ps.version_label"
    /// A source table.
    package static let table = "ps.table"
    /// What has made a table another one.
    static let changed = "ps.changed"
    /// The identity of a source row: `column=value` for each column of the key.
    static let rowKey = "ps.row_key"
    /// A number of rows.
    package static let rows = "ps.rows"
    /// A size.
    package static let bytes = "ps.bytes"
    /// A source position.
    package static let lsn = "ps.lsn"
    /// An op id.
    package static let checkpoint = "ps.checkpoint"
    /// A code of the error catalogue.
    package static let code = "ps.code"
    /// What a row is missing from: buckets of these definitions, or an index.
    package static let target = "ps.target"
    /// An error.
    package static let error = "error"
}

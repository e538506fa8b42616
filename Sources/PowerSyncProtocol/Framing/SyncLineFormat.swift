/// How sync lines are written (docs/protocol.md "Formats").
package enum SyncLineFormat: String, Sendable, CaseIterable {
    /// One JSON object per line, each followed by a line feed.
    case ndjson
    /// BSON documents, one after the other.
    case bson

    /// The largest line that is accepted, in bytes: 128 MiB.
    ///
    /// A row has up to 15 MB, and a line carries many rows.
    package static let maximumLineLength = 128 * 1024 * 1024

    /// The media type, as in `Accept` and `Content-Type`, without parameters.
    package var mediaType: String {
        switch self {
        case .ndjson: "application/x-ndjson"
        case .bson: "application/vnd.powersync.bson-stream"
        }
    }
}

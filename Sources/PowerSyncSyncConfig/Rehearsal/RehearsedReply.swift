package import PowerSyncProtocol

/// What a client gets that makes a request.
package struct RehearsedReply: Sendable {
    /// What the request ends with; there are no buckets then.
    package var error: BucketLimitError?
    /// The streams that the client is subscribed to, with errors of subscriptions.
    package var streams: [StreamDescription]
    /// The buckets in the order of the plan.
    package var buckets: [ResolvedBucket] = []
    /// The rows of these buckets, in the order of the source rows.
    package var rows: [ReceivedRow] = []
}

/// A row as a client shows it.
package struct ReceivedRow: Sendable {
    /// The name of the table on the client.
    package let table: String
    /// The id.
    package let id: String
    /// The most urgent priority of the buckets that the row is in.
    package private(set) var priority: Priority
    /// The JSON text of its content.
    package private(set) var data: String
    /// The buckets that the row is in, each once.
    package private(set) var buckets: [BucketName]

    init(_ row: BucketRow, priority: Priority) {
        table = row.table
        id = row.id
        data = row.data
        buckets = [row.bucket]
        self.priority = priority
    }

    /// Adds what was written later.
    mutating func add(_ row: BucketRow, priority: Priority) {
        data = row.data
        if priority.isHigher(than: self.priority) { self.priority = priority }
        if !buckets.contains(row.bucket) { buckets.append(row.bucket) }
    }
}

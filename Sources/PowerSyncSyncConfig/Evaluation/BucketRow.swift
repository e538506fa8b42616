package import PowerSyncProtocol

/// What a source row becomes in one bucket.
package struct BucketRow: Sendable, Hashable {
    /// The bucket, with the prefix that was asked for.
    package var bucket: BucketName
    /// The name of the table on clients: the alias of the query, or the name as written there.
    package var table: String
    /// The `id` column of the output as text; empty when there is none.
    package var id: String
    /// The output row: a JSON object without white space, members in column order, bytes left out.
    package var data: String

    /// Creates a bucket row.
    package init(bucket: BucketName, table: String, id: String, data: String) {
        self.bucket = bucket
        self.table = table
        self.id = id
        self.data = data
    }
}

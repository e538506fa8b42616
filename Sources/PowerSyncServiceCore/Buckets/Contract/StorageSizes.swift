import Foundation

/// How much a storage holds, in bytes.
///
/// SQLite counts contents, to which pages and keys come. PostgreSQL counts the pages of tables, which it knows without reading them.
/// Indexes come on top in both.
package struct StorageSizes: Sendable, Equatable {
    /// What they are the sizes of: a number that changes with every write.
    package var version: Int64
    /// Operations of buckets.
    package var operations: Int64
    /// Entries of parameter indexes.
    package var parameters: Int64
    /// What is known of the rows of the source.
    package var rows: Int64
    /// How many buckets there are.
    package var bucketCount: Int

    /// Creates sizes.
    package init(version: Int64, operations: Int64, parameters: Int64, rows: Int64, bucketCount: Int) {
        self.version = version
        self.operations = operations
        self.parameters = parameters
        self.rows = rows
        self.bucketCount = bucketCount
    }
}

/// A part of the list of buckets of a stream.
package struct BucketList: Codable, Sendable, Equatable {
    /// One bucket.
    package struct Bucket: Codable, Sendable, Equatable {
        /// Its name.
        package var name: String
        /// How many operations it has.
        package var operations: Int64
        /// The bytes of what they contain, as it is stored; `nil` when finding out would take too long.
        package var bytes: Int64?

        /// Creates a bucket.
        package init(name: String, operations: Int64, bytes: Int64?) {
            self.name = name
            self.operations = operations
            self.bytes = bytes
        }
    }

    /// How many buckets there are that were searched for.
    package var total: Int
    /// Their operations.
    package var operations: Int64
    /// This part of them.
    package var buckets: [Bucket]

    /// Creates a part.
    package init(total: Int, operations: Int64, buckets: [Bucket]) {
        self.total = total
        self.operations = operations
        self.buckets = buckets
    }
}

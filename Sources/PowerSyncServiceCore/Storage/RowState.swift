import NIOCore
package import PowerSyncProtocol
package import PowerSyncRules

/// What the storage holds of one source row: where it is visible, so that it can be removed there
/// (docs/service.md "Rows and operations").
///
/// Stored as two lists in the form of ``StoredValues``: buckets as (bucket, table, id), lookups as texts.
package struct RowState: Equatable {
    /// A bucket that holds a `PUT` of the row.
    package struct Membership: Hashable {
        /// The bucket.
        package var bucket: BucketName
        /// The name of the table on clients.
        package var table: String
        /// The row id on clients.
        package var id: String

        /// Creates a membership.
        package init(bucket: BucketName, table: String, id: String) {
            self.bucket = bucket
            self.table = table
            self.id = id
        }

        /// Whether an evaluated row is the one that is stored here.
        package func matches(_ row: BucketRow) -> Bool {
            bucket == row.bucket && id.utf8.elementsEqual(row.id.utf8) && table.utf8.elementsEqual(row.table.utf8)
        }
    }

    /// The buckets that hold the row.
    package var buckets: [Membership] = []
    /// The lookups that the row has an entry in.
    package var lookups: [ParameterLookup] = []

    /// Creates a state.
    package init(buckets: [Membership] = [], lookups: [ParameterLookup] = []) {
        self.buckets = buckets
        self.lookups = lookups
    }

    /// Encodes the bucket list.
    package static func encode(_ buckets: [Membership]) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.appendCount(buckets.count)
        for membership in buckets {
            bytes.appendText(membership.bucket.rawValue)
            bytes.appendText(membership.table)
            bytes.appendText(membership.id)
        }
        return bytes
    }

    /// Encodes the lookup list.
    package static func encode(_ lookups: [ParameterLookup]) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.appendCount(lookups.count)
        for lookup in lookups { bytes.appendText(lookup.rawValue) }
        return bytes
    }

    /// Decodes a bucket list.
    package static func decodeBuckets(_ bytes: UnsafeRawBufferPointer) throws(StoredValues.Corruption) -> [Membership] {
        var buffer = ByteBuffer(bytes: bytes)
        var buckets: [Membership] = []
        for _ in 0..<(try buffer.readCount()) {
            let bucket = BucketName(try buffer.readText())
            buckets.append(Membership(bucket: bucket, table: try buffer.readText(), id: try buffer.readText()))
        }
        return buckets
    }

    /// Decodes a lookup list.
    package static func decodeLookups(
        _ bytes: UnsafeRawBufferPointer
    ) throws(StoredValues.Corruption) -> [ParameterLookup] {
        var buffer = ByteBuffer(bytes: bytes)
        var lookups: [ParameterLookup] = []
        for _ in 0..<(try buffer.readCount()) {
            lookups.append(ParameterLookup(rawValue: try buffer.readText()))
        }
        return lookups
    }
}

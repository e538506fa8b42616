import NIOCore
import PowerSyncProtocol
import PowerSyncRules

/// What the storage holds of one source row: where it is visible, so that it can be removed there
/// (docs/service.md "Rows and operations").
///
/// Stored as two lists in the form of ``StoredValues``: buckets as (bucket, table, id), lookups as texts.
struct RowState: Equatable {
    /// A bucket that holds a `PUT` of the row.
    struct Membership: Hashable {
        /// The bucket.
        var bucket: BucketName
        /// The name of the table on clients.
        var table: String
        /// The row id on clients.
        var id: String

        /// Whether an evaluated row is the one that is stored here.
        func matches(_ row: BucketRow) -> Bool {
            bucket == row.bucket && id.utf8.elementsEqual(row.id.utf8) && table.utf8.elementsEqual(row.table.utf8)
        }
    }

    /// The buckets that hold the row.
    var buckets: [Membership] = []
    /// The lookups that the row has an entry in.
    var lookups: [ParameterLookup] = []

    /// Encodes the bucket list.
    static func encode(_ buckets: [Membership]) -> [UInt8] {
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
    static func encode(_ lookups: [ParameterLookup]) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.appendCount(lookups.count)
        for lookup in lookups { bytes.appendText(lookup.rawValue) }
        return bytes
    }

    /// Decodes a bucket list.
    static func decodeBuckets(_ bytes: UnsafeRawBufferPointer) throws(StoredValues.Corruption) -> [Membership] {
        var buffer = ByteBuffer(bytes: bytes)
        var buckets: [Membership] = []
        for _ in 0..<(try buffer.readCount()) {
            let bucket = BucketName(try buffer.readText())
            buckets.append(Membership(bucket: bucket, table: try buffer.readText(), id: try buffer.readText()))
        }
        return buckets
    }

    /// Decodes a lookup list.
    static func decodeLookups(_ bytes: UnsafeRawBufferPointer) throws(StoredValues.Corruption) -> [ParameterLookup] {
        var buffer = ByteBuffer(bytes: bytes)
        var lookups: [ParameterLookup] = []
        for _ in 0..<(try buffer.readCount()) {
            lookups.append(ParameterLookup(rawValue: try buffer.readText()))
        }
        return lookups
    }
}

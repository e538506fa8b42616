import PowerSyncProtocol

/// A bucket whose operations do not add up to the checksum of the checkpoint.
struct ChecksumMismatch: Sendable, Equatable {
    /// The bucket.
    var bucket: BucketName
    /// What the checkpoint says.
    var expected: Checksum
    /// The part of the operations in `ps_oplog`.
    var opChecksum: Checksum
    /// The part of all other operations.
    var addChecksum: Checksum
}

extension ChecksumMismatch: CustomStringConvertible {
    var description: String {
        "\(bucket) (expected \(expected), got \(opChecksum + addChecksum) = \(opChecksum) (op) + \(addChecksum) (add))"
    }
}

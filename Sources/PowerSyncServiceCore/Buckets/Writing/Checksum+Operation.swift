import Crypto
package import PowerSyncProtocol

/// Checksums of operations: the first four bytes of a SHA-256, as a little-endian integer
/// (docs/service.md "Rows and operations").
extension Checksum {
    /// The checksum of a `REMOVE`: over `delete.<subkey>`.
    ///
    /// That of a `PUT` is part of its ``ContentHash``.
    package static func remove(subkey: some Sequence<UInt8>) -> Checksum {
        Checksum(SHA256.hash(data: Array("delete.".utf8) + subkey))
    }

    /// The checksum that a SHA-256 gives.
    init(_ digest: SHA256.Digest) {
        unsafe self.init(digest.withUnsafeBytes { unsafe UInt32(littleEndian: $0.loadUnaligned(as: UInt32.self)) })
    }
}

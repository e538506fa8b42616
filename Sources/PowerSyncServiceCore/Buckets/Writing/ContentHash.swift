import Crypto
package import PowerSyncProtocol
package import PowerSyncSyncConfig

/// What a `PUT` or a parameter entry holds, in 12 bytes of a row state.
///
/// An update that gives a bucket or an index what it has makes no operation there, and this is how that is found without reading
/// what was stored. Two contents are taken for one when both numbers are equal. That happens by chance to one update in 2⁹⁶, and
/// ``keyed`` depends on a key that never leaves the storage, so that users that write rows cannot look for such contents.
package struct ContentHash: Hashable, Sendable {
    /// The checksum of a `PUT`, which clients know; the same of the bytes of a parameter entry.
    package var checksum: Checksum
    /// The first eight bytes, little-endian, of the SHA-256 of the key and the SHA-256 of the content.
    package var keyed: UInt64

    /// Creates a hash from its parts.
    package init(checksum: Checksum, keyed: UInt64) {
        self.checksum = checksum
        self.keyed = keyed
    }
}

/// Hashes what rows become in buckets and parameter indexes.
package struct ContentHasher {
    private let key: [UInt8]
    /// The last content, and its hash: a row has often the same content in many buckets.
    private var last: (text: [UInt8], hash: ContentHash)?

    /// The most bytes that are kept for the next row.
    private static let keptBytes = 64 * 1024

    /// Creates a hasher with the key of a replication stream, 16 bytes.
    package init(key: [UInt8]) {
        self.key = key
    }

    /// The hash of a `PUT`: over `put.<table>.<id>.<data>`.
    package mutating func put(table: String, id: String, data: String) -> ContentHash {
        var text = Array("put.".utf8)
        text.reserveCapacity(6 + table.utf8.count + id.utf8.count + data.utf8.count)
        text.append(contentsOf: table.utf8)
        text.append(UInt8(ascii: "."))
        text.append(contentsOf: id.utf8)
        text.append(UInt8(ascii: "."))
        text.append(contentsOf: data.utf8)
        if let last, last.text == text { return last.hash }
        let hash = hash(of: text)
        last = text.count <= Self.keptBytes ? (text, hash) : nil
        return hash
    }

    /// The hash of the outputs of a parameter entry.
    package func entry(_ outputs: [ParameterRow]) -> ContentHash {
        hash(of: StoredValues.encode(outputs))
    }

    private func hash(of text: [UInt8]) -> ContentHash {
        let digest = SHA256.hash(data: text)
        return ContentHash(checksum: Checksum(digest), keyed: SHA256.hash(data: key + digest).firstWord)
    }
}

extension SHA256.Digest {
    fileprivate var firstWord: UInt64 {
        unsafe withUnsafeBytes { unsafe UInt64(littleEndian: $0.loadUnaligned(as: UInt64.self)) }
    }
}

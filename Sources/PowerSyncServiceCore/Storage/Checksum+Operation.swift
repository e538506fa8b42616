import Crypto
package import PowerSyncProtocol

/// Checksums of operations: the first four bytes of a SHA-256, as a little-endian integer
/// (docs/service.md "Rows and operations").
extension Checksum {
    /// The checksum of a `PUT`: over `put.<table>.<id>.<data>`.
    package static func put(table: String, id: String, data: String) -> Checksum {
        var text = Array("put.".utf8)
        text.reserveCapacity(6 + table.utf8.count + id.utf8.count + data.utf8.count)
        text.append(contentsOf: table.utf8)
        text.append(UInt8(ascii: "."))
        text.append(contentsOf: id.utf8)
        text.append(UInt8(ascii: "."))
        text.append(contentsOf: data.utf8)
        return Checksum(sha256Of: text)
    }

    /// The checksum of a `REMOVE`: over `delete.<subkey>`.
    package static func remove(subkey: some Sequence<UInt8>) -> Checksum {
        Checksum(sha256Of: Array("delete.".utf8) + subkey)
    }

    private init(sha256Of text: [UInt8]) {
        var value: UInt32 = 0
        for (index, byte) in SHA256.hash(data: text).prefix(4).enumerated() {
            value |= UInt32(byte) << (8 * UInt32(index))
        }
        self.init(value)
    }
}

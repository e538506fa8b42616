/// The types of MariaDB whose values are bytes of a fixed number, as the server prints them.
enum AddressText {
    /// 16 bytes of a UUID, in lower case with dashes.
    ///
    /// The server orders the parts of most UUIDs by how much they grow: the node, the clock, then the time from its high part; in this
    /// order they are in the log. Those whose time is ordered already are as they are.
    static func uuid(_ bytes: [UInt8]) -> String {
        // The byte with the variant is before that with the version.
        guard bytes[6] & 0x80 != 0, bytes[8] < 0x60 else { return uuid(asWritten: bytes) }
        return uuid(asWritten: Array(bytes[12...] + bytes[10..<12] + bytes[8..<10] + bytes[6..<8] + bytes[..<6]))
    }

    /// 16 bytes of a UUID in the order of its text.
    static func uuid(asWritten bytes: [UInt8]) -> String {
        ServerText.make { text in
            for (index, byte) in bytes.enumerated() {
                if [4, 6, 8, 10].contains(index) { text.write(UInt8(ascii: "-")) }
                text.writeHex(byte)
            }
        }
    }

    /// 4 bytes.
    static func inet4(_ bytes: [UInt8]) -> String { bytes.map(String.init).joined(separator: ".") }

    /// 16 bytes.
    ///
    /// The first of the longest runs of groups that are zero is `::`, a single one, too. The last two groups are an IPv4 address if the six
    /// before are zero, or if those are `0:0:0:0:0:ffff`.
    static func inet6(_ bytes: [UInt8]) -> String {
        let groups = (0..<8).map { UInt16(bytes[2 * $0]) << 8 | UInt16(bytes[2 * $0 + 1]) }
        var longest = 0..<0
        var start = 0
        for (index, group) in groups.enumerated() {
            if group != 0 {
                start = index + 1
            } else if index + 1 - start > longest.count {
                longest = start..<index + 1
            }
        }
        if longest.isEmpty { return text(of: groups[...]) }
        let isMapped = longest == 0..<5 && groups[5] == 0xffff
        if longest == 0..<6 || isMapped {
            return (isMapped ? "::ffff:" : "::") + inet4(Array(bytes[12...]))
        }
        return text(of: groups[..<longest.lowerBound]) + "::" + text(of: groups[longest.upperBound...])
    }

    private static func text(of groups: ArraySlice<UInt16>) -> String {
        groups.map { String($0, radix: 16) }.joined(separator: ":")
    }
}

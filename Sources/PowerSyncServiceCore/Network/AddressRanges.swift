import Foundation
package import NIOCore

/// Ranges of IP addresses: those that a key set must not come from, or a database not have.
///
/// A client that names a URL to a server can make the server ask services that only the server can reach; see
/// `client_auth.jwks_reject_ip_ranges`.
package struct AddressRanges: Sendable, Hashable {
    private struct Range: Sendable, Hashable {
        var prefix: [UInt8]
        var bits: Int

        /// Whether the first bits of an address are those of the range.
        func contains(_ address: [UInt8]) -> Bool {
            guard address.count == prefix.count else { return false }
            let (whole, rest) = bits.quotientAndRemainder(dividingBy: 8)
            guard address.prefix(whole) == prefix.prefix(whole) else { return false }
            guard rest > 0 else { return true }
            return (address[whole] ^ prefix[whole]) >> (8 - rest) == 0
        }
    }

    private var ranges: [Range] = []

    /// Whether no address is in it.
    package var isEmpty: Bool { ranges.isEmpty }

    /// No addresses.
    package static let none = AddressRanges()

    /// This machine, its networks, and what is never a server's address.
    package static let local: AddressRanges = {
        let texts = [
            "0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12",
            "192.0.0.0/24",
            "192.168.0.0/16", "198.18.0.0/15", "224.0.0.0/3", "::/127", "fc00::/7", "fe80::/10", "ff00::/8",
            // The NAT64 of a network for itself, addresses that lead nowhere, and what private networks had before fc00::/7.
            "64:ff9b:1::/48", "100::/64", "fec0::/10",
        ]
        var ranges = AddressRanges()
        for text in texts { ranges.insert(text) }
        return ranges
    }()

    /// Adds a range.
    ///
    /// - Parameter text: `local`, an address, or a range such as `10.0.0.0/8`.
    /// - Returns: Whether the text is one of these.
    @discardableResult
    package mutating func insert(_ text: String) -> Bool {
        if text == "local" {
            ranges += Self.local.ranges
            return true
        }
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count <= 2, let address = try? SocketAddress(ipAddress: String(parts[0]), port: 0),
            let prefix = address.addressBytes
        else { return false }
        guard let bits = parts.count == 2 ? Int(parts[1]) : prefix.count * 8, (0...prefix.count * 8).contains(bits)
        else {
            return false
        }
        ranges.append(Range(prefix: prefix, bits: bits))
        // The same addresses, as most servers have them.
        if bits >= 96, let mapped = Self.embeddings.first, prefix.starts(with: mapped.prefix) {
            ranges.append(Range(prefix: Array(prefix.suffix(4)), bits: bits - 96))
        }
        return true
    }

    /// Whether an address is in one of the ranges.
    package func contains(_ address: SocketAddress) -> Bool {
        guard let bytes = address.addressBytes else { return false }
        return ([bytes] + Self.embeddedAddresses(in: bytes)).contains { address in
            ranges.contains { $0.contains(address) }
        }
    }

    /// Where an address of IPv6 has one of IPv4 to which it leads.
    private struct Embedding {
        /// The first bytes of the addresses that have one.
        var prefix: [UInt8]
        /// Where the first bytes of the address begin to count.
        var prefixOffset = 0
        /// Where the bytes of the IPv4 address are.
        var places: [Int]
        /// Whether they are inverted.
        var isInverted = false
    }

    private static let embeddings = [
        // In the form of IPv6 (RFC 4291, 2.5.5), the newer and the older one, and translated (RFC 2765).
        Embedding(prefix: [UInt8](repeating: 0, count: 10) + [0xFF, 0xFF], places: [12, 13, 14, 15]),
        Embedding(prefix: [UInt8](repeating: 0, count: 12), places: [12, 13, 14, 15]),
        Embedding(prefix: [UInt8](repeating: 0, count: 8) + [0xFF, 0xFF, 0, 0], places: [12, 13, 14, 15]),
        // Behind a NAT64 (RFC 6052, RFC 8215).
        Embedding(prefix: [0, 0x64, 0xFF, 0x9B] + [UInt8](repeating: 0, count: 8), places: [12, 13, 14, 15]),
        Embedding(prefix: [0, 0x64, 0xFF, 0x9B, 0, 1], places: [6, 7, 9, 10]),
        Embedding(prefix: [0, 0x64, 0xFF, 0x9B, 0, 1], places: [12, 13, 14, 15]),
        // Tunnels: 6to4 (RFC 3056), Teredo's server and client (RFC 4380), ISATAP (RFC 5214).
        Embedding(prefix: [0x20, 0x02], places: [2, 3, 4, 5]),
        Embedding(prefix: [0x20, 0x01, 0, 0], places: [4, 5, 6, 7]),
        Embedding(prefix: [0x20, 0x01, 0, 0], places: [12, 13, 14, 15], isInverted: true),
        Embedding(prefix: [0, 0, 0x5E, 0xFE], prefixOffset: 8, places: [12, 13, 14, 15]),
        Embedding(prefix: [2, 0, 0x5E, 0xFE], prefixOffset: 8, places: [12, 13, 14, 15]),
    ]

    /// The addresses of IPv4 that one of IPv6 leads to.
    private static func embeddedAddresses(in bytes: [UInt8]) -> [[UInt8]] {
        guard bytes.count == 16 else { return [] }
        return embeddings.compactMap { form in
            guard bytes.dropFirst(form.prefixOffset).starts(with: form.prefix) else { return nil }
            return form.places.map { form.isInverted ? ~bytes[$0] : bytes[$0] }
        }
    }
}

extension SocketAddress {
    /// The 4 or 16 bytes of an IP address.
    fileprivate var addressBytes: [UInt8]? {
        switch self {
        case .v4(let address): unsafe withUnsafeBytes(of: address.address.sin_addr, Array.init)
        case .v6(let address): unsafe withUnsafeBytes(of: address.address.sin6_addr, Array.init)
        case .unixDomainSocket: nil
        }
    }

    /// Whether the address is one of IPv6.
    package var isIPv6: Bool { if case .v6 = self { true } else { false } }
}

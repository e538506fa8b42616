import NIOCore
import PowerSyncServiceCore
import Testing

/// Which addresses key sets must not come from, and databases not have.
@Suite struct AddressRangesTests {
    private func address(_ text: String) throws -> SocketAddress { try SocketAddress(ipAddress: text, port: 443) }

    @Test(arguments: [
        "127.0.0.1", "127.255.0.9", "0.0.0.0", "10.1.2.3", "172.16.0.1", "172.31.255.255", "192.168.1.1",
        "169.254.169.254",
        "100.64.0.1", "224.0.0.1", "255.255.255.255", "::1", "::", "fe80::1", "fd00::1", "ff02::1", "::ffff:127.0.0.1",
        "::ffff:10.0.0.1", "64:ff9b::7f00:1",
    ])
    func localAddresses(_ text: String) throws {
        #expect(AddressRanges.local.contains(try address(text)))
    }

    @Test(arguments: [
        "1.1.1.1", "172.15.0.1", "172.32.0.1", "192.169.0.1", "11.0.0.1", "2606:4700::1", "::ffff:1.1.1.1",
        "64:ff9b::101:101",
    ])
    func otherAddresses(_ text: String) throws {
        #expect(!AddressRanges.local.contains(try address(text)))
    }

    @Test func rangesAndSingleAddresses() throws {
        var ranges = AddressRanges.none
        for text in ["203.0.113.128/25", "198.51.100.7", "2001:db8::/33"] {
            let isRange = ranges.insert(text)
            #expect(isRange)
        }
        for text in ["203.0.113.128", "203.0.113.255", "198.51.100.7", "2001:db8:7fff::1"] {
            #expect(ranges.contains(try address(text)))
        }
        for text in ["203.0.113.127", "198.51.100.8", "2001:db8:8000::1"] {
            #expect(!ranges.contains(try address(text)))
        }
    }

    @Test(arguments: ["", "x", "10.0.0.0/33", "10.0.0.0/-1", "10.0.0.0/", "10.0.0.0/8/8", "::/129", "Local"])
    func whatIsNoRange(_ text: String) {
        var ranges = AddressRanges.none
        let isRange = ranges.insert(text)
        #expect(!isRange)
    }
}

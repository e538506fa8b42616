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
        "::ffff:10.0.0.1", "64:ff9b::7f00:1", "::7f00:1", "::10.0.0.1", "::ffff:0:127.0.0.1", "64:ff9b:1::1",
        "64:ff9b:1:a00:0:100::", "64:ff9b:1::10.0.0.1", "2002:7f00:1::", "2002:a00:1::1", "2002:c0a8:101::1",
        "2001:0:7f00:1::", "2001:0:808:808:0:0:80ff:fffe", "2001:0:a9fe:a9fe:0:0:f7f7:f7f7", "2606::5efe:10.0.0.1",
        "2606::200:5efe:127.0.0.1", "fec0::1", "feff::1", "100::1",
    ])
    func localAddresses(_ text: String) throws {
        #expect(AddressRanges.local.contains(try address(text)))
    }

    @Test(arguments: [
        "1.1.1.1", "172.15.0.1", "172.32.0.1", "192.169.0.1", "11.0.0.1", "2606:4700::1", "::ffff:1.1.1.1",
        "64:ff9b::101:101", "::1.1.1.1", "::ffff:0:1.1.1.1", "2002:101:101::1", "2001:0:101:101:0:0:f7f7:f7f7",
        "2606::5efe:1.1.1.1", "2606::5eff:10.0.0.1", "2003:a00:1::1", "100:0:0:1::1",
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

    @Test(arguments: ["10.0.0.0/8", "::ffff:10.0.0.0/104"])
    func formsOfIPv6(_ range: String) throws {
        var ranges = AddressRanges.none
        let isRange = ranges.insert(range)
        #expect(isRange)
        for text in [
            "10.1.2.3", "::ffff:10.1.2.3", "::10.1.2.3", "::ffff:0:10.1.2.3", "64:ff9b::10.1.2.3", "2002:a01:203::1",
            "64:ff9b:1:a01:2:300::", "2001:0:a01:203::", "2001:0:808:808::f5fe:fdfc", "fd00::5efe:10.1.2.3",
        ] {
            #expect(ranges.contains(try address(text)), "\(text)")
        }
        for text in [
            "11.1.2.3", "::ffff:11.1.2.3", "64:ff9b::11.1.2.3", "2002:b01:203::1", "2001:db8::a01:203", "::b01:203",
        ] {
            #expect(!ranges.contains(try address(text)), "\(text)")
        }
    }

    @Test(arguments: ["", "x", "10.0.0.0/33", "10.0.0.0/-1", "10.0.0.0/", "10.0.0.0/8/8", "::/129", "Local"])
    func whatIsNoRange(_ text: String) {
        var ranges = AddressRanges.none
        let isRange = ranges.insert(text)
        #expect(!isRange)
    }
}

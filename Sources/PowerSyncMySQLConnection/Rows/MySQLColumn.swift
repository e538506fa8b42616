import NIOCore

/// What a server says about a column of a result.
///
/// MySQLNIO's own type refuses collations above 255.
package struct MySQLColumn: Sendable, Hashable {
    /// Its name, or its alias.
    package let name: String
    /// The number of the collation; 63 for bytes.
    package let collation: UInt16
    /// The most bytes of a value.
    package let length: UInt32
    /// The number of the type, such as 3 for `INT` and 252 for `TEXT` and `BLOB`.
    package let type: UInt8
    /// The flags of the protocol: 1 not null, 32 unsigned, 128 binary, 256 enum, 2048 set.
    package let flags: UInt16
    /// The digits after the point; 31 where they vary.
    package let decimals: UInt8

    /// Reads a column definition: catalogue, schema, table, original table, name, original name, each after its length; 0x0C, collation
    /// u16, length u32, type u8, flags u16, decimals u8.
    ///
    /// - Returns: `nil` for bytes that are none.
    init?(_ packet: ByteBuffer) {
        var packet = packet
        for _ in 0..<4 where packet.readLengthEncodedSlice() == nil { return nil }
        guard let name = packet.readLengthEncodedSlice(), packet.readLengthEncodedSlice() != nil,
            packet.readLengthEncodedInteger() != nil,
            let collation = packet.readInteger(endianness: .little, as: UInt16.self),
            let length = packet.readInteger(endianness: .little, as: UInt32.self),
            let type = packet.readInteger(as: UInt8.self),
            let flags = packet.readInteger(endianness: .little, as: UInt16.self),
            let decimals = packet.readInteger(as: UInt8.self)
        else { return nil }
        self.name = String(buffer: name)
        self.collation = collation
        self.length = length
        self.type = type
        self.flags = flags
        self.decimals = decimals
    }
}

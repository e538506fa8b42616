import MySQLBinlog
import NIOCore

/// Events as a server writes them.
struct EventBytes {
    var server: String
    var checksum: BinlogChecksum
    /// The offset of the next event.
    var offset: UInt64 = 4

    init(server: String = "9.7.4", checksum: BinlogChecksum = .crc32) {
        self.server = server
        self.checksum = checksum
    }

    /// An event that lies in the file.
    mutating func event(
        _ type: BinlogEventType,
        flags: UInt16 = 0,
        hasOffset: Bool = true,
        _ body: [UInt8]
    ) -> ByteBuffer {
        let size = UInt64(19 + body.count + (checksum == .crc32 ? 4 : 0))
        offset += size
        return bytes(
            type,
            timestamp: 1_700_000_000,
            next: hasOffset ? UInt32(truncatingIfNeeded: offset) : 0,
            flags: flags,
            body
        )
    }

    /// An event that the server makes for a connection.
    func artificial(_ type: BinlogEventType, next: UInt32 = 0, _ body: [UInt8]) -> ByteBuffer {
        bytes(type, timestamp: 0, next: next, flags: 0x20, body)
    }

    /// `FORMAT_DESCRIPTION`, which has four bytes for a checksum in any case.
    mutating func format(isArtificial: Bool = false) -> ByteBuffer {
        var body = ByteBuffer()
        body.writeInteger(4 as UInt16, endianness: .little)
        body.writeString(server)
        body.writeRepeatingByte(0, count: 50 - server.utf8.count)
        body.writeInteger(0 as UInt32)
        body.writeInteger(19 as UInt8)
        body.writeRepeatingByte(8, count: 171)
        body.writeInteger(checksum.rawValue)
        if checksum == .none { body.writeInteger(0 as UInt32) }
        let bytes = Array(body.readableBytesView)
        if isArtificial { return self.bytes(.formatDescription, timestamp: 1_700_000_000, next: 0, flags: 0, bytes) }
        return event(.formatDescription, bytes)
    }

    /// `ROTATE`.
    static func rotate(to file: String, _ position: UInt64) -> [UInt8] {
        (0..<8).map { UInt8(truncatingIfNeeded: position >> UInt64(8 * $0)) } + Array(file.utf8)
    }

    private func bytes(
        _ type: BinlogEventType,
        timestamp: UInt32,
        next: UInt32,
        flags: UInt16,
        _ body: [UInt8]
    ) -> ByteBuffer {
        var event = ByteBuffer()
        event.writeInteger(timestamp, endianness: .little)
        event.writeInteger(type.rawValue)
        event.writeInteger(1 as UInt32, endianness: .little)
        event.writeInteger(UInt32(19 + body.count + (checksum == .crc32 ? 4 : 0)), endianness: .little)
        event.writeInteger(next, endianness: .little)
        event.writeInteger(flags, endianness: .little)
        event.writeBytes(body)
        if checksum == .crc32 {
            var sum = EventChecksum()
            sum.add(event)
            event.writeInteger(sum.crc32, endianness: .little)
        }
        return event
    }
}

extension BinlogDecoder {
    /// The events of what the server sends.
    mutating func decode(_ bytes: ByteBuffer) throws(BinlogError) -> [BinlogEvent] {
        try append(bytes)
        var events: [BinlogEvent] = []
        while let event = try next() { events.append(event) }
        return events
    }
}

/// What every event begins with, 19 bytes, little endian.
///
/// | Offset | Size | |
/// |---|---|---|
/// | 0 | 4 | when it was written, in seconds since 1970 |
/// | 4 | 1 | the type |
/// | 5 | 4 | the id of the server |
/// | 9 | 4 | the size of all of it |
/// | 13 | 4 | the offset after it in the file, the low 32 bits; 0 if it has none |
/// | 17 | 2 | flags |
struct EventHeader: Sendable {
    /// The number of bytes.
    static let size = 19
    /// The most bytes that a part of an event is restored to: 1 GiB and 1 MiB, as `max_allowed_packet` allows no more.
    static let sizeLimit = (1 << 30) + (1 << 20)

    var timestamp: UInt32
    var type: BinlogEventType
    var serverID: UInt32
    var size: UInt32
    var nextOffset: UInt32
    var flags: UInt16

    init(_ cursor: inout ByteCursor) throws(BinlogFault) {
        timestamp = try cursor.integer("header")
        type = BinlogEventType(rawValue: try cursor.byte("header"))
        serverID = try cursor.integer("header")
        size = try cursor.integer("header")
        nextOffset = try cursor.integer("header")
        flags = try cursor.integer("header")
    }

    /// Whether the file was not closed when the event was sent; a flag that is not in the checksum.
    static let inUse: UInt8 = 0x01

    /// Whether the server has made the event for the connection.
    var isArtificial: Bool {
        flags & 0x0020 != 0 || type == .rotate && timestamp == 0 || type == .heartbeat || type == .heartbeatV2
    }

    /// Whether a reader that does not know the type can pass over the event.
    var isIgnorable: Bool { flags & 0x0080 != 0 }
}

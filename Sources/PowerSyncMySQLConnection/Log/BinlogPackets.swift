package import NIOCore

/// The events of a binary log, as they arrive: the server waits while they are not taken.
///
/// On the wire, a packet begins with 0x00 before an event, 0xFE at the end of a log that is not waited for, or 0xFF and an error.
package struct BinlogPackets {
    private var packets: PacketReader
    private let limit: PacketInbox.Limit
    private var isAtEnd = false

    init(_ packets: PacketReader, _ limit: PacketInbox.Limit) {
        self.packets = packets
        self.limit = limit
    }

    /// Waits for the next event.
    ///
    /// - Returns: One event from its header of 19 bytes to its checksum, if it has one; `nil` at the end of a log that is not waited for.
    ///   A slice of what was received.
    /// - Throws: ``MySQLConnectionError``, of which `.silence` after the limit of the request; `CancellationError`.
    package mutating func next() async throws -> ByteBuffer? {
        guard !isAtEnd else { return nil }
        return try decode(try await packets.next(limit))
    }

    /// The next event if it has arrived already; `nil` also at the end.
    ///
    /// - Throws: ``MySQLConnectionError``.
    package mutating func nextIfArrived() throws -> ByteBuffer? {
        guard !isAtEnd, let packet = try packets.nextIfArrived() else { return nil }
        return try decode(packet)
    }

    private mutating func decode(_ packet: ByteBuffer) throws -> ByteBuffer? {
        var packet = packet
        if let error = MySQLConnectionError(packet: packet) { throw error }
        switch packet.readInteger(as: UInt8.self) {
        case 0x00: return packet
        case 0xFE:
            isAtEnd = true
            return nil
        default: throw MySQLConnectionError(.protocolViolation, "The server has sent an event that cannot be read.")
        }
    }
}

import NIOCore

/// One packet after the other: the packets of a connection for one call.
struct PacketReader: Sendable {
    let channel: PacketChannel
    private var packets = CircularBuffer<ByteBuffer>()

    init(_ channel: PacketChannel) {
        self.channel = channel
    }

    /// Whether packets are in hand: after the last packet of an answer there must be none.
    var hasMore: Bool { !packets.isEmpty }

    /// The next packet, waiting for it.
    mutating func next(_ limit: PacketInbox.Limit) async throws -> ByteBuffer {
        if packets.isEmpty { packets = try await channel.take(limit) }
        return packets.removeFirst()
    }

    /// The next packet if it has arrived.
    mutating func nextIfArrived() throws -> ByteBuffer? {
        if packets.isEmpty, let arrived = try channel.takeArrived() { packets = arrived }
        return packets.popFirst()
    }
}

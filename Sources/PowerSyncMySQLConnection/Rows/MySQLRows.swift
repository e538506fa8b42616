package import NIOCore

/// The rows of a query, as they arrive: the server waits while they are not taken.
package struct MySQLRows: Sendable {
    /// The columns; none for a statement that has no rows.
    package let columns: [MySQLColumn]

    private var packets: PacketReader
    private let limit: PacketInbox.Limit
    /// Whether the last packet of the answer was taken.
    private(set) var isAtEnd: Bool

    init(_ columns: [MySQLColumn], _ packets: PacketReader, _ limit: PacketInbox.Limit) {
        self.columns = columns
        self.packets = packets
        self.limit = limit
        isAtEnd = columns.isEmpty
    }

    /// Waits for the next row.
    ///
    /// - Returns: The values in the order of the columns, `nil` for `NULL`; `nil` after the last row. Each value is a slice of what was
    ///   received: keeping one keeps up to a few hundred kilobytes around it.
    /// - Throws: ``MySQLConnectionError``, `CancellationError`.
    package mutating func next() async throws -> [ByteBuffer?]? {
        guard !isAtEnd else { return nil }
        return try decode(try await packets.next(limit))
    }

    /// The next row if it has arrived already; `nil` also after the last one.
    ///
    /// - Throws: ``MySQLConnectionError``.
    package mutating func nextIfArrived() throws -> [ByteBuffer?]? {
        guard !isAtEnd, let packet = try packets.nextIfArrived() else { return nil }
        return try decode(packet)
    }

    private mutating func decode(_ packet: ByteBuffer) throws -> [ByteBuffer?]? {
        var packet = packet
        let first = packet.getInteger(at: packet.readerIndex, as: UInt8.self)
        // A row, too, begins with 0xFE when its first value has 16 MiB or more.
        if first == 0xFE, packet.readableBytes < PacketHandler.wireLimit {
            try end()
            return nil
        }
        if let error = MySQLConnectionError(packet: packet) {
            try end()
            throw error
        }
        var values: [ByteBuffer?] = []
        values.reserveCapacity(columns.count)
        for _ in columns {
            if packet.getInteger(at: packet.readerIndex, as: UInt8.self) == 0xFB {
                packet.moveReaderIndex(forwardBy: 1)
                values.append(nil)
            } else if let value = packet.readLengthEncodedSlice() {
                values.append(value)
            } else {
                throw Self.malformed
            }
        }
        guard packet.readableBytes == 0 else { throw Self.malformed }
        return values
    }

    private mutating func end() throws {
        guard !packets.hasMore else { throw Self.malformed }
        isAtEnd = true
    }

    private static var malformed: MySQLConnectionError {
        MySQLConnectionError(.protocolViolation, "The server has sent a row that cannot be read.")
    }
}

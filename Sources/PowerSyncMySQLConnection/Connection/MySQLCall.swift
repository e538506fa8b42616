import NIOCore

/// Commands of one call on a connection, one after the other.
struct MySQLCall {
    private let channel: PacketChannel
    private let hasNoEOF: Bool
    /// Whether the server waits for a command: all of its answer was read.
    var isAnswered = true

    init(_ channel: PacketChannel, hasNoEOF: Bool) {
        self.channel = channel
        self.hasNoEOF = hasNoEOF
    }

    /// The most bytes of values in a small answer: 64 MiB.
    private static let resultLimit = 64 << 20
    /// The most columns that a server can have in a result, and more.
    private static let columnLimit: UInt64 = 65_535

    /// Sends a command that is answered by OK or by an error.
    mutating func acknowledge(_ command: ByteBuffer, _ limit: PacketInbox.Limit) async throws {
        isAnswered = false
        channel.send(.command(command))
        var packets = PacketReader(channel)
        let packet = try await packets.next(limit)
        guard !packets.hasMore else { throw Self.unexpected }
        if let error = MySQLConnectionError(packet: packet) {
            isAnswered = error.code == .server
            throw error
        }
        guard packet.getInteger(at: packet.readerIndex, as: UInt8.self) == 0 else { throw Self.unexpected }
        isAnswered = true
    }

    /// Runs a query with a small answer.
    mutating func query(_ sql: String, _ limit: PacketInbox.Limit) async throws -> MySQLResult {
        var rows = try await begin(sql, limit, rows: limit)
        defer { isAnswered = rows.isAtEnd }
        var all: [[ByteBuffer?]] = []
        var size = 0
        while let row = try await rows.next() {
            size += row.reduce(0) { $0 + ($1?.readableBytes ?? 0) }
            guard size <= Self.resultLimit else {
                throw MySQLConnectionError(.protocolViolation, "An answer that should be small has more than 64 MiB.")
            }
            all.append(row)
        }
        return MySQLResult(columns: rows.columns, rows: all)
    }

    /// Sends a query, and waits for the definitions of its columns.
    ///
    /// - Parameters:
    ///   - sql: One statement.
    ///   - limit: How long its columns are waited for.
    ///   - rows: How long each row is waited for.
    /// - Returns: The rows, which are still to come; none, and at their end, for a statement that has none.
    /// - Throws: ``MySQLConnectionError``, `CancellationError`.
    mutating func begin(
        _ sql: String,
        _ limit: PacketInbox.Limit,
        rows: PacketInbox.Limit
    ) async throws -> MySQLRows {
        isAnswered = false
        // COM_QUERY
        var command = ByteBuffer(bytes: [0x03])
        command.writeString(sql)
        channel.send(.command(command))
        var packets = PacketReader(channel)
        var packet = try await packets.next(limit)
        if let error = MySQLConnectionError(packet: packet) {
            isAnswered = error.code == .server && !packets.hasMore
            throw error
        }
        guard let count = packet.readLengthEncodedInteger(), count <= Self.columnLimit else { throw Self.unexpected }
        // OK
        guard count > 0 else {
            guard !packets.hasMore else { throw Self.unexpected }
            isAnswered = true
            return MySQLRows([], packets, rows)
        }
        var columns: [MySQLColumn] = []
        for _ in 0..<count {
            guard let column = MySQLColumn(try await packets.next(limit)) else { throw Self.unexpected }
            columns.append(column)
        }
        if !hasNoEOF { _ = try await packets.next(limit) }
        return MySQLRows(columns, packets, rows)
    }

    private static var unexpected: MySQLConnectionError {
        MySQLConnectionError(.protocolViolation, "The server's answer is not one of the protocol of MySQL.")
    }
}

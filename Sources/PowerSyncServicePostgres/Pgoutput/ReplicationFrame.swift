package import NIOCore

/// What a server sends on a replication connection once streaming has begun: the content of one `CopyData` message.
///
/// ```
/// WAL data    w, int64 start, int64 end of the WAL, int64 time, a message of the plugin
/// keepalive   k, int64 end of the WAL, int64 time, byte: 1 if the server wants an answer at once
/// ```
///
/// Integers are big endian, times are ``PostgresInstant``s.
package enum ReplicationFrame: Sendable, Hashable {
    /// A message of the plugin (``PgoutputMessage``).
    ///
    /// - `start`: Where in the WAL the message comes from; 0 for messages that are not tied to a place (`Relation`).
    /// - `end`: The end of the WAL on the server.
    case walData(start: WALPosition, end: WALPosition, sentAt: PostgresInstant, message: ByteBuffer)
    /// Nothing new.
    ///
    /// - `end`: Up to where the server has sent everything that there is.
    case keepalive(end: WALPosition, sentAt: PostgresInstant, wantsReply: Bool)
}

/// What a client reports to the server, at least every `wal_sender_timeout`.
///
/// ```
/// r, int64 written, int64 flushed, int64 applied, int64 time, byte: 1 if the client wants an answer at once
/// ```
package struct StandbyStatus: Sendable, Hashable {
    /// Up to where the client has received.
    package var written: WALPosition
    /// Up to where the client has everything on disk.
    ///
    /// The server may forget what is before it.
    package var flushed: WALPosition
    /// Up to where the client has applied.
    package var applied: WALPosition
    /// The time of the client.
    package var sentAt: PostgresInstant
    /// Whether the server answers at once.
    package var wantsReply: Bool

    /// Creates a status.
    package init(
        written: WALPosition,
        flushed: WALPosition,
        applied: WALPosition,
        sentAt: PostgresInstant,
        wantsReply: Bool = false
    ) {
        self.written = written
        self.flushed = flushed
        self.applied = applied
        self.sentAt = sentAt
        self.wantsReply = wantsReply
    }

    /// The 34 bytes for the connection.
    package var bytes: ByteBuffer {
        var buffer = ByteBuffer()
        buffer.reserveCapacity(34)
        buffer.writeInteger(UInt8(ascii: "r"))
        for position in [written, flushed, applied] { buffer.writeInteger(position.rawValue) }
        buffer.writeInteger(sentAt.rawValue)
        buffer.writeInteger(UInt8(wantsReply ? 1 : 0))
        return buffer
    }
}

extension ReplicationFrame {
    /// Reads a frame.
    ///
    /// - Parameter bytes: The content of one `CopyData` message.
    /// - Throws: ``PgoutputError``.
    package init(decoding bytes: ByteBuffer) throws(PgoutputError) {
        var cursor = PgoutputCursor(bytes, message: "Frame")
        switch try cursor.byte("kind") {
        case UInt8(ascii: "w"):
            cursor.message = "WAL data"
            let start = try cursor.position("start")
            let end = try cursor.position("end")
            let time = try cursor.instant("time")
            self = .walData(start: start, end: end, sentAt: time, message: cursor.rest)
        case UInt8(ascii: "k"):
            cursor.message = "Keepalive"
            let end = try cursor.position("end")
            let time = try cursor.instant("time")
            let wantsReply = try cursor.byte("reply")
            try cursor.finish()
            self = .keepalive(end: end, sentAt: time, wantsReply: wantsReply != 0)
        case let kind: throw cursor.error("kind", .unknownByte(kind), bytesBefore: 1)
        }
    }
}

import MySQLBinlog
import NIOCore

/// Finds the stamp of a log file in its first events: what tells the file from another one with the same number.
///
/// ```
/// stamp = CRC-32 of  header timestamp of FORMAT_DESCRIPTION   u32, little endian
///                    header server id of FORMAT_DESCRIPTION   u32, little endian
///                    body of PREVIOUS_GTIDS or GTID_LIST      without its checksum; nothing when another event follows
/// ```
///
/// START_ENCRYPTION may stand between the two events. The stamp has the time when the file was made and what was executed before. A file
/// with the same number and stamp is the same file, and begins with what was read of it.
package struct FileStamp: Sendable {
    private enum State: Sendable {
        case beforeDescription
        case described([UInt8])
        case found(UInt32)
    }

    private var state = State.beforeDescription
    /// When the file was made, in seconds since 1970 by the server's clock; 0 until that is known.
    package private(set) var madeAt: UInt32 = 0

    /// Creates a reader that has seen no event.
    package init() {}

    /// The stamp; `nil` until the event is known that follows FORMAT_DESCRIPTION.
    package var stamp: UInt32? {
        guard case .found(let stamp) = state else { return nil }
        return stamp
    }

    /// Takes the next event of the file.
    mutating func add(_ event: BinlogEvent) {
        switch (state, event.body) {
        case (.found, _), (_, .heartbeat), (.beforeDescription, .rotate): break
        case (_, .formatDescription):
            madeAt = event.timestamp
            state = .described(Self.bytes(event.timestamp) + Self.bytes(event.serverID))
        case (.described(let bytes), .executed(let body)):
            state = .found(Self.checksum(of: bytes, body))
        case (.described, _) where event.type == .startEncryption: break
        case (.described(let bytes), _): state = .found(Self.checksum(of: bytes))
        // Not the beginning of a file.
        case (.beforeDescription, _): break
        }
    }

    /// The file has no further event.
    package mutating func end() {
        if case .described(let bytes) = state { state = .found(Self.checksum(of: bytes)) }
    }

    private static func bytes(_ number: UInt32) -> [UInt8] {
        (0..<4).map { UInt8(truncatingIfNeeded: number >> ($0 * 8)) }
    }

    private static func checksum(of bytes: [UInt8], _ body: ByteBuffer = ByteBuffer()) -> UInt32 {
        var checksum = EventChecksum()
        checksum.add(ByteBuffer(bytes: bytes))
        checksum.add(body)
        return checksum.crc32
    }
}

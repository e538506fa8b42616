/// Which part of a server's binary log is wanted, and as which replica.
///
/// Events have checksums where the server writes them: FORMAT_DESCRIPTION says so.
package struct BinlogRequest: Sendable, Hashable {
    /// The name of the file: `binlog.000012`.
    package var file: String
    /// The offset in the file at which an event begins; 4 is the first.
    package var position: UInt32
    /// The number of the replica.
    ///
    /// A server ends another dump with the same number (MariaDB), or with the same number and ``uuid``
    /// (MySQL). 0 is for a short dump that does not wait: it ends none.
    package var serverID: UInt32
    /// The UUID of the replica, as text; `nil` for a short dump.
    package var uuid: String?
    /// Whether the server waits at the end of the log for what is written next; if not, the dump ends there.
    package var waits: Bool
    /// How many bytes of events may have been received and not yet been taken before the socket is not read from; the limit is exceeded by
    /// a socket read and one event.
    package var memoryLimit: Int
    /// The longest time without a byte from the server, not even of a heartbeat; `nil`: ``MySQLConnectionSettings/logTimeout``.
    package var silenceLimit: Duration?

    /// Creates a request.
    package init(
        file: String,
        position: UInt32 = 4,
        serverID: UInt32 = 0,
        uuid: String? = nil,
        waits: Bool,
        memoryLimit: Int = 50 << 20,
        silenceLimit: Duration? = nil
    ) {
        self.file = file
        self.position = position
        self.serverID = serverID
        self.uuid = uuid
        self.waits = waits
        self.memoryLimit = memoryLimit
        self.silenceLimit = silenceLimit
    }
}

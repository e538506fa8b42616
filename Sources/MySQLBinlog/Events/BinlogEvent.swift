package import NIOCore

/// An event of the log.
package struct BinlogEvent: Sendable {
    /// What an event has.
    package enum Body: Sendable {
        /// The begin of a file.
        case formatDescription(FormatDescription)
        /// The log goes on in another file, at this offset.
        case rotate(file: String, position: UInt64)
        /// The begin of a group of MySQL.
        case gtid(GTIDEvent)
        /// The begin of a group of MariaDB.
        case mariaDBGTID(MariaDBGTIDEvent)
        /// A statement; also one that begins or ends a group.
        case query(QueryEvent)
        /// The end of a group.
        case xid(UInt64)
        /// What the rows that follow are of.
        case tableMap(TableMap)
        /// Rows.
        case rows(RowsEvent)
        /// The end of a group that is committed later, by a group of its own.
        case xaPrepare(XAPrepareEvent)
        /// Nothing is after this position.
        case heartbeat(file: String, position: UInt64)
        /// What was executed before the file, in the server's form: the body of `PREVIOUS_GTIDS` or `GTID_LIST`.
        case executed(ByteBuffer)
        /// The server says that events are lost.
        case incident(String)
        /// The end of a file, by a shutdown.
        case stop
        /// Nothing that matters.
        case skipped
    }

    /// Where it lies; all events of a compressed transaction have the place of the whole.
    package var place: BinlogPlace
    /// Whether it is one of a compressed transaction: ``place`` ends with the transaction's last event.
    package var isInPayload: Bool
    /// Whether the server has made it for the connection: it is not in the file.
    package var isArtificial: Bool
    /// When it was written, in seconds since 1970; 0 if artificial.
    package var timestamp: UInt32
    /// The id of the server that wrote it.
    package var serverID: UInt32
    /// The type.
    package var type: BinlogEventType
    /// What it has.
    package var body: Body
}

/// The begin of a file: how its events are written.
package struct FormatDescription: Sendable, Hashable {
    /// The server's version: `9.7.4`, `11.8.9-MariaDB-log`.
    package var serverVersion: String
    /// The server.
    package var flavour: MySQLFlavour
    /// Whether events end with a checksum.
    package var checksum: BinlogChecksum
    /// The length of the part with fixed fields, by type; the first is of type 1.
    var postHeaderLengths: [UInt8]
}

/// What events end with.
package enum BinlogChecksum: UInt8, Sendable, Hashable {
    case none = 0
    /// Four bytes: CRC-32 of all before.
    case crc32 = 1
}

/// The begin of a group of MySQL.
package struct GTIDEvent: Sendable, Hashable {
    /// The UUID and the number: `3e11fa47-71ca-11e1-9e33-c80aa9429562:23`; `nil` if the group has none, or one with a tag.
    package var gtid: String?
    /// When the server that wrote the event committed the group, in microseconds since 1970; `nil` if it is not known.
    package var committedAt: UInt64?
}

/// The begin of a group of MariaDB.
package struct MariaDBGTIDEvent: Sendable, Hashable {
    /// Domain, server and number: `0-1-42`.
    package var gtid: String
    /// The server's flags.
    package var flags: UInt8
    /// The server's further flags.
    package var extraFlags: UInt8

    /// Whether the group is the one event that follows, without an end of its own.
    package var isStandalone: Bool { flags & 0x01 != 0 }
    /// Whether the group is prepared, and committed by another one.
    package var isXAPrepare: Bool { flags & 0x40 != 0 }
    /// Whether the group ends one that was prepared.
    package var isXAEnd: Bool { flags & 0x80 != 0 }
    /// Whether the group is the begin of an `ALTER TABLE` in two parts, during which the table is the old one.
    package var isAlterStart: Bool { extraFlags & 0x02 != 0 }
}

/// A statement.
package struct QueryEvent: Sendable, Hashable {
    /// The schema of the session, which names without a qualifier are in; it may be empty.
    package var schema: String
    /// The text, with repaired bytes where it is not UTF-8.
    package var text: String
    /// The server's number of an error that ended it; 0 for none.
    package var errorCode: UInt16
}

/// The end of a group that is prepared.
package struct XAPrepareEvent: Sendable, Hashable {
    /// Whether this is a commit: `XA COMMIT … ONE PHASE`.
    package var isOnePhase: Bool
    /// The number of the form of the id.
    package var formatID: UInt32
    /// The first part of the id.
    package var globalID: [UInt8]
    /// The second part of the id.
    package var branch: [UInt8]

    /// The id as statements of the log write it: `X'61',X'',1`.
    package var xid: String {
        "X'\(Self.hex(globalID))',X'\(Self.hex(branch))',\(formatID)"
    }

    private static func hex(_ bytes: [UInt8]) -> String {
        ServerText.make { text in
            for byte in bytes { text.writeHex(byte) }
        }
    }
}

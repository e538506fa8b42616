import NIOCore

// What the events have between header and checksum. Integers are little endian.

extension FormatDescription {
    /// The version of the form u16, always 4; the server's version, 50 bytes, filled with zeros; a time u32; the size of a header u8,
    /// always 19; for each type of event from 1 on the length of its fixed fields u8; the checksum u8, and four bytes.
    init(_ body: ByteBuffer, _ checksum: BinlogChecksum) throws(BinlogFault) {
        self = try body.withCursor { (cursor) throws(BinlogFault) in
            let version: UInt16 = try cursor.integer("version of the log")
            guard version == 4 else { throw BinlogFault("version of the log", .impossible(UInt64(version))) }
            let name = try cursor.array("version of the server", 50).prefix { $0 != 0 }
            try cursor.skip("time", 4)
            let size = try cursor.byte("size of headers")
            guard size == EventHeader.size else { throw BinlogFault("size of headers", .impossible(UInt64(size))) }
            guard cursor.count >= 1 else { throw BinlogFault("lengths", .truncated) }
            let serverVersion = String(decoding: name, as: UTF8.self)
            return FormatDescription(
                serverVersion: serverVersion,
                flavour: serverVersion.contains("MariaDB") ? .mariadb : .mysql,
                checksum: checksum,
                postHeaderLengths: try cursor.array("lengths", cursor.count - 1)
            )
        }
    }

    /// The length of the fixed fields of a type; `nil` for one that the server does not have.
    func postHeaderLength(_ type: BinlogEventType) -> UInt8? {
        let index = Int(type.rawValue) - 1
        return postHeaderLengths.indices.contains(index) ? postHeaderLengths[index] : nil
    }
}

extension BinlogEvent.Body {
    /// The begin of a group.
    init(_ body: ByteBuffer, _ header: EventHeader) throws(BinlogFault) {
        self = try body.withCursor { (cursor) throws(BinlogFault) in
            switch header.type {
            case .mariaDBGTID: .mariaDBGTID(try MariaDBGTIDEvent(&cursor, serverID: header.serverID))
            case .gtid: .gtid(try GTIDEvent(&cursor, hasGTID: true))
            case .anonymousGTID: .gtid(try GTIDEvent(&cursor, hasGTID: false))
            default: .gtid(GTIDEvent(gtid: nil, committedAt: nil))
            }
        }
    }

    /// An event that is neither rows nor what is said before them, nor the begin of a group or of a file; `nil` for a type that is not
    /// known.
    init?(known body: ByteBuffer, _ header: EventHeader) throws(BinlogFault) {
        let parsed = try body.withCursor { (cursor) throws(BinlogFault) -> Self? in
            switch header.type {
            case .query, .queryCompressed, .executeLoadQuery:
                return .query(try QueryEvent(&cursor, body, header.type))
            case .xid: return .xid(try cursor.integer("number"))
            case .rotate:
                let position: UInt64 = try cursor.integer("position")
                guard position < BinlogPlace.offsetLimit else { throw BinlogFault("position", .impossible(position)) }
                return .rotate(file: try cursor.repairedText("file", cursor.count), position: position)
            case .heartbeat:
                return .heartbeat(
                    file: try cursor.repairedText("file", cursor.count),
                    position: UInt64(header.nextOffset)
                )
            case .heartbeatV2: return try Self.heartbeat(&cursor, header)
            case .previousGTIDs, .gtidList: return .executed(body)
            case .xaPrepare: return .xaPrepare(try XAPrepareEvent(&cursor))
            case .incident:
                try cursor.skip("number", 2)
                let length = Int(try cursor.byte("length of the message"))
                return .incident(try cursor.repairedText("message", length))
            case .stop: return .stop
            case .intVar, .rand, .userVar, .beginLoadQuery, .ignorable, .rowsQuery, .transactionContext, .viewChange,
                .annotateRows, .binlogCheckpoint, .startEncryption:
                return .skipped
            default: return nil
            }
        }
        guard let parsed else { return nil }
        self = parsed
    }

    /// Fields, each with a type u8 and a length: 1 the file, 2 the position, length-encoded; 0 ends them.
    private static func heartbeat(_ cursor: inout ByteCursor, _ header: EventHeader) throws(BinlogFault) -> Self {
        var file = ""
        var position = UInt64(header.nextOffset)
        while cursor.count > 0 {
            let type = try cursor.byte("type of a field")
            if type == 0 { break }
            let length = try cursor.length("length of a field")
            var field = try cursor.part("field", length)
            switch type {
            case 1: file = try field.repairedText("file", length)
            case 2: position = try field.lengthEncoded("position")
            default: break
            }
        }
        return .heartbeat(file: file, position: position)
    }
}

extension QueryEvent {
    /// The session u32, a duration u32, the length of the schema u8, an error u16, the length of variables u16; of `LOAD DATA` 13 more
    /// bytes; the variables, the schema, 0, and the text to the end.
    fileprivate init(_ cursor: inout ByteCursor, _ body: ByteBuffer, _ type: BinlogEventType) throws(BinlogFault) {
        try cursor.skip("session", 8)
        let schemaLength = Int(try cursor.byte("length of the schema"))
        errorCode = try cursor.integer("error")
        let variables: UInt16 = try cursor.integer("length of variables")
        if type == .executeLoadQuery { try cursor.skip("file", 13) }
        try cursor.skip("variables", Int(variables))
        schema = try cursor.repairedText("schema", schemaLength)
        try cursor.skip("schema", 1)
        guard type == .queryCompressed else {
            text = try cursor.repairedText("text", cursor.count)
            return
        }
        var part = body
        part.moveReaderIndex(forwardBy: cursor.index)
        text = String(buffer: try CompressedPart.restore(part))
    }
}

extension GTIDEvent {
    /// Flags u8; the UUID, 16 bytes; the number u64; and if they are there: 2 u8, two numbers u64, and the time of the commit in
    /// microseconds, 7 bytes, whose highest bit says that another time follows.
    fileprivate init(_ cursor: inout ByteCursor, hasGTID: Bool) throws(BinlogFault) {
        try cursor.skip("flags", 1)
        let uuid = try cursor.array("UUID", 16)
        let number: UInt64 = try cursor.integer("number")
        gtid = hasGTID ? "\(AddressText.uuid(asWritten: uuid)):\(number)" : nil
        guard cursor.count >= 24 else { return }
        try cursor.skip("order", 17)
        committedAt = try cursor.unsigned("time", bytes: 7) & (1 << 55 - 1)
    }
}

extension MariaDBGTIDEvent {
    /// The number u64, the domain u32, flags u8; with flag 0x02 a number u64; with flags 0x40 and 0x80 the id of XA: its form u32, two
    /// lengths u8, and as many bytes; and if something is left, further flags u8.
    fileprivate init(_ cursor: inout ByteCursor, serverID: UInt32) throws(BinlogFault) {
        let number: UInt64 = try cursor.integer("number")
        let domain: UInt32 = try cursor.integer("domain")
        flags = try cursor.byte("flags")
        extraFlags = 0
        gtid = "\(domain)-\(serverID)-\(number)"
        if flags & 0x02 != 0 { try cursor.skip("group", 8) }
        if flags & 0xc0 != 0 {
            try cursor.skip("form of the id", 4)
            let lengths = (try cursor.byte("length of the id"), try cursor.byte("length of the id"))
            try cursor.skip("id", Int(lengths.0) + Int(lengths.1))
        }
        if cursor.count > 0 { extraFlags = try cursor.byte("further flags") }
    }
}

extension XAPrepareEvent {
    /// Whether it is a commit u8, the form of the id u32, the lengths of its parts u32, and both.
    fileprivate init(_ cursor: inout ByteCursor) throws(BinlogFault) {
        isOnePhase = try cursor.byte("one phase") != 0
        formatID = try cursor.integer("form of the id")
        let globalLength: UInt32 = try cursor.integer("length of the id")
        let branchLength: UInt32 = try cursor.integer("length of the id")
        globalID = try cursor.array("id", Int(globalLength))
        branch = try cursor.array("id", Int(branchLength))
    }
}

import NIOCore

/// The tables that `TABLE_MAP` has announced, by the numbers that rows refer to.
struct AnnouncedTables: Sendable {
    /// More than these are forgotten at the begin of a group: a server gives new numbers to tables that it opens again.
    private static let kept = 4096

    private var maps: [UInt64: (bytes: [UInt8], map: TableMap)] = [:]

    /// What was said of the table with this number last.
    subscript(id: UInt64) -> TableMap? { maps[id]?.map }

    /// Forgets tables if they are many; none has rows without being announced again.
    mutating func beginGroup() {
        if maps.count > Self.kept { maps.removeAll() }
    }

    /// Reads the body of a `TABLE_MAP`, or finds that it is the last one of this number again.
    mutating func announce(_ body: ByteBuffer, _ format: FormatDescription?) throws(BinlogFault) -> TableMap {
        let idBytes = format?.postHeaderLength(.tableMap) == 6 ? 4 : 6
        let id = try body.withCursor { (cursor) throws(BinlogFault) in try cursor.unsigned("table", bytes: idBytes) }
        if let known = maps[id], known.bytes.elementsEqual(body.readableBytesView) { return known.map }
        let map = try body.withCursor { (cursor) throws(BinlogFault) in
            try cursor.skip("table", idBytes)
            return try TableMap(id: id, &cursor, format?.flavour)
        }
        maps[id] = (Array(body.readableBytesView), map)
        return map
    }
}

extension TableMap {
    /// Flags u16; the schema: its length u8, its bytes, 0; the table in the same way; the number of columns, length-encoded; a type u8 for
    /// each; the length of the metadata, length-encoded; the metadata by type; a bit for each column; further metadata.
    fileprivate convenience init(id: UInt64, _ cursor: inout ByteCursor, _ flavour: MySQLFlavour?) throws(BinlogFault) {
        try cursor.skip("flags", 2)
        let schema = try cursor.repairedText("schema", try cursor.length("length of the schema"))
        try cursor.skip("schema", 1)
        let table = try cursor.repairedText("table", try cursor.length("length of the table's name"))
        try cursor.skip("table", 1)
        let count = try cursor.length("number of columns")
        let types = try cursor.array("types", count)
        let metadataLength = try cursor.length("length of the metadata")
        var metadata = try cursor.part("metadata", metadataLength)
        var columns: [LoggedColumn] = []
        columns.reserveCapacity(count)
        for (index, type) in types.enumerated() {
            do throws(BinlogFault) {
                columns.append(try LoggedColumn(type: type, &metadata))
            } catch {
                throw BinlogFault(error.field, error.reason, column: index)
            }
        }
        try metadata.finish()
        try cursor.skip("nulls", (count + 7) / 8)
        var further = FurtherMetadata(columns, flavour)
        while cursor.count > 0 {
            let type = try cursor.byte("type of metadata")
            try further.read(type, try cursor.part("metadata", try cursor.length("length of metadata")))
        }
        self.init(id: id, schema: schema, table: table, columns: further.columns)
    }
}

extension LoggedColumn {
    /// The metadata of a type, 0 to 2 bytes.
    fileprivate init(type number: UInt8, _ cursor: inout ByteCursor) throws(BinlogFault) {
        type = BinlogColumnType(rawValue: number)
        switch type {
        case .float, .double, .blob, .geometry, .vector, .json, .blobCompressed, .time2, .dateTime2, .timestamp2:
            metadata = Int(try cursor.byte("metadata"))
        case .varchar, .varString, .varcharCompressed: metadata = Int(try cursor.unsigned("metadata", bytes: 2))
        case .newDecimal: metadata = Int(try cursor.bigEndian("metadata", bytes: 2))
        case .bit:
            let bits = Int(try cursor.byte("metadata"))
            metadata = 8 * Int(try cursor.byte("metadata")) + bits
        case .string:
            // A type and a length, whose two high bits are in the type as the inverse of its own.
            let high = try cursor.byte("metadata")
            let low = Int(try cursor.byte("metadata"))
            if high & 0x30 != 0x30 {
                type = BinlogColumnType(rawValue: high | 0x30)
                metadata = low | Int(high & 0x30 ^ 0x30) << 4
            } else {
                type = BinlogColumnType(rawValue: high)
                metadata = low
            }
            if type != .enumeration, type != .set { type = .string }
        case .typedArray:
            let number = try cursor.byte("metadata")
            guard BinlogColumnType(rawValue: number) != .typedArray else {
                throw BinlogFault("metadata", .impossible(UInt64(number)))
            }
            let element = try LoggedColumn(type: number, &cursor)
            metadata = element.metadata
        default: metadata = 0
        }
    }
}

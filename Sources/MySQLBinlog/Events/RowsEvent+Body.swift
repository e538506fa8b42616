import NIOCore

extension RowsEvent {
    /// The number that the event without rows has at the end of a statement.
    private static let noTable: UInt64 = 0x00ff_ffff

    /// The table, 6 bytes; flags u16; of version 2 the length of what else there is u16, itself included, and that; the number of columns,
    /// length-encoded; the bitmap of the columns that images have, of updates also that of images after the change; images to the end.
    init(
        _ body: ByteBuffer,
        _ context: EventContext,
        _ format: FormatDescription?,
        _ tables: AnnouncedTables
    ) throws(BinlogFault) {
        let type = context.event
        kind = Self.kind(type)
        hasOptions = type == .partialUpdateRows
        isCompressed = type.rawValue >= BinlogEventType.writeRowsCompressedV1.rawValue
        self.context = context
        var cursor = RowsHead(kind: kind)
        try body.withCursor { (bytes) throws(BinlogFault) in
            try cursor.read(&bytes, Self.isVersion2(type), idBytes: format?.postHeaderLength(type) == 6 ? 4 : 6)
        }
        tableID = cursor.tableID
        flags = cursor.flags
        columnCount = cursor.columnCount
        presentBefore = cursor.presentBefore
        presentAfter = cursor.presentAfter
        images = body
        images.moveReaderIndex(forwardBy: cursor.length)
        map = tables[tableID]
        guard let map else {
            guard tableID == Self.noTable else { throw BinlogFault("table", .unknownTable(id: tableID)) }
            return
        }
        guard columnCount == map.columns.count else {
            throw BinlogFault("columns", .columnCount(UInt64(columnCount), expected: map.columns.count))
        }
    }

    private static func kind(_ type: BinlogEventType) -> Kind {
        switch type {
        case .writeRows, .writeRowsV1, .writeRowsCompressed, .writeRowsCompressedV1: .insert
        case .deleteRows, .deleteRowsV1, .deleteRowsCompressed, .deleteRowsCompressedV1: .delete
        default: .update
        }
    }

    private static func isVersion2(_ type: BinlogEventType) -> Bool {
        switch type {
        case .writeRows, .updateRows, .deleteRows, .partialUpdateRows, .writeRowsCompressed, .updateRowsCompressed,
            .deleteRowsCompressed:
            true
        default: false
        }
    }
}

/// What a rows event has before the rows.
private struct RowsHead {
    let kind: RowsEvent.Kind
    var tableID: UInt64 = 0
    var flags: UInt16 = 0
    var columnCount = 0
    var presentBefore: ColumnSet?
    var presentAfter: ColumnSet?
    /// The number of bytes.
    var length = 0

    init(kind: RowsEvent.Kind) { self.kind = kind }

    mutating func read(_ cursor: inout ByteCursor, _ isVersion2: Bool, idBytes: Int) throws(BinlogFault) {
        tableID = try cursor.unsigned("table", bytes: idBytes)
        flags = try cursor.integer("flags")
        if isVersion2 {
            let length: UInt16 = try cursor.integer("length of extra data")
            guard length >= 2 else { throw BinlogFault("length of extra data", .impossible(UInt64(length))) }
            try cursor.skip("extra data", Int(length) - 2)
        }
        let count = try cursor.lengthEncoded("number of columns")
        guard count <= UInt64(cursor.count) * 8 else { throw BinlogFault("number of columns", .impossible(count)) }
        columnCount = Int(count)
        if kind != .insert { presentBefore = try cursor.columns("columns before", count: columnCount) }
        if kind != .delete { presentAfter = try cursor.columns("columns after", count: columnCount) }
        length = cursor.index
    }
}

import NIOCore

/// Reads the rows of an event one by one.
///
/// An image is a bitmap of `NULL`s over the columns that it has, and the values of those that are not `NULL`.
package struct RowsReader: Sendable {
    private let event: RowsEvent
    private let layout: RowLayout
    private var images: ByteBuffer

    init(_ event: RowsEvent, _ layout: RowLayout) throws(BinlogError) {
        self.event = event
        self.layout = layout
        guard event.columnCount == layout.columns.count else {
            let expected = layout.columns.count
            throw event.context.error(
                BinlogFault("columns", .columnCount(UInt64(event.columnCount), expected: expected))
            )
        }
        do throws(BinlogFault) {
            images = event.isCompressed ? try CompressedPart.restore(event.images) : event.images
        } catch {
            throw event.context.error(error)
        }
    }

    /// The next row.
    ///
    /// - Returns: It, or `nil` after the last.
    /// - Throws: ``BinlogError``; the reader must not be used any more.
    package mutating func next() throws(BinlogError) -> RowChange? {
        guard images.readableBytes > 0 else { return nil }
        do throws(BinlogFault) {
            let (change, length) = try images.withCursor { (cursor) throws(BinlogFault) in
                var change = RowChange()
                if let present = event.presentBefore { change.before = try image(&cursor, present, hasOptions: false) }
                if let present = event.presentAfter {
                    change.after = try image(&cursor, present, hasOptions: event.hasOptions)
                }
                // Without columns an image has no bytes, and there would be no end.
                guard cursor.index > 0 else { throw BinlogFault("row", .impossible(0)) }
                return (change, cursor.index)
            }
            images.moveReaderIndex(forwardBy: length)
            return change
        } catch {
            throw event.context.error(error)
        }
    }

    private func image(
        _ cursor: inout ByteCursor,
        _ present: ColumnSet,
        hasOptions: Bool
    ) throws(BinlogFault) -> [MySQLCell?] {
        // Of documents of JSON that are there as differences.
        var differences: ColumnSet?
        if hasOptions, try cursor.lengthEncoded("options") & 1 != 0 {
            differences = try cursor.columns("differences", count: layout.columns.count { $0.isJSON })
        }
        let nulls = cursor.index
        try cursor.skip("nulls", (present.count + 7) / 8)
        var cells = [MySQLCell?](repeating: nil, count: layout.columns.count)
        var number = 0
        var document = 0
        for index in layout.columns.indices {
            let column = layout.columns[index]
            let hasDifferences = column.isJSON && differences?.contains(document) == true
            if column.isJSON { document += 1 }
            guard present.contains(index) else { continue }
            defer { number += 1 }
            if cursor.bit(number, ofBitmapAt: nulls) {
                if column.isRead { cells[index] = .null }
                continue
            }
            do throws(BinlogFault) {
                if hasDifferences {
                    try column.form.skip(&cursor)
                    cells[index] = .deferred(.differences)
                } else if column.isRead {
                    cells[index] = try column.form.read(&cursor)
                } else {
                    try column.form.skip(&cursor)
                }
            } catch {
                var fault = error
                fault.column = index
                throw fault
            }
        }
        return cells
    }
}

import MySQLBinlog
import NIOCore

/// Decoding a log file of a MySQL server into rows, without a server: 100,000 inserts of a row with ten columns and 300 bytes, 25 in an
/// event.
///
/// The floor copies the same bytes once.
enum MySQLDecodeBenchmarks {
    private static let rowsInAnEvent = 25

    private static let columns: [ColumnDescription] = [
        description("id", .integer(bytes: 4)), description("owner", .integer(bytes: 8)),
        description("name", .varchar(length: 40)), description("address", .varchar(length: 100)),
        description("note", .text), description("made", .dateTime(digits: 3)),
        description("price", .decimal(precision: 10, scale: 2)), description("done", .integer(bytes: 1)),
        description("weight", .double), description("key", .char(length: 36)),
    ]

    private static func description(_ name: String, _ kind: MySQLColumnType.Kind) -> ColumnDescription {
        ColumnDescription(name: name, type: MySQLColumnType(kind), charset: .utf8mb4)
    }

    /// Runs all cases.
    static func run() throws {
        let count = 100_000
        let events = events(of: count)
        let floor = Measurement.best(of: 3, prepare: { ByteBuffer() }) { buffer in
            var buffer = buffer
            for event in events { buffer.writeImmutableBuffer(event) }
        }
        let floors = [("copying the bytes", floor.rate(of: count))]

        let read = try Measurement.best(of: 3, prepare: { decoder() }) { decoder in
            var decoder = decoder
            for event in events {
                try decoder.append(event)
                while try decoder.next() != nil {}
            }
        }
        Report.line("mysql.events.100k_inserts", ours: read.rate(of: count), floors: floors)

        let decoded = try Measurement.best(of: 3, prepare: { decoder() }) { decoder in
            var decoder = decoder
            var layout: (map: TableMap, layout: RowLayout)?
            var rows = 0
            for event in events {
                try decoder.append(event)
                while let event = try decoder.next() {
                    guard case .rows(let event) = event.body, let map = event.map else { continue }
                    let known =
                        try layout.flatMap { $0.map === map ? $0.layout : nil } ?? RowLayout(map, columns) { _ in nil }
                    layout = (map, known)
                    var reader = try event.rows(known)
                    while let row = try reader.next() { rows += row.after == nil ? 0 : 1 }
                }
            }
            precondition(rows == count, "decoded \(rows) rows")
        }
        Report.line("mysql.decode.100k_inserts", ours: decoded.rate(of: count), floors: floors)
    }

    private static func decoder() -> BinlogDecoder {
        BinlogDecoder(file: "binlog.000001", offset: 4, checksum: .crc32)
    }

    // MARK: The log

    private static func events(of count: Int) -> [ByteBuffer] {
        var offset: UInt32 = 4
        var events = [event(15, formatDescription(), &offset)]
        let map = tableMap()
        for first in stride(from: 0, to: count, by: rowsInAnEvent) {
            events.append(event(19, map, &offset))
            // The table, flags, no extra data, ten columns, all of them there.
            var rows = ByteBuffer(bytes: [5, 0, 0, 0, 0, 0, 1, 0, 2, 0, 10, 0xff, 3])
            for number in first..<first + rowsInAnEvent { write(number, to: &rows) }
            events.append(event(30, rows, &offset))
        }
        return events
    }

    private static func event(_ type: UInt8, _ body: ByteBuffer, _ offset: inout UInt32) -> ByteBuffer {
        let size = UInt32(19 + body.readableBytes + 4)
        offset += size
        var event = ByteBuffer()
        event.writeInteger(1_700_000_000 as UInt32, endianness: .little)
        event.writeInteger(type)
        event.writeInteger(1 as UInt32, endianness: .little)
        event.writeInteger(size, endianness: .little)
        event.writeInteger(offset, endianness: .little)
        event.writeInteger(0 as UInt16)
        event.writeImmutableBuffer(body)
        var checksum = EventChecksum()
        checksum.add(event)
        event.writeInteger(checksum.crc32, endianness: .little)
        return event
    }

    private static func formatDescription() -> ByteBuffer {
        var body = ByteBuffer(bytes: [4, 0])
        body.writeString("9.7.4")
        body.writeRepeatingByte(0, count: 45 + 4)
        body.writeInteger(19 as UInt8)
        body.writeRepeatingByte(8, count: 42)
        body.writeInteger(1 as UInt8)
        return body
    }

    private static func tableMap() -> ByteBuffer {
        var body = ByteBuffer(bytes: [5, 0, 0, 0, 0, 0, 1, 0, 3])
        body.writeString("app\0")
        body.writeInteger(4 as UInt8)
        body.writeString("rows\0")
        body.writeBytes([10, 3, 8, 15, 15, 252, 18, 246, 1, 5, 254])
        // VARCHAR 160 and 400 bytes, TEXT with 2 bytes of length, 3 digits, DECIMAL(10, 2), a double of 8 bytes, CHAR of 144 bytes.
        body.writeBytes([11, 160, 0, 144, 1, 2, 3, 10, 2, 8, 0xfe, 144, 0xfe, 3])
        return body
    }

    private static func write(_ number: Int, to rows: inout ByteBuffer) {
        rows.writeBytes([0, 0])
        rows.writeInteger(UInt32(number), endianness: .little)
        rows.writeInteger(UInt64(number) * 1_000_003, endianness: .little)
        write("Name \(100_000 + number) of thirty letters", UInt8.self, to: &rows)
        write("\(100_000 + number) Street of some length, 1234 City, Country of the world", UInt16.self, to: &rows)
        write(String(repeating: "lorem ipsum ", count: 10) + "0123456789", UInt16.self, to: &rows)
        rows.writeBytes([0x99, 0xb2, 0x85, 0x3a, 0x4c, 0x04, 0xd2, 0x80, 0x00, 0x12, 0x34, 0x21, 1])
        rows.writeInteger((3.25 + Double(number)).bitPattern, endianness: .little)
        write("6ccd780c-baba-1026-9564-5b8c656024db", UInt8.self, to: &rows)
    }

    private static func write<Length: FixedWidthInteger>(
        _ text: String,
        _ length: Length.Type,
        to rows: inout ByteBuffer
    ) {
        rows.writeInteger(Length(text.utf8.count), endianness: .little)
        rows.writeString(text)
    }
}

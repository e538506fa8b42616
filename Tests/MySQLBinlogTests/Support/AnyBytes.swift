import MySQLBinlog
import NIOCore

/// Decodes whatever bytes: for damaged logs, and for a fuzzer.
enum AnyBytes {
    /// Decodes bytes as events that follow the format description of a server, one after another, with their rows and cells; the
    /// sizes, ends and checksums in them are made right, so that a damage is found by what the bytes say.
    ///
    /// - Parameters:
    ///   - bytes: The events.
    ///   - decoder: What was read before.
    static func decode(_ bytes: [UInt8], after decoder: BinlogDecoder) {
        var decoder = decoder
        var rest = ByteBuffer(bytes: bytes)
        while rest.readableBytes > 0 {
            let size = rest.getInteger(at: rest.readerIndex + 9, endianness: .little, as: UInt32.self) ?? 0
            let length = min(max(Int(size), 1), rest.readableBytes)
            guard let event = rest.readSlice(length: length) else { return }
            do throws(BinlogError) {
                _ = try decode(sealed(event, decoder), with: &decoder)
            } catch {
                _ = "\(error)"
                return
            }
        }
    }

    /// Decodes one event with its rows.
    ///
    /// - Returns: How many events, rows and cells there were.
    static func decode(_ event: ByteBuffer, with decoder: inout BinlogDecoder) throws(BinlogError) -> Int {
        var count = 0
        try decoder.append(event)
        while let event = try decoder.next() {
            count += 1
            guard case .rows(let rows) = event.body, let map = rows.map else { continue }
            guard
                let layout = try? RowLayout(
                    map,
                    map.columns.map(ColumnDescription.init(guessedOf:)),
                    charset: RecordedLog.charset
                )
            else { continue }
            var reader = try rows.rows(layout)
            while let change = try reader.next() {
                count += 1 + (change.before?.count ?? 0) + (change.after?.count ?? 0)
            }
        }
        return count
    }

    /// An event whose size, end and checksum are those of its bytes.
    static func sealed(_ event: ByteBuffer, _ decoder: BinlogDecoder) -> ByteBuffer {
        var event = ByteBuffer(bytes: event.readableBytesView)
        guard event.readableBytes >= 19 else { return event }
        let size = UInt32(event.readableBytes)
        event.setInteger(size, at: 9, endianness: .little)
        if event.getInteger(at: 13, as: UInt32.self) != 0 {
            event.setInteger(UInt32(truncatingIfNeeded: decoder.offset) &+ size, at: 13, endianness: .little)
        }
        let isFormat = event.getInteger(at: 4, as: UInt8.self) == BinlogEventType.formatDescription.rawValue
        guard event.readableBytes >= 23, isFormat || decoder.format?.checksum != BinlogChecksum.none else {
            return event
        }
        var checksum = EventChecksum()
        if isFormat, let flags = event.getInteger(at: 17, as: UInt8.self) {
            event.setInteger(flags & 0xfe, at: 17)
        }
        checksum.add(event.getSlice(at: 0, length: event.readableBytes - 4) ?? event)
        event.setInteger(checksum.crc32, at: event.readableBytes - 4, endianness: .little)
        return event
    }
}

extension ColumnDescription {
    /// A description that fits.
    fileprivate init(guessedOf column: LoggedColumn) {
        let isBinary = column.collation == LoggedColumn.binaryCollation
        let labels = (0..<(column.type == .set ? 8 * column.metadata : 300)).map { "\($0)" }
        let kind: MySQLColumnType.Kind =
            switch column.type {
            case .tiny: .integer(bytes: 1)
            case .short: .integer(bytes: 2)
            case .int24: .integer(bytes: 3)
            case .long: .integer(bytes: 4)
            case .longlong: .integer(bytes: 8)
            case .float: .float
            case .double: .double
            case .newDecimal: .decimal(precision: column.metadata >> 8, scale: column.metadata & 0xff)
            case .bit: .bit(count: column.metadata)
            case .year: .year
            case .date: .date
            case .time, .time2: .time(digits: column.metadata)
            case .dateTime, .dateTime2: .dateTime(digits: column.metadata)
            case .timestamp, .timestamp2: .timestamp(digits: column.metadata)
            case .string:
                isBinary ? .binary(length: column.metadata) : column.metadata == 16 ? .inet6 : .char(length: 1)
            case .varchar, .varString, .varcharCompressed: isBinary ? .varbinary(length: 1) : .varchar(length: 1)
            case .blob, .blobCompressed: isBinary ? .blob : .text
            case .enumeration: .enumeration(Array(labels.prefix(column.metadata == 1 ? 255 : 300)))
            case .set: .set(column.metadata == 8 ? Array(labels.prefix(64)) : labels)
            case .json: .json
            case .geometry: .geometry
            case .vector: .vector
            default: .unknown
            }
        self.init(
            name: column.name ?? "",
            type: MySQLColumnType(kind, isUnsigned: column.isUnsigned ?? false),
            charset: column.type == .varchar ? .utf16 : .utf8mb4
        )
    }
}

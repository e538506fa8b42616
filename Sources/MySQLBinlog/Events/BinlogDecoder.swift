package import NIOCore

/// Reads the events of a log, one after another, as the server sends them.
///
/// It knows the file and the offset, how the file's events are written, and the tables that were announced. An event is given with
/// ``append(_:)``, and taken with ``next()`` until there is none: a compressed transaction is many.
///
/// ```swift
/// try decoder.append(packet)
/// while let event = try decoder.next() { … }
/// ```
///
/// Offsets have 64 bits, where a header has the low 32 bits of the end of its event: the end is the first offset with these bits that is
/// not before the one that was read to. Artificial events lie nowhere. Inside of a group, MariaDB from 11.4 on writes no offsets; there an
/// event begins where the one before ended.
package struct BinlogDecoder: Sendable {
    /// The file that is read.
    package private(set) var file: String
    /// The offset in it that was read to: the end of an event.
    package private(set) var offset: UInt64
    /// What the last `FORMAT_DESCRIPTION` said; `nil` before the first.
    package private(set) var format: FormatDescription?

    private var checksum: BinlogChecksum
    private var skipped: (file: String, offset: UInt64)?
    private var tables = AnnouncedTables()
    private var events: Events = .none

    private enum Events: Sendable {
        case none
        case one(BinlogEvent)
        case payload(TransactionPayload, BinlogPlace)
    }

    /// A decoder for a log that is sent from a place on.
    ///
    /// - Parameters:
    ///   - file: The name of the file that was asked for.
    ///   - offset: The offset that was asked for: the end of an event, or 4.
    ///   - checksum: What events have before the first `FORMAT_DESCRIPTION`: what the server's `binlog_checksum` says.
    ///   - wanted: An offset of this file before which bodies are not looked at: such events are ``BinlogEvent/Body/skipped``. It is for a
    ///     place above 4 GiB, which no request can name.
    package init(file: String, offset: UInt64, checksum: BinlogChecksum, from wanted: UInt64? = nil) {
        self.file = file
        self.offset = offset
        self.checksum = checksum
        skipped = wanted.map { (file, $0) }
    }

    /// Gives the decoder an event.
    ///
    /// - Parameter event: The header, the body and the checksum, and nothing else.
    /// - Precondition: ``next()`` has said that there is none.
    /// - Throws: ``BinlogError``; the decoder must not be used any more.
    package mutating func append(_ event: ByteBuffer) throws(BinlogError) {
        guard case .none = events else { preconditionFailure("an event is given while one is left: \(events)") }
        var type = BinlogEventType(rawValue: 0)
        do throws(BinlogFault) {
            let header = try event.withCursor { (cursor) throws(BinlogFault) in try EventHeader(&cursor) }
            type = header.type
            guard header.size == event.readableBytes else {
                throw BinlogFault("size", .size(header.size, actual: event.readableBytes))
            }
            let body = try body(of: event, header)
            let place = try place(of: header)
            events = try content(of: body, header, place)
            offset = place.end
            moved(header)
        } catch {
            throw BinlogError(event: type, file: file, offset: offset, error)
        }
    }

    /// The next event of those that were given.
    ///
    /// - Returns: It, or `nil`.
    /// - Throws: ``BinlogError``; the decoder must not be used any more.
    package mutating func next() throws(BinlogError) -> BinlogEvent? {
        switch events {
        case .none: return nil
        case .one(let event):
            events = .none
            return event
        case .payload(var payload, let place):
            events = .none
            var type = BinlogEventType.transactionPayload
            do throws(BinlogFault) {
                guard let event = try payload.next() else { return nil }
                events = .payload(payload, place)
                let header = try event.withCursor { (cursor) throws(BinlogFault) in try EventHeader(&cursor) }
                type = header.type
                var body = event
                body.moveReaderIndex(forwardBy: EventHeader.size)
                return self.event(header, place, isInPayload: true, try self.body(body, header, place))
            } catch {
                throw BinlogError(event: type, file: place.file, offset: place.start, error)
            }
        }
    }

    // MARK: - Header, checksum, place

    /// What is between the header and the checksum, which is verified.
    private mutating func body(of event: ByteBuffer, _ header: EventHeader) throws(BinlogFault) -> ByteBuffer {
        var body = event
        body.moveReaderIndex(forwardBy: EventHeader.size)
        if header.type == .formatDescription {
            // It says itself what it has: a byte for the algorithm, and in any case four bytes for a checksum.
            guard body.readableBytes >= 5,
                let algorithm = body.getInteger(at: body.writerIndex - 5, as: UInt8.self)
            else { throw BinlogFault("checksum", .truncated) }
            guard let checksum = BinlogChecksum(rawValue: algorithm) else {
                throw BinlogFault("checksum", .impossible(UInt64(algorithm)))
            }
            self.checksum = checksum
        }
        let hasBytes = header.type == .formatDescription || checksum == .crc32
        guard hasBytes else { return body }
        guard body.readableBytes >= 4,
            let expected = body.getInteger(at: body.writerIndex - 4, endianness: .little, as: UInt32.self)
        else { throw BinlogFault("checksum", .truncated) }
        if checksum == .crc32 {
            guard Self.checksum(of: event, isFormat: header.type == .formatDescription) == expected else {
                throw BinlogFault("checksum", .checksum)
            }
        }
        body.moveWriterIndex(to: body.writerIndex - 4)
        return body
    }

    private static func checksum(of event: ByteBuffer, isFormat: Bool) -> UInt32 {
        var checksum = EventChecksum()
        var bytes = event
        bytes.moveWriterIndex(to: bytes.writerIndex - 4)
        if isFormat, var head = bytes.readSlice(length: 17), let flags = bytes.readInteger(as: UInt8.self) {
            head.writeInteger(flags & ~EventHeader.inUse)
            checksum.add(head)
        }
        checksum.add(bytes)
        return checksum.crc32
    }

    private func place(of header: EventHeader) throws(BinlogFault) -> BinlogPlace {
        let isNowhere =
            header.isArtificial
            || header.type == .formatDescription && (header.nextOffset == 0 || offset != Self.firstOffset)
            // It is said once more at the beginning of a dump that begins further on.
            || header.type == .startEncryption && header.nextOffset == 0
        if isNowhere { return BinlogPlace(file: file, start: offset, end: offset) }
        let size = UInt64(header.size)
        if header.nextOffset == 0, format?.flavour == .mariadb {
            return BinlogPlace(file: file, start: offset, end: offset + size)
        }
        let end = offset + UInt64(header.nextOffset &- UInt32(truncatingIfNeeded: offset))
        // MariaDB passes over events that were not asked for; a jump of half of the numbers is one backwards.
        let isBehind = end >= offset + size && end - offset < 1 << 31 + size
        guard format?.flavour == .mariadb ? isBehind : end == offset + size else {
            throw BinlogFault("header", .lostPlace(expected: offset))
        }
        return BinlogPlace(file: file, start: end - size, end: end)
    }

    /// Where the first event of a file is.
    private static let firstOffset: UInt64 = 4

    /// Goes on in another file after `ROTATE`.
    private mutating func moved(_ header: EventHeader) {
        guard header.type == .rotate, case .one(let event) = events, case .rotate(let file, let position) = event.body
        else { return }
        self.file = file
        offset = position
        if skipped?.file != file { skipped = nil }
    }

    // MARK: - Bodies

    private mutating func content(
        of body: ByteBuffer,
        _ header: EventHeader,
        _ place: BinlogPlace
    ) throws(BinlogFault) -> Events {
        if let skipped, place.end <= skipped.offset, !Self.isReadAlways(header.type) {
            return .one(event(header, place, isInPayload: false, .skipped))
        }
        if header.type == .transactionPayload { return .payload(try TransactionPayload(body), place) }
        return .one(event(header, place, isInPayload: false, try self.body(body, header, place)))
    }

    private static func isReadAlways(_ type: BinlogEventType) -> Bool {
        [.formatDescription, .rotate, .previousGTIDs, .gtidList, .heartbeat, .heartbeatV2].contains(type)
    }

    private func event(
        _ header: EventHeader,
        _ place: BinlogPlace,
        isInPayload: Bool,
        _ body: BinlogEvent.Body
    ) -> BinlogEvent {
        BinlogEvent(
            place: place,
            isInPayload: isInPayload,
            isArtificial: place.start == place.end,
            timestamp: header.timestamp,
            serverID: header.serverID,
            type: header.type,
            body: body
        )
    }

    private mutating func body(
        _ body: ByteBuffer,
        _ header: EventHeader,
        _ place: BinlogPlace
    ) throws(BinlogFault) -> BinlogEvent.Body {
        switch header.type {
        case .tableMap:
            return .tableMap(try tables.announce(body, format))
        case .writeRows, .updateRows, .deleteRows, .partialUpdateRows, .writeRowsV1, .updateRowsV1, .deleteRowsV1,
            .writeRowsCompressedV1, .updateRowsCompressedV1, .deleteRowsCompressedV1, .writeRowsCompressed,
            .updateRowsCompressed, .deleteRowsCompressed:
            let context = EventContext(event: header.type, file: place.file, offset: place.start)
            return .rows(try RowsEvent(body, context, format, tables))
        case .formatDescription:
            let format = try FormatDescription(body, checksum)
            self.format = format
            tables = AnnouncedTables()
            return .formatDescription(format)
        case .gtid, .mariaDBGTID, .anonymousGTID, .taggedGTID:
            tables.beginGroup()
            return try BinlogEvent.Body(body, header)
        default:
            if let body = try BinlogEvent.Body(known: body, header) { return body }
            guard header.isIgnorable else {
                throw BinlogFault("type", .unknownEvent(server: format?.serverVersion ?? "of an unknown version"))
            }
            return .skipped
        }
    }
}

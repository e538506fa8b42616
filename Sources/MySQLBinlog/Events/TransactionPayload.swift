import NIOCore

/// The events of a compressed transaction of MySQL, which are restored one by one.
///
/// The body has fields, each with a type, a length and a value, all of them length-encoded: 1 the size of the payload, 2 the compression,
/// 0 for Zstandard and 255 for none, 3 the size before compression; 0 ends them, and the payload follows. It is events with their
/// headers, without checksums and without places.
struct TransactionPayload: Sendable {
    private let stream: ZstdStream?
    private var restored: ByteBuffer
    /// The bytes of the payload that did not come yet.
    private var missing: UInt64

    init(_ body: ByteBuffer) throws(BinlogFault) {
        let (compression, size, payload) = try body.withCursor { (cursor) throws(BinlogFault) in
            var compression: UInt64 = 255
            var size: UInt64?
            while true {
                let type = try cursor.lengthEncoded("type of a field")
                if type == 0 { break }
                var field = try cursor.part("field", try cursor.length("length of a field"))
                switch type {
                case 2: compression = try field.lengthEncoded("compression")
                case 3: size = try field.lengthEncoded("size before compression")
                default: break
                }
            }
            return (compression, size, cursor.index)
        }
        var bytes = body
        bytes.moveReaderIndex(forwardBy: payload)
        missing = size ?? UInt64(bytes.readableBytes)
        guard missing < BinlogPlace.offsetLimit else {
            throw BinlogFault("size before compression", .impossible(missing))
        }
        switch compression {
        case 0:
            guard let stream = ZstdStream(bytes) else { throw BinlogFault("payload", .compression) }
            self.stream = stream
            restored = ByteBuffer()
        case 255:
            stream = nil
            restored = bytes
            guard missing == UInt64(bytes.readableBytes) else { throw BinlogFault("payload", .impossible(missing)) }
            missing = 0
        default: throw BinlogFault("compression", .unknownCompression(compression))
        }
    }

    /// The next event; `nil` after the last.
    mutating func next() throws(BinlogFault) -> ByteBuffer? {
        guard try restore(EventHeader.size) else {
            guard restored.readableBytes == 0, missing == 0 else { throw BinlogFault("payload", .truncated) }
            return nil
        }
        let header = try restored.withCursor { (cursor) throws(BinlogFault) in try EventHeader(&cursor) }
        let size = Int(header.size)
        guard (EventHeader.size...EventHeader.sizeLimit).contains(size),
            UInt64(size) <= UInt64(restored.readableBytes) + missing
        else {
            throw BinlogFault("event size", .impossible(UInt64(size)))
        }
        guard try restore(size), let event = restored.readSlice(length: size) else {
            throw BinlogFault("payload", .truncated)
        }
        return event
    }

    /// Restores so many bytes, if there are.
    private mutating func restore(_ count: Int) throws(BinlogFault) -> Bool {
        while restored.readableBytes < count {
            guard let stream else { return false }
            // What was given out stays where it is; the rest moves to memory of its own.
            if restored.readerIndex > 0 {
                var rest = ByteBufferAllocator().buffer(capacity: restored.readableBytes + ZstdStream.step)
                rest.writeImmutableBuffer(restored)
                restored = rest
            }
            let before = restored.readableBytes
            guard try stream.restore(into: &restored) else { return false }
            let added = UInt64(restored.readableBytes - before)
            guard added <= missing else { throw BinlogFault("payload", .compression) }
            missing -= added
        }
        return true
    }
}

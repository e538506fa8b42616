import CZlib
package import NIOCore

/// The compressed part of an event of MariaDB: the text of a statement, or rows.
///
/// | Bytes | |
/// |---|---|
/// | 1 | bit 7 set, bits 4–6 the algorithm, 0 for zlib, bits 0–2 the number k of bytes of the length |
/// | k | the length of what was compressed, big endian |
/// | … | zlib's data |
enum CompressedPart {
    /// How much room is made for output at a time: 64 KiB.
    private static let step = 64 * 1024

    /// What was compressed.
    ///
    /// - Throws: ``BinlogFault`` if it is damaged. No more memory is taken than what comes out of the input.
    static func restore(_ part: ByteBuffer) throws(BinlogFault) -> ByteBuffer {
        var input = part
        guard let head = input.readInteger(as: UInt8.self) else { throw BinlogFault("compressed part", .truncated) }
        guard head & 0x80 != 0 else { throw BinlogFault("compressed part", .compression) }
        guard head & 0x70 == 0 else { throw BinlogFault("compressed part", .unknownCompression(UInt64(head >> 4 & 7))) }
        var length = 0
        for _ in 0..<head & 7 {
            guard let byte = input.readInteger(as: UInt8.self) else { throw BinlogFault("compressed part", .truncated) }
            length = length << 8 | Int(byte)
            guard length <= EventHeader.sizeLimit else {
                throw BinlogFault("compressed part", .impossible(UInt64(length)))
            }
        }
        guard let output = inflate(input, length: length) else { throw BinlogFault("compressed part", .compression) }
        return output
    }

    private static func inflate(_ input: ByteBuffer, length: Int) -> ByteBuffer? {
        var stream = unsafe z_stream()
        guard unsafe inflateInit_(&stream, zlibVersion(), Int32(MemoryLayout<z_stream>.size)) == Z_OK else {
            return nil
        }
        defer { unsafe inflateEnd(&stream) }
        var output = ByteBuffer()
        var status = Z_OK
        unsafe input.withUnsafeReadableBytes { bytes in
            // zlib reads only; its interface is older than `const`.
            let start = unsafe UnsafeMutableRawPointer(mutating: bytes.baseAddress)
            unsafe stream.next_in = start?.assumingMemoryBound(to: UInt8.self)
            unsafe stream.avail_in = UInt32(clamping: bytes.count)
            while status == Z_OK, output.readableBytes <= length {
                let room = min(step, length - output.readableBytes + 1)
                unsafe output.writeWithUnsafeMutableBytes(minimumWritableBytes: room) { space in
                    let room = UInt32(clamping: space.count)
                    unsafe stream.next_out = space.baseAddress?.assumingMemoryBound(to: UInt8.self)
                    unsafe stream.avail_out = room
                    status = unsafe CZlib.inflate(&stream, Z_NO_FLUSH)
                    return unsafe Int(room - stream.avail_out)
                }
            }
        }
        return status == Z_STREAM_END && output.readableBytes == length ? output : nil
    }
}

/// zlib's CRC-32, which events end with.
package struct EventChecksum: Sendable {
    private var value: UInt = 0

    /// The checksum of nothing.
    package init() {}

    /// The checksum of all bytes that were added.
    package var crc32: UInt32 { UInt32(truncatingIfNeeded: value) }

    /// Adds the readable bytes of a buffer.
    package mutating func add(_ bytes: ByteBuffer) {
        unsafe bytes.withUnsafeReadableBytes { unsafe add($0) }
    }

    mutating func add(_ bytes: UnsafeRawBufferPointer) {
        guard let start = bytes.baseAddress else { return }
        unsafe value = CZlib.crc32_z(value, start.assumingMemoryBound(to: UInt8.self), bytes.count)
    }
}

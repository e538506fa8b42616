import CZstd
import NIOCore

/// Restores what was compressed with Zstandard (RFC 8878), a part at a time.
///
/// `@unchecked Sendable`: the decoder that has it is the only user, and a decoder is used by one task at a time.
@safe final class ZstdStream: @unchecked Sendable {
    /// How much is restored at a time: 1 MiB.
    static let step = 1 << 20

    private let stream: OpaquePointer
    private var input: ByteBuffer

    init?(_ input: ByteBuffer) {
        guard let stream = unsafe ZSTD_createDCtx() else { return nil }
        unsafe self.stream = unsafe stream
        self.input = input
    }

    deinit { _ = unsafe ZSTD_freeDCtx(stream) }

    /// Restores up to ``step`` bytes.
    ///
    /// - Parameter output: Where they are added.
    /// - Returns: Whether there were any.
    /// - Throws: ``BinlogFault`` if the input is damaged, or ends too early.
    func restore(into output: inout ByteBuffer) throws(BinlogFault) -> Bool {
        let before = output.readableBytes
        while output.readableBytes == before, input.readableBytes > 0 {
            var state = 0
            var read = 0
            _ = unsafe input.withUnsafeReadableBytes { bytes in
                unsafe output.writeWithUnsafeMutableBytes(minimumWritableBytes: Self.step) { space in
                    var source = unsafe ZSTD_inBuffer(src: bytes.baseAddress, size: bytes.count, pos: 0)
                    var target = unsafe ZSTD_outBuffer(
                        dst: space.baseAddress,
                        size: min(space.count, Self.step),
                        pos: 0
                    )
                    state = unsafe ZSTD_decompressStream(stream, &target, &source)
                    read = unsafe source.pos
                    return unsafe target.pos
                }
            }
            guard ZSTD_isError(state) == 0 else { throw BinlogFault("payload", .compression) }
            input.moveReaderIndex(forwardBy: read)
            // A state that is not 0 says that the frame goes on.
            guard output.readableBytes > before || read > 0 else { throw BinlogFault("payload", .compression) }
            if input.readableBytes == 0, state != 0, output.readableBytes == before {
                throw BinlogFault("payload", .truncated)
            }
        }
        return output.readableBytes > before
    }
}

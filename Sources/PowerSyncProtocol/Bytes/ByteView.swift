package import NIOCore

/// A bounds-checked view of bytes that have another owner.
///
/// The decoders of this module read through this type only, so that every raw access is here. A view is valid inside
/// the closure that hands it out, and must not leave it. Reading outside of ``count`` is a mistake of this module, not
/// of the input, and stops the program instead of reading foreign memory.
@safe package struct ByteView {
    private let base: UnsafeRawPointer?
    /// The number of bytes.
    package let count: Int

    /// Creates a view of memory that stays valid and unchanged while the view is used.
    @unsafe package init(_ bytes: UnsafeRawBufferPointer) {
        unsafe self.base = bytes.baseAddress
        self.count = bytes.count
    }

    /// The byte at an offset, `0 ..< count`.
    package subscript(offset: Int) -> UInt8 {
        guard let base = unsafe base, offset >= 0, offset < count else {
            preconditionFailure("byte \(offset) of a view of \(count) bytes")
        }
        return unsafe base.load(fromByteOffset: offset, as: UInt8.self)
    }

    /// The bytes of a range, as a view of its own whose offsets start at 0.
    package subscript(range: Range<Int>) -> ByteView {
        unsafe ByteView(pointer(to: range))
    }

    /// The memory of a range.
    @unsafe package func pointer(to range: Range<Int>) -> UnsafeRawBufferPointer {
        precondition(
            range.lowerBound >= 0 && range.upperBound <= count,
            "bytes \(range) of a view of \(count) bytes"
        )
        return unsafe UnsafeRawBufferPointer(start: base.map { unsafe $0 + range.lowerBound }, count: range.count)
    }

    /// An integer of fixed width, least significant byte first.
    package func littleEndian<Integer: FixedWidthInteger & BitwiseCopyable>(
        at offset: Int,
        as type: Integer.Type = Integer.self
    ) -> Integer {
        let size = MemoryLayout<Integer>.size
        guard let base = unsafe base, offset >= 0, count >= size, offset <= count - size else {
            preconditionFailure("bytes \(offset)..<\(offset)+\(size) of a view of \(count) bytes")
        }
        return Integer(littleEndian: unsafe base.loadUnaligned(fromByteOffset: offset, as: Integer.self))
    }

    /// Whether the bytes are those of an ASCII literal.
    package func equals(_ literal: StaticString) -> Bool {
        guard count == literal.utf8CodeUnitCount else { return false }
        for index in 0..<count where unsafe self[index] != literal.utf8Start[index] { return false }
        return true
    }

    /// The bytes as text.
    ///
    /// The bytes have been validated as UTF-8 before; anything invalid would be replaced by U+FFFD.
    package var string: String {
        unsafe String(decoding: pointer(to: 0..<count), as: UTF8.self)
    }
}

extension ByteView {
    /// Calls `body` with a view of a string's UTF-8 bytes.
    package static func of<Result, Failure: Error>(
        _ text: String,
        _ body: (ByteView) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        var text = text
        // `withUTF8` rethrows any error; the result type keeps the error's type.
        let outcome: Swift.Result<Result, Failure> = text.withUTF8 { bytes in
            do throws(Failure) {
                return .success(try body(unsafe ByteView(UnsafeRawBufferPointer(bytes))))
            } catch {
                return .failure(error)
            }
        }
        return try outcome.get()
    }
}

extension ByteBuffer {
    /// Calls `body` with a view of the readable bytes.
    package func withByteView<Result, Failure: Error>(
        _ body: (ByteView) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        let outcome: Swift.Result<Result, Failure> = unsafe withUnsafeReadableBytes { bytes in
            do throws(Failure) {
                return .success(try body(unsafe ByteView(bytes)))
            } catch {
                return .failure(error)
            }
        }
        return try outcome.get()
    }
}

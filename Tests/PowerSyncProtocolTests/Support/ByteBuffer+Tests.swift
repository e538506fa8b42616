import NIOCore

extension ByteBuffer {
    /// The bytes of hexadecimal digits; white space is skipped.
    init(hex: String) {
        let digits = hex.compactMap(\.hexDigitValue)
        precondition(digits.count.isMultiple(of: 2), "odd number of digits")
        self.init(bytes: stride(from: 0, to: digits.count, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) })
    }

    /// The bytes of a hex dump: offset, bytes; no text column.
    init(dump: String) {
        let lines = dump.split(separator: "\n").map { $0.split(separator: " ").dropFirst().joined() }
        self.init(hex: lines.joined())
    }

    /// The readable bytes as text.
    var text: String { String(decoding: readableBytesView, as: UTF8.self) }

    /// The first bytes.
    func prefix(_ count: Int) -> ByteBuffer {
        ByteBuffer(bytes: readableBytesView.prefix(count))
    }

    /// The bytes after an offset.
    func suffix(from offset: Int) -> ByteBuffer {
        ByteBuffer(bytes: readableBytesView.dropFirst(offset))
    }
}

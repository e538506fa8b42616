import NIOCore

extension ByteBuffer {
    /// The bytes of hexadecimal digits; white space is skipped.
    init(hex: String) {
        let digits = hex.compactMap(\.hexDigitValue)
        precondition(digits.count.isMultiple(of: 2), "odd number of digits")
        self.init(bytes: stride(from: 0, to: digits.count, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) })
    }

    /// The bytes as digits, for comparing.
    var hex: String {
        readableBytesView.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }
}

/// A text that is written as the server prints it.
struct ServerText {
    private(set) var bytes: [UInt8] = []

    /// The text that a closure writes.
    static func make(_ write: (inout ServerText) -> Void) -> String {
        var text = ServerText()
        write(&text)
        return text.string
    }

    /// What was written; it is in UTF-8.
    var string: String { String(decoding: bytes, as: UTF8.self) }

    mutating func reserveCapacity(_ count: Int) { bytes.reserveCapacity(count) }

    mutating func write(_ byte: UInt8) { bytes.append(byte) }

    mutating func write(_ text: StaticString) {
        unsafe bytes.append(contentsOf: UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    mutating func write(_ text: String) { bytes.append(contentsOf: text.utf8) }

    mutating func write(contentsOf other: some Sequence<UInt8>) { bytes.append(contentsOf: other) }

    /// A byte as two hexadecimal digits in lower case.
    mutating func writeHex(_ byte: UInt8) {
        let digits: StaticString = "0123456789abcdef"
        unsafe bytes.append(digits.utf8Start[Int(byte >> 4)])
        unsafe bytes.append(digits.utf8Start[Int(byte & 15)])
    }

    /// The last digits of a number.
    mutating func write(_ number: UInt32, digits: Int) {
        bytes.append(contentsOf: repeatElement(48, count: digits))
        var rest = number
        for index in stride(from: bytes.count - 1, through: bytes.count - digits, by: -1) {
            bytes[index] = UInt8(truncatingIfNeeded: 48 + rest % 10)
            rest /= 10
        }
    }

    /// A number that is not negative, with zeros in front up to a width.
    mutating func write(_ number: Int, width: Int) {
        var divisor = 1
        for _ in 1..<max(width, 1) { divisor *= 10 }
        while number / divisor >= 10 { divisor *= 10 }
        while divisor > 0 {
            bytes.append(UInt8(truncatingIfNeeded: 48 + number / divisor % 10))
            divisor /= 10
        }
    }
}

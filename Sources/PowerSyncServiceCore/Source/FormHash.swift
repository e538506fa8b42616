/// A number for a list of texts, for ``SourceTableDescriptor/form``: another list has another one (FNV-1a, 64 bits).
package struct FormHash: Hashable, Sendable {
    private var value: UInt64 = 0xcbf2_9ce4_8422_2325

    /// Creates the number of no texts.
    package init() {}

    /// Adds a text; `nil` is another one than every text.
    package mutating func add(_ text: String?) {
        if let text {
            for byte in text.utf8 { add(byte) }
        } else {
            add(1)
        }
        add(0)
    }

    private mutating func add(_ byte: UInt8) {
        value = (value ^ UInt64(byte)) &* 0x100_0000_01b3
    }

    /// The number in hexadecimal digits.
    package var text: String { String(value, radix: 16) }
}

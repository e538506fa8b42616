/// Random UUIDs (version 4) in lower case, from the system's secure generator.
enum RandomUUID {
    static func make() -> String {
        var generator = SystemRandomNumberGenerator()
        let high = (generator.next() as UInt64) & ~0xf000 | 0x4000
        let low = (generator.next() as UInt64) & ~(0xc000 << 48) | (0x8000 << 48)
        let digits = Array((hexadecimal(high) + hexadecimal(low)).utf8)
        let parts = [0..<8, 8..<12, 12..<16, 16..<20, 20..<32]
        return parts.map { String(decoding: digits[$0], as: UTF8.self) }.joined(separator: "-")
    }

    private static func hexadecimal(_ value: UInt64) -> String {
        let digits = String(value, radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }
}

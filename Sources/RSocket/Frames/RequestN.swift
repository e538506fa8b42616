/// How many more payloads the requester asks for: 1 to 2^31 - 1.
package struct RequestN: Sendable, Hashable {
    /// The largest number, 2^31 - 1.
    package static let maximum = RequestN(unchecked: .max >> 1)

    /// The number.
    package let rawValue: UInt32

    /// Creates a number of payloads.
    ///
    /// - Returns: `nil` when the number is 0, or has more than 31 bits.
    package init?(rawValue: UInt32) {
        guard rawValue > 0, rawValue <= Self.maximum.rawValue else { return nil }
        self.rawValue = rawValue
    }

    /// The nearest number that can be asked for.
    package init(clamping count: Int) {
        rawValue = min(max(1, UInt32(clamping: count)), Self.maximum.rawValue)
    }

    private init(unchecked rawValue: UInt32) {
        self.rawValue = rawValue
    }
}

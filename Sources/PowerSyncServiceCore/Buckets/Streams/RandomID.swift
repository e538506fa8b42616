/// Ids that are unique, because they are random.
package enum RandomID {
    /// 16 random hexadecimal digits.
    package static func make() -> String {
        let digits = String(UInt64.random(in: .min ... .max), radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }
}

/// Why bytes are not a message of a replication connection, and where.
package struct PgoutputError: Error, Sendable, Hashable {
    /// What is wrong.
    package enum Reason: Sendable, Hashable {
        /// The message ends inside the field.
        case truncated
        /// A length or a count is negative.
        case negative(Int32)
        /// A length or a count is larger than what the rest of the message can hold.
        case tooLarge(Int32)
        /// A byte that stands for a choice is none of those that are known.
        case unknownByte(UInt8)
        /// Something follows after the message.
        case trailingBytes
        /// A row has more or fewer columns than its table.
        case columnCount(Int, expected: Int)
    }

    /// The message: `Update`, or `WAL data` for a frame.
    package let message: String
    /// The field: `relation`, or `new tuple, column 3, length`.
    package let field: String
    /// The offset of the byte where it was noticed, from the start of the message.
    package let offset: Int
    /// What is wrong.
    package let reason: Reason

    init(message: String, field: String, offset: Int, reason: Reason) {
        self.message = message
        self.field = field
        self.offset = offset
        self.reason = reason
    }
}

extension PgoutputError: CustomStringConvertible {
    package var description: String {
        let what =
            switch reason {
            case .truncated: "the message ends here"
            case .negative(let number): "the number \(number) is negative"
            case .tooLarge(let number): "the number \(number) is larger than the message"
            case .unknownByte(let byte): "the byte \(byte) is unknown"
            case .trailingBytes: "something follows after the message"
            case .columnCount(let count, let expected): "there are \(count) columns, and the table has \(expected)"
            }
        return "\(message), \(field), at byte \(offset): \(what)"
    }
}

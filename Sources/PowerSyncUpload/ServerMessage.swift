/// Messages of database servers without the values that they quote: a rejection has one as its reason, and apps log that.
package enum ServerMessage {
    /// A message of PostgreSQL: errors about data (class 22) quote the value, such as `invalid input syntax for type uuid: "…"`.
    ///
    /// - Parameters:
    ///   - message: The message, without details.
    ///   - state: The SQLSTATE.
    /// - Returns: The message; in class 22 with `…` for everything from the first quotation mark to the last one.
    package static func ofPostgres(_ message: String, state: String) -> String {
        state.hasPrefix("22") ? replacing(in: message, from: "\"", to: "\"") : message
    }

    /// Replaces what is between the first mark and the beginning of the last one.
    ///
    /// - Parameters:
    ///   - message: A message that quotes a value.
    ///   - first: What is before the value; without it, the message stays as it is.
    ///   - last: What is behind the value; without it, everything behind `first` is the value.
    /// - Returns: The message, with `…` for the value.
    package static func replacing(in message: String, from first: String, to last: String) -> String {
        let bytes = Array(message.utf8)
        guard let start = firstIndex(of: Array(first.utf8), in: bytes) else { return message }
        let begin = start + first.utf8.count
        guard let end = lastIndex(of: Array(last.utf8), in: bytes), end >= begin else {
            return String(decoding: bytes[..<begin], as: UTF8.self) + "…"
        }
        return String(decoding: bytes[..<begin], as: UTF8.self) + "…" + String(decoding: bytes[end...], as: UTF8.self)
    }

    private static func firstIndex(of mark: [UInt8], in bytes: [UInt8]) -> Int? {
        bytes.indices.first { bytes[$0...].starts(with: mark) }
    }

    private static func lastIndex(of mark: [UInt8], in bytes: [UInt8]) -> Int? {
        bytes.indices.last { bytes[$0...].starts(with: mark) }
    }
}

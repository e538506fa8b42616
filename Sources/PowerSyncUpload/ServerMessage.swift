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

    /// A message of MySQL or MariaDB: errors about values quote them, such as `Incorrect integer value: '…' for column 'n' at row 1`.
    ///
    /// - Parameters:
    ///   - message: The message.
    ///   - number: The number of the error.
    /// - Returns: The message, with `…` for the value.
    package static func ofMySQL(_ message: String, number: UInt16) -> String {
        guard quotingErrors.contains(number) else { return message }
        // What follows the value names a column or a key; a value may have quotation marks of its own.
        for end in ["' for column ", "' for key ", "' for function "] where message.contains(end) {
            return replacing(in: message, from: "'", to: end)
        }
        return replacing(in: message, from: "'", to: "'")
    }

    /// Duplicates, wrong values, dates, texts, and results of expressions.
    private static let quotingErrors: Set<UInt16> = [1062, 1292, 1366, 1367, 1411, 1525, 1586, 1690]

    /// Replaces what is between the first mark and the beginning of the last one.
    private static func replacing(in message: String, from first: String, to last: String) -> String {
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

import MySQLBinlog
import PowerSyncSyncConfig

/// Writes values of keys in statements.
enum MySQLKeyLiteral {
    /// The literal of a value, to be compared with its column under the rules of the column.
    ///
    /// - Parameters:
    ///   - value: A value of a key (``MySQLValueForm/keyValue(of:)``), not `NULL`.
    ///   - column: The column.
    /// - Returns: The literal; `nil` for a value that no row has in the column.
    static func literal(_ value: SQLValue, _ column: MySQLTable.Column) -> String? {
        switch (column.type.kind, value) {
        case (.integer, .integer(let number)), (.year, .integer(let number)): "\(number)"
        case (.integer, .text(let digits)): UInt64(digits).map { "\($0)" }
        case (.decimal, .text(let digits)): isNumber(digits) ? digits : nil
        // With an exponent, the server reads a double, and not a decimal.
        case (.float, .real(let number)): double(Double(Float(number)))
        case (.double, .real(let number)): double(number)
        case (.bit, .blob(let bytes)) where bytes.count <= 8: "\(bytes.reduce(UInt64(0)) { $0 << 8 | UInt64($1) })"
        case (.date, .text(let text)), (.dateTime, .text(let text)), (.timestamp, .text(let text)),
            (.time, .text(let text)), (.uuid, .text(let text)), (.inet4, .text(let text)), (.inet6, .text(let text)):
            isPlain(text) ? "'\(text)'" : nil
        // The server converts it to the charset of the column: it came from there.
        case (.char, .text(let text)), (.varchar, .text(let text)), (.text, .text(let text)),
            (.enumeration, .text(let text)), (.json, .text(let text)), (.unknown, .text(let text)):
            "_utf8mb4 X'\(hex(text.utf8))'"
        case (.binary, .blob(let bytes)), (.varbinary, .blob(let bytes)), (.blob, .blob(let bytes)):
            "X'\(hex(bytes))'"
        default: nil
        }
    }

    /// A condition that a row fulfils if a column of its key has a value: other rows may fulfil it, too.
    ///
    /// - Parameters:
    ///   - column: The column.
    ///   - value: A value of a key.
    /// - Returns: The condition; `nil` for a value that no row has in the column.
    static func equation(_ column: MySQLTable.Column, _ value: SQLValue) -> String? {
        if value == .null { return "\(column.quotedName) IS NULL" }
        switch column.type.kind {
        // What is found is compared afterwards, byte for byte.
        case .geometry, .vector, .set: return "\(column.quotedName) IS NOT NULL"
        case .json:
            return literal(value, column).map { "CAST(\(column.quotedName) AS CHAR CHARACTER SET utf8mb4) = \($0)" }
        case .float: return literal(value, column).map { "(\(column.quotedName) * 1e0) = \($0)" }
        default: return literal(value, column).map { "\(column.quotedName) = \($0)" }
        }
    }

    private static func double(_ number: Double) -> String {
        let text = number.description
        return text.contains("e") ? text : text + "e0"
    }

    private static func isNumber(_ text: String) -> Bool {
        text.utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) || ".-".utf8.contains($0) }
            && !text.isEmpty
    }

    /// Whether a text has nothing that ends a literal.
    private static func isPlain(_ text: String) -> Bool {
        text.utf8.allSatisfy { byte in
            (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
                || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(byte)
                || " :.-".utf8.contains(byte)
        }
    }

    static func hex(_ bytes: some Sequence<UInt8>) -> String {
        let digits = Array("0123456789ABCDEF".utf8)
        var text: [UInt8] = []
        for byte in bytes {
            text.append(digits[Int(byte >> 4)])
            text.append(digits[Int(byte & 15)])
        }
        return String(decoding: text, as: UTF8.self)
    }
}

import PowerSyncBackend
import PowerSyncProtocol
import PowerSyncUpload

/// Names and values in the text of statements, for a session with `NO_BACKSLASH_ESCAPES`.
enum MySQLText {
    /// A statement has more or fewer values than places for them.
    struct WrongNumberOfValues: Error, CustomStringConvertible {
        let places: Int
        let values: Int

        var description: String { "The statement has \(places) times “?”, and \(values) values." }
    }

    /// A name.
    static func identifier(_ name: String) -> String { quoted(name, UInt8(ascii: "`")) }

    /// A text.
    static func literal(_ text: String) -> String { quoted(text, UInt8(ascii: "'")) }

    private static func quoted(_ text: String, _ quote: UInt8) -> String {
        var quoted: [UInt8] = [quote]
        quoted.reserveCapacity(text.utf8.count + 2)
        for byte in text.utf8 {
            if byte == quote { quoted.append(quote) }
            quoted.append(byte)
        }
        quoted.append(quote)
        return String(decoding: quoted, as: UTF8.self)
    }

    /// The text of a value that ``UploadServer/text(of:for:in:)`` has made for a column.
    static func value(_ text: String?, for column: ServerColumn) -> String {
        guard let text else { return "NULL" }
        return switch column.kind {
        case .integer: text
        case .bytes: "X'\(text)'"
        default: literal(text)
        }
    }

    /// An id, which its column stores as it is; numbers without quotes, with which servers compare them as floating-point numbers.
    static func id(_ text: String, for column: ServerColumn) -> String {
        switch column.kind {
        case .integer, .decimal: text
        default: literal(text)
        }
    }

    /// A statement with values in place of each `?` that is in no text, name or comment.
    static func statement(_ sql: String, _ values: [JsonValue]) throws -> String {
        var text: [UInt8] = []
        var places = 0
        var rest = Array(sql.utf8)[...]
        while let byte = rest.first {
            if byte == UInt8(ascii: "?") {
                if places < values.count { text += Array(literal(values[places]).utf8) }
                places += 1
                rest = rest.dropFirst()
            } else {
                let length = lengthOfToken(rest)
                text += rest.prefix(length)
                rest = rest.dropFirst(length)
            }
        }
        guard places == values.count else { throw WrongNumberOfValues(places: places, values: values.count) }
        return String(decoding: text, as: UTF8.self)
    }

    private static func literal(_ value: JsonValue) -> String {
        switch value {
        case .null: "NULL"
        case .bool(let value): value ? "TRUE" : "FALSE"
        case .int(let value): String(value)
        case .double(let value): "\(value)"
        case .string(let value): literal(value)
        case .array, .object: literal(ExactJSON(value).text)
        }
    }

    /// How many bytes belong together: a text, a name, a comment, or one other byte.
    private static func lengthOfToken(_ rest: ArraySlice<UInt8>) -> Int {
        guard let first = rest.first else { return 0 }
        let second = rest.dropFirst().first
        switch (first, second) {
        case (UInt8(ascii: "'"), _), (UInt8(ascii: "\""), _), (UInt8(ascii: "`"), _):
            // A doubled quote begins the next text.
            return rest.dropFirst().firstIndex(of: first).map { $0 - rest.startIndex + 1 } ?? rest.count
        case (UInt8(ascii: "#"), _), (UInt8(ascii: "-"), UInt8(ascii: "-")):
            return rest.firstIndex(of: UInt8(ascii: "\n")).map { $0 - rest.startIndex + 1 } ?? rest.count
        case (UInt8(ascii: "/"), UInt8(ascii: "*")):
            var index = rest.startIndex + 2
            while index + 1 < rest.endIndex {
                if rest[index] == UInt8(ascii: "*"), rest[index + 1] == UInt8(ascii: "/") {
                    return index + 2 - rest.startIndex
                }
                index += 1
            }
            return rest.count
        default: return 1
        }
    }
}

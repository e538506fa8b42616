import PowerSyncProtocol

/// The text of an array, as PostgreSQL reads it: `{"a","b\"c",NULL,{"d"}}`.
enum ArrayText {
    /// The text of an array of texts.
    static func text(of values: some Sequence<String?>) -> String {
        "{\(values.map { $0.map(quoted) ?? "NULL" }.joined(separator: ","))}"
    }

    /// The text of an array of JSON; arrays in it are its further dimensions, objects are JSON text.
    static func text(of values: [ExactJSON]) -> String {
        let elements = values.map { value in
            switch value {
            case .null: "NULL"
            case .bool(let value): value ? "true" : "false"
            case .integer(let value): String(value)
            case .string(let value): quoted(value)
            case .array(let values): text(of: values)
            case .double, .object: quoted(value.text)
            }
        }
        return "{\(elements.joined(separator: ","))}"
    }

    private static func quoted(_ text: String) -> String {
        var quoted: [UInt8] = [UInt8(ascii: "\"")]
        quoted.reserveCapacity(text.utf8.count + 2)
        for byte in text.utf8 {
            if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") { quoted.append(UInt8(ascii: "\\")) }
            quoted.append(byte)
        }
        quoted.append(UInt8(ascii: "\""))
        return String(decoding: quoted, as: UTF8.self)
    }
}

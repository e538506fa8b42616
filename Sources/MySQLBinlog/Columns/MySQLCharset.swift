/// The charset of a text.
package enum MySQLCharset: Sendable, Hashable {
    case utf8mb4
    /// UTF-8 up to U+FFFF.
    case utf8mb3
    case ascii
    /// Windows-1252, where 81, 8D, 8F, 90 and 9D are U+0081 and so on.
    case latin1
    /// UTF-16 big endian, without pairs of surrogates.
    case ucs2
    /// UTF-16 big endian.
    case utf16
    case utf16le
    /// UTF-32 big endian.
    case utf32
    /// Bytes that are no text.
    case binary
    /// Another one, by the server's name: `gbk`. The server converts its texts.
    case other(String)

    /// The charset with the server's name: `utf8mb4`, `latin1`; `utf8` is `utf8mb3`.
    package init(name: String) {
        self =
            switch name.lowercased() {
            case "utf8mb4": .utf8mb4
            case "utf8mb3", "utf8": .utf8mb3
            case "ascii": .ascii
            case "latin1": .latin1
            case "ucs2": .ucs2
            case "utf16": .utf16
            case "utf16le": .utf16le
            case "utf32": .utf32
            case "binary": .binary
            case let name: .other(name)
            }
    }

    /// The server's name.
    package var name: String {
        switch self {
        case .utf8mb4: "utf8mb4"
        case .utf8mb3: "utf8mb3"
        case .ascii: "ascii"
        case .latin1: "latin1"
        case .ucs2: "ucs2"
        case .utf16: "utf16"
        case .utf16le: "utf16le"
        case .utf32: "utf32"
        case .binary: "binary"
        case .other(let name): name
        }
    }
}

extension MySQLCharset {
    /// Reads a text; one that is not valid, or in a charset that is not read here, is deferred.
    func read(_ cursor: inout ByteCursor, _ length: Int) throws(BinlogFault) -> MySQLCell {
        let start = cursor
        switch self {
        case .utf8mb4, .utf8mb3:
            if let text = try cursor.text("text", length) { return .text(text) }
        case .ascii, .latin1:
            if let text = try cursor.ascii("text", length) { return .text(text) }
        case .binary: return .bytes(try cursor.array("bytes", length))
        case .ucs2, .utf16, .utf16le, .utf32, .other: break
        }
        cursor = start
        let bytes = try cursor.array("text", length)
        return text(bytes).map { .text($0) } ?? .deferred(.text(bytes, charset: name))
    }
}

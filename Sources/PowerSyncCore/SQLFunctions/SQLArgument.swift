import GRDBSQLite

/// A value that SQLite passes to a function or virtual table.
///
/// Valid during that call only.
struct SQLArgument {
    /// The subtype of a text that a JSON function produced.
    static let jsonSubtype: UInt32 = 74

    private let value: OpaquePointer?

    init(_ value: OpaquePointer?) {
        self.value = value
    }

    var isNull: Bool { sqlite3_value_type(value) == SQLITE_NULL }
    var isText: Bool { sqlite3_value_type(value) == SQLITE_TEXT }

    /// Whether the value can be told as text without loss.
    var isTextOrNumber: Bool {
        switch sqlite3_value_type(value) {
        case SQLITE_TEXT, SQLITE_INTEGER, SQLITE_FLOAT: true
        default: false
        }
    }

    /// Whether the value is text that a JSON function produced, and is thus well-formed.
    var isKnownJSON: Bool { sqlite3_value_subtype(value) == Self.jsonSubtype }

    /// The value as an integer; 0 for NULL.
    var integer: Int64 { sqlite3_value_int64(value) }

    /// The UTF-8 bytes of the value converted to text; empty for NULL.
    ///
    /// The text may contain NUL.
    var bytes: UnsafeRawBufferPointer {
        let text = sqlite3_value_text(value)
        return UnsafeRawBufferPointer(start: text, count: text == nil ? 0 : Int(sqlite3_value_bytes(value)))
    }

    /// The value converted to text.
    var string: String { String(decoding: bytes, as: UTF8.self) }

    /// Whether the value is text of exactly these bytes.
    func isText(_ expected: StaticString) -> Bool {
        guard isText else { return false }
        let bytes = bytes
        return bytes.count == expected.utf8CodeUnitCount
            && expected.withUTF8Buffer { bytes.elementsEqual($0) }
    }

    /// Binds the text of the value, without copying it.
    func bindText(to statement: OpaquePointer, at index: Int32) {
        let bytes = bytes
        sqlite3_bind_text64(
            statement,
            index,
            bytes.baseAddress?.assumingMemoryBound(to: CChar.self),
            UInt64(bytes.count),
            nil,
            UInt8(SQLITE_UTF8)
        )
    }
}

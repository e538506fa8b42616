import GRDBSQLite
import PowerSyncProtocol

/// A value that SQLite passes to a function or virtual table.
///
/// Valid during that call only.
///
/// `@safe`: it does not leave the call that SQLite made.
@safe struct SQLArgument {
    /// The subtype of a text that a JSON function produced.
    static let jsonSubtype: UInt32 = 74

    private let value: OpaquePointer?

    init(_ value: OpaquePointer?) {
        unsafe self.value = value
    }

    var isNull: Bool { unsafe sqlite3_value_type(value) == SQLITE_NULL }
    var isText: Bool { unsafe sqlite3_value_type(value) == SQLITE_TEXT }

    /// A value of one of SQLite's storage classes.
    ///
    /// `@safe`: it reads no bytes; who does says `unsafe`.
    @safe enum StorageClass {
        case null
        case integer(Int64)
        case real(Double)
        /// The UTF-8 bytes, or what is there instead of UTF-8.
        case text(UnsafeRawBufferPointer)
        case blob
    }

    /// The value as it is.
    var storageClass: StorageClass {
        switch unsafe sqlite3_value_type(value) {
        case SQLITE_TEXT: unsafe .text(bytes)
        case SQLITE_INTEGER: unsafe .integer(sqlite3_value_int64(value))
        case SQLITE_FLOAT: unsafe .real(sqlite3_value_double(value))
        case SQLITE_BLOB: .blob
        default: .null
        }
    }

    /// Whether two values have the same storage class and the same bits.
    ///
    /// Zeros are the same with either sign: SQLite drops the sign of each zero that an update hands over.
    func isSame(as other: SQLArgument) -> Bool {
        let type = unsafe sqlite3_value_type(value)
        guard unsafe type == sqlite3_value_type(other.value) else { return false }
        switch type {
        case SQLITE_TEXT: return unsafe bytes.hasBytes(of: other.bytes)
        case SQLITE_INTEGER: return unsafe sqlite3_value_int64(value) == sqlite3_value_int64(other.value)
        case SQLITE_FLOAT:
            // There is no NaN in SQLite.
            return unsafe sqlite3_value_double(value) == sqlite3_value_double(other.value)
        case SQLITE_BLOB: return unsafe blob.hasBytes(of: other.blob)
        default: return true
        }
    }

    private var blob: UnsafeRawBufferPointer {
        unsafe UnsafeRawBufferPointer(start: sqlite3_value_blob(value), count: Int(sqlite3_value_bytes(value)))
    }

    /// A number as text: the digits of an integer, the shortest text of a real, `Infinity` or `-Infinity`.
    var numberText: String {
        switch storageClass {
        case .integer(let value): String(value)
        case .real(let value) where value.isFinite: JSONText.number(value)
        case .real(let value): value < 0 ? "-Infinity" : "Infinity"
        case .null, .text, .blob: ""
        }
    }

    /// The value as an integer; 0 for NULL.
    var integer: Int64 { unsafe sqlite3_value_int64(value) }

    /// The UTF-8 bytes of the value converted to text; empty for NULL.
    ///
    /// The text may contain NUL.
    var bytes: UnsafeRawBufferPointer {
        let text = unsafe sqlite3_value_text(value)
        return unsafe UnsafeRawBufferPointer(start: text, count: text == nil ? 0 : Int(sqlite3_value_bytes(value)))
    }

    /// The value converted to text.
    var string: String { unsafe String(decoding: bytes, as: UTF8.self) }

    /// Whether the value is text of exactly these bytes.
    func isText(_ expected: StaticString) -> Bool {
        guard isText else { return false }
        let bytes = unsafe bytes
        return bytes.count == expected.utf8CodeUnitCount
            && expected.withUTF8Buffer { unsafe bytes.elementsEqual($0) }
    }
}

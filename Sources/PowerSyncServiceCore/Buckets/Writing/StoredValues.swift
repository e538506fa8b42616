import NIOCore
package import PowerSyncSyncConfig

/// The binary form of values in the bucket storage.
///
/// Never on the wire.
///
///     list      = count (UInt32) item…
///     text      = length (UInt32) UTF-8 bytes
///     value     = 0                      NULL
///               | 1 Int64                INTEGER
///               | 2 Int64 (bit pattern)  REAL
///               | 3 text                 TEXT
///               | 4 length bytes         BLOB
///     row       = list of value
///
/// All integers are little-endian. Used for outputs of parameter indexes (a list of rows) and snapshot positions (a row).
/// Row states have a form of their own, see ``StoredRow``.
package enum StoredValues {
    /// A stored value that ends too early or has an unknown tag.
    package struct Corruption: Error {
        /// Creates an error.
        package init() {}
    }

    /// Encodes the outputs of a parameter entry.
    package static func encode(_ rows: [ParameterRow]) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.appendCount(rows.count)
        for row in rows { bytes.appendValues(row.values) }
        return bytes
    }

    /// Decodes the outputs of a parameter entry.
    package static func decodeParameterRows(_ bytes: UnsafeRawBufferPointer) throws(Corruption) -> [ParameterRow] {
        var buffer = unsafe ByteBuffer(bytes: bytes)
        var rows: [ParameterRow] = []
        for _ in 0..<(try buffer.readCount()) {
            rows.append(ParameterRow(values: try buffer.readValues()))
        }
        return rows
    }
}

extension SnapshotKey {
    /// A position from the values of a key.
    package init(_ values: [SQLValue]) {
        var bytes: [UInt8] = []
        bytes.appendValues(values)
        self.init(rawValue: bytes)
    }

    /// The values of the key.
    package func values() throws(StoredValues.Corruption) -> [SQLValue] {
        var buffer = ByteBuffer(bytes: rawValue)
        return try buffer.readValues()
    }
}

/// Encoding. Arrays rather than buffers: the outputs of every row of a parameter table are written.
extension [UInt8] {
    /// Appends the number of items of a list.
    mutating func appendCount(_ count: Int) {
        let count = UInt32(truncatingIfNeeded: count)
        append(UInt8(truncatingIfNeeded: count))
        append(UInt8(truncatingIfNeeded: count >> 8))
        append(UInt8(truncatingIfNeeded: count >> 16))
        append(UInt8(truncatingIfNeeded: count >> 24))
    }

    /// Appends a text.
    package mutating func appendText(_ text: String) {
        appendCount(text.utf8.count)
        append(contentsOf: text.utf8)
    }

    fileprivate mutating func appendValues(_ values: [SQLValue]) {
        appendCount(values.count)
        for value in values {
            switch value {
            case .null:
                append(0)
            case .integer(let integer):
                append(1)
                appendWord(UInt64(bitPattern: integer))
            case .real(let number):
                append(2)
                appendWord(number.bitPattern)
            case .text(let text):
                append(3)
                appendText(text)
            case .blob(let bytes):
                append(4)
                appendCount(bytes.count)
                append(contentsOf: bytes)
            }
        }
    }

    private mutating func appendWord(_ word: UInt64) {
        for shift in stride(from: 0, to: 64, by: 8) { append(UInt8(truncatingIfNeeded: word >> UInt64(shift))) }
    }
}

/// Decoding.
extension ByteBuffer {
    /// Reads the number of items of a list.
    mutating func readCount() throws(StoredValues.Corruption) -> Int {
        guard let count = readInteger(endianness: .little, as: UInt32.self) else { throw StoredValues.Corruption() }
        return Int(count)
    }

    /// Reads a text.
    mutating func readText() throws(StoredValues.Corruption) -> String {
        guard let text = readString(length: try readCount()) else { throw StoredValues.Corruption() }
        return text
    }

    fileprivate mutating func readValues() throws(StoredValues.Corruption) -> [SQLValue] {
        var values: [SQLValue] = []
        for _ in 0..<(try readCount()) {
            values.append(try readValue())
        }
        return values
    }

    private mutating func readValue() throws(StoredValues.Corruption) -> SQLValue {
        switch readInteger(as: UInt8.self) {
        case 0: return .null
        case 1:
            if let integer = readInteger(endianness: .little, as: Int64.self) { return .integer(integer) }
        case 2:
            if let bits = readInteger(endianness: .little, as: UInt64.self) { return .real(Double(bitPattern: bits)) }
        case 3: return .text(try readText())
        case 4:
            if let bytes = readBytes(length: try readCount()) { return .blob(bytes) }
        default: break
        }
        throw StoredValues.Corruption()
    }
}

/// A column of a table as the log has it.
package struct LoggedColumn: Sendable, Hashable {
    /// The server's number of the type; of an `ENUM` and a `SET` the one that is packed into the metadata.
    package var type: BinlogColumnType
    /// What else a value depends on, by type; 0 where nothing does.
    ///
    /// | Type | |
    /// |---|---|
    /// | `VARCHAR` | the most bytes of a value |
    /// | `CHAR`, `BINARY`, `UUID`, `INET4`, `INET6` | the same |
    /// | `ENUM`, `SET` | the bytes of a value |
    /// | `BLOB` and `TEXT`, `JSON`, `GEOMETRY`, `VECTOR` | the bytes of a length |
    /// | `DECIMAL` | precision × 256 + scale |
    /// | `BIT` | the bits |
    /// | `TIME`, `DATETIME`, `TIMESTAMP` | the digits of fractions of seconds |
    package var metadata: Int
    /// Whether a number has no sign; `nil` where the log does not say.
    package var isUnsigned: Bool?
    /// The number of the collation of a text; 63 is `binary`; `nil` where the log does not say.
    package var collation: UInt32?
    /// The name; `nil` where the log does not say.
    package var name: String?
    /// The labels of an `ENUM` or a `SET`, in the charset of the column; `nil` where the log does not say.
    package var labels: [[UInt8]]?
}

extension LoggedColumn {
    /// The number of the collation `binary`.
    package static let binaryCollation: UInt32 = 63

    /// Whether the column can be the one that the catalogue describes.
    ///
    /// Lengths of texts do not matter, as a value is read by what the log says of them. What the log does not say fits.
    ///
    /// - Parameters:
    ///   - description: What the catalogue says.
    ///   - charset: The charset of a collation; `nil` for one that is not known.
    /// - Returns: Whether it can.
    package func fits(_ description: ColumnDescription, charset: (UInt32) -> MySQLCharset?) -> Bool {
        if let name, name != description.name { return false }
        let kind = description.type.kind
        switch kind {
        case .integer(let bytes):
            return integerBytes == bytes && (isUnsigned ?? description.type.isUnsigned) == description.type.isUnsigned
        case .float: return type == .float
        case .double: return type == .double
        case .decimal(let precision, let scale): return type == .newDecimal && metadata == precision << 8 | scale
        case .bit(let count): return type == .bit && metadata == count
        case .year: return type == .year
        case .date: return type == .date
        case .time(let digits): return type == .time || type == .time2 && metadata == digits
        case .dateTime(let digits): return type == .dateTime || type == .dateTime2 && metadata == digits
        case .timestamp(let digits): return type == .timestamp || type == .timestamp2 && metadata == digits
        case .char: return type == .string && isBinary != true
        case .binary(let length): return type == .string && isBinary != false && metadata == length
        case .varchar: return isVariable && isBinary != true
        case .varbinary: return isVariable && isBinary != false
        case .text: return isBlob && isBinary != true
        case .blob: return isBlob && isBinary != false
        case .enumeration(let labels):
            return type == .enumeration && hasLabels(labels, bytes: labels.count < 256 ? 1 : 2, charset)
        case .set(let labels):
            let bytes = (labels.count + 7) / 8
            return type == .set && hasLabels(labels, bytes: bytes > 4 ? 8 : bytes, charset)
        case .json: return type == .json
        case .geometry: return type == .geometry
        case .vector: return type == .vector || isVariable
        case .uuid, .inet6: return type == .string && metadata == 16
        case .inet4: return type == .string && metadata == 4
        case .unknown: return true
        }
    }

    private var integerBytes: Int? {
        switch type {
        case .tiny: 1
        case .short: 2
        case .int24: 3
        case .long: 4
        case .longlong: 8
        default: nil
        }
    }

    private var isVariable: Bool { type == .varchar || type == .varString || type == .varcharCompressed }
    private var isBlob: Bool { type == .blob || type == .blobCompressed }
    private var isBinary: Bool? { collation.map { $0 == Self.binaryCollation } }

    private func hasLabels(_ expected: [String], bytes: Int, _ charset: (UInt32) -> MySQLCharset?) -> Bool {
        guard metadata == bytes else { return false }
        guard let labels else { return true }
        guard labels.count == expected.count else { return false }
        guard let charset = collation.flatMap(charset) else { return true }
        // Labels in a charset that is not read here are taken for those of the catalogue.
        return zip(labels, expected).allSatisfy { label, expected in charset.text(label).map { $0 == expected } ?? true
        }
    }
}

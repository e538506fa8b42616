import PowerSyncSyncConfig

/// How rows are found by the values of a foreign key (``Cascade``): by an entry in the index of parameters, under a name that no sync
/// config has.
///
/// A foreign key compares texts under a collation, which the storage does not know. So each row is kept under a simpler value, which all
/// values have that a collation takes for equal; rows that are found and have another value are harmless.
///
///     number              itself; 7.0 is 7
///     bytes               themselves
///     ASCII               letters in lower case, j as i and v as u, without control characters and spaces at the end
///     any other text      *
///
/// Characters beyond ASCII may be equal to any others: a text with one is kept under `*`, and `*` is looked for besides each other value.
enum ReferenceLookup {
    /// The lookup under which a row is kept.
    ///
    /// - Parameters:
    ///   - values: What the row has in the columns of the foreign key.
    ///   - columns: The columns.
    ///   - tableID: The id of the record of the table.
    /// - Returns: The lookup; `nil` for a row that refers to nothing, as one of the values is `NULL`.
    static func entry(_ values: [SQLValue], in columns: [String], ofTable tableID: String) -> ParameterLookup? {
        guard !values.contains(.null) else { return nil }
        return lookup(values.map { simplified($0) ?? other }, columns, tableID)
    }

    /// The lookups under which all rows are that refer to a row.
    ///
    /// - Parameters:
    ///   - values: What the row that is referred to has.
    ///   - columns: The columns of the foreign key.
    ///   - tableID: The id of the record of the table with the key.
    /// - Returns: The lookups; `nil` when all rows of the table have to be looked at, none for values with `NULL`.
    static func lookups(_ values: [SQLValue], in columns: [String], ofTable tableID: String) -> [ParameterLookup]? {
        guard !values.contains(.null) else { return [] }
        var lists: [[String]] = [[]]
        for value in values {
            guard let simplified = simplified(value) else { return nil }
            var options = [simplified]
            if case .text = value { options.append(other) }
            lists = lists.flatMap { list in options.map { list + [$0] } }
            guard lists.count <= maximumLists else { return nil }
        }
        return lists.map { lookup($0, columns, tableID) }
    }

    /// Four texts, each as it is and as any other text.
    private static let maximumLists = 16
    private static let other = "*"

    /// The value as rows are kept under it; `nil` for a text that is not ASCII.
    private static func simplified(_ value: SQLValue) -> String? {
        switch value {
        case .null: "n"
        case .integer(let number): "i\(number)"
        case .real(let number): Int64(exactly: number).map { "i\($0)" } ?? "r\(number.bitPattern)"
        case .blob(let bytes): "b" + bytes.map { String($0, radix: 16) }.joined(separator: ",")
        case .text(let text): simplified(text).map { "t" + $0 }
        }
    }

    private static func simplified(_ text: String) -> String? {
        var bytes: [UInt8] = []
        for byte in text.utf8 {
            switch byte {
            case 0x80...: return nil
            case ..<0x20, 0x7f: continue
            case UInt8(ascii: "J"), UInt8(ascii: "j"): bytes.append(UInt8(ascii: "i"))
            case UInt8(ascii: "V"), UInt8(ascii: "v"): bytes.append(UInt8(ascii: "u"))
            case UInt8(ascii: "A")...UInt8(ascii: "Z"): bytes.append(byte + 0x20)
            default: bytes.append(byte)
            }
        }
        while bytes.last == UInt8(ascii: " ") { bytes.removeLast() }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// The names of other lookups begin with a number.
    private static func lookup(_ values: [String], _ columns: [String], _ tableID: String) -> ParameterLookup {
        let parts = ([tableID] + columns + values).map { "\($0.utf8.count):\($0)" }
        return ParameterLookup(rawValue: "foreign key " + parts.joined())
    }
}

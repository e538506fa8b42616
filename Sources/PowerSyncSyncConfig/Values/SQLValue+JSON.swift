import PowerSyncProtocol

/// JSON texts of values, written byte by byte into a buffer because every synced row passes here.
///
/// Integers are digits, reals have the forms of ``RealText``. In texts only `"`, `\` and control characters are escaped
/// (docs/sync-config.md "Rows to buckets").
extension SQLValue {
    /// Appends the value as it appears in row data.
    ///
    /// - Returns: `false`, with nothing appended, for bytes: they are left out of rows.
    package func appendJSON(to buffer: inout [UInt8]) -> Bool {
        switch self {
        case .null:
            buffer.append(contentsOf: "null".utf8)
        case .integer(let integer):
            buffer.append(contentsOf: String(integer).utf8)
        case .real(let number):
            buffer.append(contentsOf: RealText.json(number).utf8)
        case .text(let text):
            JSONText.appendString(text, to: &buffer)
        case .blob:
            return false
        }
        return true
    }

    /// Appends the JSON array of normalised key values, as it appears in bucket names and lookups.
    ///
    /// Numbers have no mark of their type.
    static func appendKeyArray(_ key: [SQLValue], to buffer: inout [UInt8]) {
        buffer.append(UInt8(ascii: "["))
        for (position, value) in key.enumerated() {
            if position > 0 { buffer.append(UInt8(ascii: ",")) }
            if case .real(let number) = value {
                buffer.append(contentsOf: RealText.plain(number).utf8)
            } else {
                _ = value.appendJSON(to: &buffer)
            }
        }
        buffer.append(UInt8(ascii: "]"))
    }

    /// The value as the text of a row id: empty for `NULL`, NaN and bytes.
    var idText: String {
        switch self {
        case .null, .blob: ""
        case .integer(let integer): String(integer)
        case .text(let text): text
        case .real(let number): number.isNaN ? "" : RealText.plain(number)
        }
    }
}

extension SQLValue: CustomStringConvertible {
    /// The JSON form, with bytes as hexadecimal digits like `x'00ff'`.
    package var description: String {
        if case .blob(let bytes) = self { return "x'\(bytes.hexadecimal)'" }
        var buffer: [UInt8] = []
        _ = appendJSON(to: &buffer)
        return String(decoding: buffer, as: UTF8.self)
    }
}

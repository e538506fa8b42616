import PowerSyncProtocol

/// Repairs oplog keys of old JavaScript clients, which encoded the subkey as JSON (docs/database.md "Old oplog keys"):
/// `items/1/"sub"` becomes `items/1/sub`.
enum OplogKeyRepair {
    /// The repaired key; `nil` when the key does not end in a JSON string.
    static func repaired(_ key: UnsafeRawBufferPointer) -> [UInt8]? {
        guard let last = key.indices.last, key[last] == UInt8(ascii: "\"") else { return nil }
        // The opening quote is the nearest one before the last that is not escaped.
        var start = last
        repeat {
            guard let quote = key[..<start].lastIndex(of: UInt8(ascii: "\"")) else { return nil }
            start = quote
        } while isEscaped(start, in: key)
        var scanner = JSONScanner(UnsafeRawBufferPointer(rebasing: key[start...]))
        guard let subkey = try? scanner.readString() else { return nil }
        return Array(key[..<start]) + subkey.unescapedBytes
    }

    /// Whether a backslash stands before a quote, and no other one before that.
    private static func isEscaped(_ quote: Int, in key: UnsafeRawBufferPointer) -> Bool {
        guard quote > 0, key[quote - 1] == UInt8(ascii: "\\") else { return false }
        return quote < 2 || key[quote - 2] != UInt8(ascii: "\\")
    }
}

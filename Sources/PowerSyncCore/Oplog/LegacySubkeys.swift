import GRDB
import PowerSyncProtocol

/// Repairs keys of `ps_oplog` that old JavaScript clients wrote (docs/database.md "Old oplog keys").
///
/// Their third component is a JSON string literal: `todos/1/"s-1"` stands for `todos/1/s-1`. The marker
/// `powersync_js_migrated_subkeys` in `ps_kv` says that this was done; it is also set when there was nothing to do, so
/// that keys which merely end in a quotation mark are not touched later.
enum LegacySubkeys {
    /// Repairs the keys unless the marker says that they are right.
    static func repair(_ db: Database) throws {
        guard try KeyValueStore.integer(db, .didRepairOplogKeys) == nil else { return }
        // Whether LIKE matches blobs depends on the build of SQLite.
        try db.cachedStatement(
            sql: """
                UPDATE ps_oplog SET key = powersync_remove_duplicate_key_encoding(key)
                WHERE typeof(key) = 'text' AND key LIKE '%"' AND powersync_remove_duplicate_key_encoding(key) IS NOT NULL
                """
        ).execute()
        try KeyValueStore.set(db, .didRepairOplogKeys, to: "1")
    }

    /// The key with its trailing string literal decoded; `nil` when it does not end in one.
    static func repaired(_ key: UnsafeRawBufferPointer) -> [UInt8]? {
        guard let last = key.indices.last, unsafe key[last] == quote else { return nil }
        // The literal begins at the nearest quotation mark before that is not escaped.
        var start = last
        repeat {
            guard let previous = unsafe key[..<start].lastIndex(of: quote) else { return nil }
            start = previous
        } while unsafe isEscaped(start, in: key)
        var scanner = unsafe JSONScanner(UnsafeRawBufferPointer(rebasing: key[start...]))
        guard let subkey = try? scanner.readString() else { return nil }
        return unsafe Array(key[..<start]) + subkey.unescapedBytes
    }

    private static let quote = UInt8(ascii: "\"")

    /// Whether a character follows an odd number of backslashes; pairs of them stand for themselves.
    private static func isEscaped(_ index: Int, in key: UnsafeRawBufferPointer) -> Bool {
        unsafe !key[..<index].reversed().prefix { $0 == UInt8(ascii: "\\") }.count.isMultiple(of: 2)
    }
}

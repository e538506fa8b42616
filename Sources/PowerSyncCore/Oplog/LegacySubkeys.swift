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
        guard try KeyValueStore.integer(.didRepairOplogKeys, db) == nil else { return }
        // Whether LIKE matches blobs depends on the build of SQLite.
        let rows = try Row.fetchAll(
            db,
            sql: "SELECT rowid, key FROM ps_oplog WHERE typeof(key) = 'text' AND key LIKE '%\"'"
        )
        let update = try db.cachedStatement(sql: "UPDATE ps_oplog SET key = ? WHERE rowid = ?")
        for row in rows {
            let rowID: Int64 = try row.stored(0, "ps_oplog.rowid")
            guard let key = try repaired(row.stored(1, "ps_oplog.key")) else { continue }
            try update.execute(arguments: [key, rowID])
        }
        try KeyValueStore.set(.didRepairOplogKeys, to: "1", db)
    }

    /// The key with its trailing string literal decoded; `nil` when it does not end in one.
    static func repaired(_ key: String) -> String? {
        let bytes = Array(key.utf8)
        guard bytes.count >= 2, bytes.last == quote, let start = literalStart(in: bytes) else { return nil }
        let literal = String(decoding: bytes[start...], as: UTF8.self)
        guard case .string(let subkey) = try? JSONValue(parsing: literal) else { return nil }
        return String(decoding: bytes[..<start], as: UTF8.self) + subkey
    }

    private static let quote = UInt8(ascii: "\"")

    /// The position of the first quotation mark, going backwards from the final one, that is not escaped.
    private static func literalStart(in bytes: [UInt8]) -> Int? {
        var index = bytes.count - 2
        while index >= 0 {
            if bytes[index] == quote {
                let backslashes = bytes[..<index].reversed().prefix { $0 == UInt8(ascii: "\\") }.count
                if backslashes.isMultiple(of: 2) { return index }
            }
            index -= 1
        }
        return nil
    }
}

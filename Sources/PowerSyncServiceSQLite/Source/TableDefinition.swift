import Foundation
import GRDB
import PowerSyncSQLite
import PowerSyncServiceCore

/// The columns, the primary key and the unique indexes of a table, as far as change capture depends on them.
struct TableDefinition: Sendable, Equatable {
    /// The name of the table.
    var name: String
    /// All columns in declared order; hidden ones left out.
    var columns: [String]
    /// The columns of the primary key, in its order.
    var key: [SourceTableDescriptor.IdentityColumn]
    /// How the index of the primary key compares its columns, which need not be how they compare by themselves.
    ///
    /// Empty when the key is the number of the row, which has no index.
    var keyCollations: [String: String]
    /// Indexes by which `REPLACE` may delete rows that have another key.
    var uniqueIndexes: [UniqueIndex]
    /// A number of rows by which it may, too.
    var rowID: String?
    /// What columns are that must not be NULL and are written as NULL by `REPLACE`, in SQL.
    var defaults: [String: String]

    /// Whether every row can be identified by a key that fits the log.
    var canBeCaptured: Bool { !key.isEmpty && key.count <= ChangeCapture.maximumKeyColumns }

    /// The stored form: a table with another text is another table.
    ///
    /// Indexes do not matter.
    var text: String {
        struct Stored: Encodable {
            var columns: [String]
            var key: [SourceTableDescriptor.IdentityColumn]
        }
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        // Encoding strings into memory does not fail; an empty text would only copy the table again.
        return (try? encoder.encode(Stored(columns: columns, key: key))).map { String(decoding: $0, as: UTF8.self) }
            ?? ""
    }

    /// Reads the definition of a table.
    init(of table: String, _ db: Database) throws {
        name = table
        let columns = try Row.fetchAll(
            db,
            sql: """
                SELECT name, type, pk, "notnull", dflt_value FROM pragma_table_xinfo(?) WHERE hidden <> 1 ORDER BY cid
                """,
            arguments: [table]
        )
        self.columns = columns.map { $0["name"] }
        key =
            columns
            .map { (position: $0["pk"] as Int, name: $0["name"] as String, type: $0["type"] as String) }
            .filter { $0.position > 0 }
            .sorted { $0.position < $1.position }
            .map { SourceTableDescriptor.IdentityColumn(name: $0.name, type: $0.type) }
        keyCollations = try Self.keyCollations(of: table, db)
        uniqueIndexes = try UniqueIndex.all(of: table, db)
        rowID = try Self.rowID(of: table, columns: columns, db)
        defaults = columns.reduce(into: [:]) { defaults, column in
            guard column["notnull"], let text = column["dflt_value"] as String? else { return }
            defaults[column["name"]] = DefaultValue.expression(text)
        }
    }

    private static func keyCollations(of table: String, _ db: Database) throws -> [String: String] {
        let columns = try Row.fetchAll(
            db,
            sql: """
                SELECT x.name, x.coll FROM pragma_index_list(?) AS l, pragma_index_xinfo(l.name) AS x
                WHERE l.origin = 'pk' AND x.key = 1
                """,
            arguments: [table]
        )
        return columns.reduce(into: [:]) { collations, column in
            collations[column["name"] as String] = column["coll"] as String
        }
    }

    /// The name under which rows of the table have a number that is not part of their key; `nil` when there is none.
    ///
    /// Such a number can be written, too, and then replaces the row that has it.
    private static func rowID(of table: String, columns: [Row], _ db: Database) throws -> String? {
        let hasRowID = try Bool.fetchOne(
            db,
            sql: "SELECT wr = 0 FROM pragma_table_list WHERE schema = 'main' AND name = ?",
            arguments: [table]
        )
        let hasKeyIndex = try Bool.fetchOne(
            db,
            sql: "SELECT 1 FROM pragma_index_list(?) WHERE origin = 'pk'",
            arguments: [table]
        )
        // Without an index, the key is the number.
        guard hasRowID == true, hasKeyIndex == true else { return nil }
        let names = Set(columns.map { ($0["name"] as String).lowercased() })
        return ["rowid", "_rowid_", "oid"].first { !names.contains($0) }
    }
}

/// What `REPLACE` stores instead of NULL in columns that must not be NULL, in SQL.
enum DefaultValue {
    /// The expression for the text that SQLite keeps of a default.
    static func expression(_ text: String) -> String {
        guard let first = text.utf8.first else { return "NULL" }
        switch first {
        case UInt8(ascii: "\""), UInt8(ascii: "`"), UInt8(ascii: "["):
            // As a default, a name is a text.
            let mark = String(UnicodeScalar(first))
            let name = String(text.dropFirst().dropLast())
            return SQLText.literal(first == UInt8(ascii: "[") ? name : name.replacing(mark + mark, with: mark))
        default: break
        }
        let isWord = text.utf8.allSatisfy { byte in
            byte == UInt8(ascii: "_") || byte >= 0x80 || UnicodeScalar(byte).properties.isAlphabetic
                || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
        }
        let values = ["CURRENT_TIME", "CURRENT_DATE", "CURRENT_TIMESTAMP", "TRUE", "FALSE", "NULL"]
        let isNumber = (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(first)
        return isWord && !isNumber && !values.contains(text.uppercased()) ? SQLText.literal(text) : "(\(text)\n)"
    }
}

import Foundation
import GRDB
import PowerSyncServiceCore

/// The columns, the primary key and the unique indexes of a table, as far as change capture depends on them.
struct TableDefinition: Sendable, Equatable {
    /// The name of the table.
    var name: String
    /// All columns in declared order; hidden ones left out.
    var columns: [String]
    /// The columns of the primary key, in its order.
    var key: [SourceTableDescriptor.IdentityColumn]
    /// The columns of indexes by which `INSERT OR REPLACE` may delete rows that have another key.
    var uniqueColumns: [[String]]

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
            sql: "SELECT name, type, pk FROM pragma_table_xinfo(?) WHERE hidden <> 1 ORDER BY cid",
            arguments: [table]
        )
        self.columns = columns.map { $0["name"] }
        key =
            columns
            .map { (position: $0["pk"] as Int, name: $0["name"] as String, type: $0["type"] as String) }
            .filter { $0.position > 0 }
            .sorted { $0.position < $1.position }
            .map { SourceTableDescriptor.IdentityColumn(name: $0.name, type: $0.type) }
        uniqueColumns = try Self.uniqueColumns(of: table, db)
    }

    private static func uniqueColumns(of table: String, _ db: Database) throws -> [[String]] {
        let indexes = try Row.fetchAll(
            db,
            sql: """
                SELECT name, origin FROM pragma_index_list(?) WHERE "unique" = 1 ORDER BY name
                """,
            arguments: [table]
        )
        return try indexes.compactMap { index in
            let columns = try Row.fetchAll(
                db,
                sql: "SELECT name, coll FROM pragma_index_xinfo(?) WHERE key = 1 ORDER BY seqno",
                arguments: [index["name"] as String]
            )
            // A replaced row has the key of the new one, unless the key's collation says that different texts are
            // equal.
            let isExactKey =
                index["origin"] as String == "pk" && columns.allSatisfy { $0["coll"] as String == "BINARY" }
            let names = columns.compactMap { $0["name"] as String? }
            // Expressions have no name: rows that are replaced through such an index are not noticed.
            return isExactKey || names.count < columns.count ? nil : names
        }
    }
}

import GRDB
import PowerSyncRules

/// A table of the source with what its declaration says about its columns.
struct DeclaredTable: Sendable {
    /// A column.
    struct Column: Sendable {
        /// The name, as the source spells it.
        var name: String
        /// The type as it is declared; empty without one.
        var type: String
        /// Whether the column never holds NULL.
        var isNotNull: Bool
    }

    /// The name.
    var name: SourceTableName
    /// The columns in their order.
    var columns: [Column]

    /// The column of a name, which is compared byte by byte, as in rows.
    func column(_ name: String) -> Column? {
        columns.first { $0.name.utf8.elementsEqual(name.utf8) }
    }
}

extension SourceSchema {
    /// The names of what was declared.
    init(_ tables: [DeclaredTable]) {
        self.init(tables: tables.map { Table(name: $0.name, columns: $0.columns.map(\.name)) })
    }
}

package import PowerSync

/// The schemas between which a file is changed.
///
/// They have many tables, so that a change takes its time; every second one differs.
package enum WorkerSchema {
    /// The schema that a worker opens a file with.
    package static let first = schema(tables: 0..<30, extraColumn: false)
    /// ``first``, with `items` as a direct table.
    package static let firstDirect = Schema(
        tables: first.tables.map { table in
            guard table.name == "items" else { return table }
            return Table(name: table.name, columns: table.columns, indexes: table.indexes, direct: true)
        }
    )
    /// Renames a view, adds and removes columns, indexes and tables, and makes a direct table of a view, and a view of one.
    package static let second = schema(tables: 10..<40, extraColumn: true)
    /// A table of ``first`` that ``second`` does not have.
    package static let removedTable = "table0"

    /// Few tables that are direct, become so or are no more; before and after a change of all that can change.
    package static func alterable(isChanged: Bool) -> [Table] {
        let columns: [Column] =
            isChanged
            ? [
                .text("title", renamedFrom: "a"), .integer("b", .check("b <> 7")), .text("c"),
                .real("added", .default("0.5")),
            ]
            : [.text("a"), .integer("b", .unique), .integer("c"), .text("dropped")]
        let (one, other): (Index, Index) = (
            .fullText(columns: isChanged ? ["title", "c"] : ["a"]),
            .ascending(name: isChanged ? "by_c" : "by_b", columns: isChanged ? ["c", "b"] : ["b"])
        )
        let ab: [Column] = [.text("a"), .integer("b")]
        return [
            Table(name: "changed", columns: columns, indexes: [one, other], direct: true),
            Table(name: "becomes_direct", columns: ab, direct: isChanged),
            Table(name: "becomes_view", columns: ab, direct: !isChanged),
            Table(name: "becomes_synced", columns: ab, localOnly: !isChanged, direct: true),
        ]
    }

    private static func schema(tables: Range<Int>, extraColumn: Bool) -> Schema {
        var items = Table(
            name: "items",
            columns: [.text("title"), .integer("batch"), .text("worker")],
            indexes: [.ascending(name: "batch", column: "batch")]
        )
        let notes = Table(name: "notes", columns: [.text("text")], viewNameOverride: extraColumn ? "remarks" : nil)
        if extraColumn {
            items = Table(
                name: "items",
                columns: [.text("title"), .integer("batch"), .text("worker"), .real("price")],
                indexes: [.ascending(name: "worker", column: "worker")]
            )
        }
        let others = tables.map { number in
            Table(
                name: "table\(number)",
                columns: [.text("a"), .integer("b")] + (extraColumn ? [.real("c")] : []),
                indexes: [.ascending(name: "a", column: extraColumn ? "b" : "a")]
            )
        }
        let typed = Table(
            name: "typed",
            columns: extraColumn
                ? [.text("title", renamedFrom: "a"), .integer("b", .check("b <> 7"))]
                : [.text("a", renamedFrom: "title"), .integer("b", .unique)],
            direct: true
        )
        let changing = [("becomes_direct", extraColumn), ("becomes_view", !extraColumn)].map { name, isDirect in
            Table(name: name, columns: [.text("a"), .integer("b")], direct: isDirect)
        }
        return Schema(tables: [items, notes, typed] + changing + others)
    }
}

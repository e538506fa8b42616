import GRDB

/// What the internal tables of a file look like, independent of the spelling of the statements that created them.
///
/// Columns in their order with types, defaults and keys, table options, indexes.
struct FileShape: Equatable, CustomStringConvertible {
    /// A line for every table, column and index.
    let lines: [String]

    init(_ db: Database) throws {
        let tables = try String.fetchAll(
            db,
            sql: """
                SELECT name FROM sqlite_master
                WHERE type = 'table' AND name GLOB 'ps_*' AND NOT name GLOB 'ps_data_*' ORDER BY name
                """
        )
        lines = try tables.flatMap { try Self.describe($0, db) }
    }

    private static func describe(_ table: String, _ db: Database) throws -> [String] {
        func rows(_ sql: String) throws -> [String] {
            try Row.fetchAll(db, sql: sql, arguments: ["table": table]).map { row in
                row.databaseValues.map { "\($0)" }.joined(separator: " ")
            }
        }
        let options = try rows(
            """
            SELECT name, 'without rowid', wr, 'strict', strict, 'autoincrement',
              (SELECT sql LIKE '%AUTOINCREMENT%' FROM sqlite_master WHERE name = :table)
            FROM pragma_table_list WHERE name = :table
            """
        )
        let columns = try rows(
            "SELECT cid, name, upper(type), \"notnull\", dflt_value, pk FROM pragma_table_xinfo(:table) ORDER BY cid"
        )
        let indexes = try rows(
            """
            SELECT list.name, list."unique", origin, partial,
              (SELECT group_concat(name) FROM pragma_index_info(list.name)),
              (SELECT lower(substr(sql, instr(sql, 'WHERE'))) FROM sqlite_master WHERE name = list.name AND partial)
            FROM pragma_index_list(:table) AS list ORDER BY 1
            """
        )
        return options + columns.map { "\(table) column \($0)" } + indexes.map { "\(table) index \($0)" }
    }

    var description: String { lines.joined(separator: "\n") }

    /// What is in only one of two shapes; empty when they are equal.
    func difference(from other: FileShape) -> [String] {
        lines.filter { !other.lines.contains($0) }.map { "only here: \($0)" }
            + other.lines.filter { !lines.contains($0) }.map { "only there: \($0)" }
            + (lines.count == other.lines.count ? [] : ["different numbers of lines"])
    }
}

extension LocalTestDatabase {
    /// The shape of the internal tables.
    func shape() throws -> FileShape {
        try queue.read { try FileShape($0) }
    }
}

import GRDB
import PowerSyncSQLite

/// A unique key of a table besides its `id`: a unique index, or the integer that is the row's number.
///
/// A row whose key another row has can take its place: `INSERT OR REPLACE`, `UPDATE OR REPLACE` and columns with
/// `ON CONFLICT REPLACE` remove that row, and SQLite fires no trigger for it unless `PRAGMA recursive_triggers` is on.
struct UniqueKey {
    private struct Term {
        /// A quoted column, or the text of an expression.
        let expression: String
        let collation: String
    }

    private let terms: [Term]
    /// The condition of a partial index.
    private let condition: String?

    /// The unique keys of a table besides its `id`.
    ///
    /// - Parameters:
    ///   - table: The table's name in SQLite.
    ///   - connection: The `sqlite3 *`.
    /// - Returns: The keys; without those that cannot be read from the text of their index.
    /// - Throws: `DatabaseError`.
    static func fetchAll(ofTable table: String, on connection: OpaquePointer) throws -> [UniqueKey] {
        var keys: [UniqueKey] = []
        let indexes = try unsafe rows(
            """
            SELECT list.name, list.partial, list.origin, objects.sql
            FROM pragma_index_list(?1) AS list LEFT JOIN sqlite_master AS objects
                ON objects.type = 'index' AND objects.name = list.name
            WHERE list."unique"
            """,
            table,
            on: connection
        ) { ($0.string(at: 0) ?? "", $0.integer(at: 1) != 0, $0.string(at: 2), $0.string(at: 3)) }
        for (name, isPartial, _, sql) in indexes {
            let columns = try unsafe rows(
                "SELECT cid, name, coll FROM pragma_index_xinfo(?1) WHERE key ORDER BY seqno",
                name,
                on: connection
            ) { (number: $0.integer(at: 0), name: $0.string(at: 1), collation: $0.string(at: 2) ?? "BINARY") }
            let parts = sql.flatMap(SQLText.indexParts)
            guard !columns.isEmpty, !isPartial || parts?.condition != nil else { continue }
            let isID = columns.count == 1 && columns[0].name == "id" && columns[0].collation.uppercased() == "BINARY"
            guard !isID else { continue }
            let terms = columns.enumerated().compactMap { place, column -> Term? in
                if let name = column.name, column.number >= 0 {
                    return Term(expression: SQLText.identifier(name), collation: column.collation)
                }
                guard let parts, parts.terms.count == columns.count else { return nil }
                return Term(expression: parts.terms[place], collation: column.collation)
            }
            guard terms.count == columns.count else { continue }
            keys.append(UniqueKey(terms: terms, condition: isPartial ? parts?.condition : nil))
        }
        // The row's number has no index.
        if !indexes.contains(where: { $0.2 == "pk" }) {
            let primary = try unsafe rows(
                "SELECT name, type FROM pragma_table_info(?1) WHERE pk",
                table,
                on: connection
            ) {
                ($0.string(at: 0) ?? "", $0.string(at: 1) ?? "")
            }
            if primary.count == 1, primary[0].1.uppercased() == "INTEGER", primary[0].0 != "id" {
                let term = Term(expression: SQLText.identifier(primary[0].0), collation: "BINARY")
                keys.append(UniqueKey(terms: [term], condition: nil))
            }
        }
        return keys
    }

    /// A query for the rows that have the key of a row that is about to be written, under the name `ps_old`.
    ///
    /// - Parameters:
    ///   - result: The result columns.
    ///   - table: The table, quoted.
    ///   - row: A `SELECT` of one row with the columns of the table.
    ///   - id: An expression for the id of the row, which is not among the results.
    /// - Returns: The query.
    func conflicts(_ result: String, in table: String, withRow row: String, id: String) -> String {
        let keys = terms.enumerated().map { "(\($1.expression)) AS ps_key_\($0)" }.joined(separator: ", ")
        // The text of an expression is that of the index, so that SQLite finds the rows in it.
        var conditions = terms.enumerated().map { place, term in
            "(\(term.expression)) = ps_new.ps_key_\(place) COLLATE \(SQLText.identifier(term.collation))"
        }
        if let condition { conditions.append("(\(condition))") }
        let isOther = "ps_old.id IS NOT \(id) COLLATE BINARY"
        return """
            SELECT \(result) FROM (SELECT \(keys) FROM (\(row))\(condition.map { " WHERE (\($0))" } ?? "")) AS ps_new \
            CROSS JOIN \(table) AS ps_old WHERE \((conditions + [isOther]).joined(separator: " AND "))
            """
    }

    /// A `SELECT` of the row that a trigger is run for, before it is written: all columns with their names, generated ones included.
    ///
    /// `REPLACE` stores the default instead of NULL in a column that must not be NULL.
    static func newRow(_ db: Database, ofTable table: String) throws -> String {
        let columns = try Row.fetchAll(
            db,
            sql: "SELECT name, \"notnull\", dflt_value FROM pragma_table_xinfo(?) WHERE hidden != 1",
            arguments: [table]
        )
        let values = columns.map { column in
            let name = SQLText.identifier(column[0])
            guard column[1] as Int64? == 1, let value: String = column[2] else { return "NEW.\(name) AS \(name)" }
            return "ifnull(NEW.\(name), (\(RawTableStructure.expression(ofDefault: value)))) AS \(name)"
        }
        return "SELECT \(values.joined(separator: ", "))"
    }

    private static func rows<Result>(
        _ sql: String,
        _ argument: String,
        on connection: OpaquePointer,
        _ read: (PreparedStatement) -> Result
    ) throws -> [Result] {
        guard let statement = try unsafe PreparedStatement(preparing: sql, on: connection) else { return [] }
        try statement.bind(checkedText: argument, at: 1)
        var rows: [Result] = []
        while try statement.step() { rows.append(read(statement)) }
        return rows
    }
}

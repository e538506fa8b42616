import PowerSyncSQLite

/// The FTS5 table of a full-text index, and what keeps it, as SQL text (docs/database.md "Full-text indexes").
///
/// ```sql
/// CREATE VIRTUAL TABLE "notes_fts" USING fts5(id UNINDEXED, "title", "body")
/// CREATE TABLE "notes_fts_rows"(/* powersync-full-text */ number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE)
/// ```
///
/// The second table has the row number of each id in the first: the numbers of the indexed table change with `REPLACE` and `VACUUM`, and the
/// text of an id cannot be looked up in an FTS5 table. Its comment is how full-text indexes of ours are known.
///
/// Three triggers on the table with the rows keep the index, for local writes and synced ones, whoever syncs. An insertion may take the place
/// of a row whose deletion no trigger saw; the conflict clause of the statement that fires a trigger overrules those in it, so there
/// are none.
struct FullTextTable {
    static let mark = "/* powersync-full-text */"
    /// What the names of the triggers begin with.
    static let triggerPrefix = "fts_powersync_"

    /// The name of the FTS5 table.
    let name: String
    /// The `CREATE` statement of the FTS5 table.
    let sql: String
    /// The triggers by name.
    let triggers: [(name: String, sql: String)]
    private let fill: [String]

    /// The name of the table with the row numbers.
    let rowsName: String
    /// The `CREATE` statement of the table with the row numbers.
    var rowsSQL: String {
        """
        CREATE TABLE \(SQLText.identifier(rowsName))(\(Self.mark) number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE)
        """
    }

    /// The statements that make everything, with the words of the rows that are there.
    var statements: [String] { [rowsSQL, sql] + fill + triggers.map(\.sql) }

    init(_ index: FullTextIndex, of table: ClientTable) {
        name = index.nameOnDisk(in: table)
        rowsName = index.rowsNameOnDisk(in: table)
        let (fts, rows) = (SQLText.identifier(name), SQLText.identifier(rowsName))
        let columns = index.columns.map(SQLText.identifier).joined(separator: ", ")
        let tokenizer = index.tokenizer.map { ", tokenize = \(SQLText.literal($0))" } ?? ""
        sql = "CREATE VIRTUAL TABLE \(fts) USING fts5(id UNINDEXED, \(columns)\(tokenizer))"

        let source = SQLText.identifier(table.internalName)
        func values(_ row: String) -> String {
            index.columns.map { column in
                guard !table.isDirect else { return "\(row).\(SQLText.identifier(column))" }
                let type = table.columns.first { ExactText($0.name) == ExactText(column) }?.type ?? .text
                return ViewDefinition.extraction(of: column, as: type, from: "\(row).data")
            }.joined(separator: ", ")
        }
        func number(_ row: String) -> String { "(SELECT number FROM \(rows) WHERE id = \(row).id)" }
        let insertion = """
            INSERT INTO \(rows)(id) SELECT NEW.id WHERE NOT EXISTS (SELECT 1 FROM \(rows) WHERE id = NEW.id);
            DELETE FROM \(fts) WHERE rowid = \(number("NEW"));
            INSERT INTO \(fts)(rowid, id, \(columns)) SELECT \(number("NEW")), NEW.id, \(values("NEW"));

            """
        let deletion = """
            DELETE FROM \(fts) WHERE rowid = \(number("OLD"));
            DELETE FROM \(rows) WHERE id = OLD.id;

            """
        let isChanged = "WHEN (OLD.id, \(values("OLD"))) IS NOT (NEW.id, \(values("NEW"))) "
        let bodies = [
            ("insert", "AFTER INSERT", "", insertion), ("update", "AFTER UPDATE", isChanged, deletion + insertion),
            ("delete", "AFTER DELETE", "", deletion),
        ]
        triggers = bodies.map { [name] event, clause, condition, body in
            let trigger = "\(Self.triggerPrefix)\(event)_\(name)"
            let head = "CREATE TRIGGER \(SQLText.identifier(trigger)) \(clause) ON \(source) FOR EACH ROW \(condition)"
            return (trigger, "\(head)BEGIN\n\(body)END")
        }
        fill = [
            "INSERT INTO \(rows)(id) SELECT id FROM \(source)",
            """
            INSERT INTO \(fts)(rowid, id, \(columns))
            SELECT "row".number, source.id, \(values("source")) FROM \(source) AS source JOIN \(rows) AS "row" ON "row".id = source.id
            """,
        ]
    }

    /// The name of the FTS5 table, of which a table has the row numbers.
    static func name(ofRows name: String) -> String { String(name.dropLast(FullTextIndex.rowsSuffix.count)) }
}

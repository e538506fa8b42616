import GRDB
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
///
/// Where the table has more unique keys than `id`, `REPLACE` can remove other rows than that of its `id` (``UniqueKey``). Two more triggers for
/// insertions and two for updates take their words away: the one before the write notes which rows are in the way, in `notes_fts_rows` with
/// their numbers below zero and their ids as BLOBs, the one after it removes the words of those that are gone, and the notes. A write
/// that is ignored leaves its notes for the next one.
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

    /// Describes an index of a table, which is there.
    ///
    /// - Throws: `DatabaseError` of SQLite.
    init(_ index: FullTextIndex, of table: ClientTable, _ db: Database) throws {
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
            DELETE FROM \(rows) WHERE id = OLD.id OR id = CAST(OLD.id AS BLOB);

            """
        let isChanged = "WHEN (OLD.id, \(values("OLD"))) IS NOT (NEW.id, \(values("NEW"))) "
        let bodies = [
            ("insert", "AFTER INSERT", "", insertion), ("update", "AFTER UPDATE", isChanged, deletion + insertion),
            ("delete", "AFTER DELETE", "", deletion),
        ]
        let replacing = try Self.replacing(rows, fts, table.internalName, db)
        triggers = (bodies + replacing).map { [name] event, clause, condition, body in
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

    /// What follows ``triggerPrefix`` in the names of triggers.
    static let events =
        ["insert", "update", "delete"] + ["insert", "update"].flatMap { ["replacing_\($0)", "replaced_\($0)"] }

    /// What takes away the words of rows that a write removes by another key than `id`; nothing where the table has no such key.
    private static func replacing(
        _ rows: String,
        _ fts: String,
        _ table: String,
        _ db: Database
    ) throws -> [(event: String, clause: String, condition: String, body: String)] {
        guard let connection = unsafe db.sqliteConnection else { return [] }
        let keys = try unsafe UniqueKey.fetchAll(ofTable: table, on: connection)
        guard !keys.isEmpty else { return [] }
        let (source, row) = (SQLText.identifier(table), try UniqueKey.newRow(db, ofTable: table))
        let inTheWay = keys.map { $0.conflicts("ps_old.id", in: source, withRow: row, id: "NEW.id") }
        let note = """
            INSERT INTO \(rows)(number, id) SELECT -ps_row.number, CAST(ps_row.id AS BLOB) FROM \(rows) AS ps_row
            WHERE ps_row.id IN (\(inTheWay.joined(separator: " UNION ")))
                AND NOT EXISTS (SELECT 1 FROM \(rows) WHERE number = -ps_row.number);

            """
        let gone = """
            SELECT -number FROM \(rows) AS ps_note
            WHERE number < 0 AND NOT EXISTS (SELECT 1 FROM \(source) WHERE id = CAST(ps_note.id AS TEXT))
            """
        let removal = """
            DELETE FROM \(fts) WHERE rowid IN (\(gone));
            DELETE FROM \(rows) WHERE number IN (\(gone));
            DELETE FROM \(rows) WHERE number < 0;

            """
        let hasNotes = "WHEN EXISTS (SELECT 1 FROM \(rows) WHERE number < 0) "
        return ["insert", "update"].flatMap { event in
            [
                ("replacing_\(event)", "BEFORE \(event.uppercased())", "", note),
                ("replaced_\(event)", "AFTER \(event.uppercased())", hasNotes, removal),
            ]
        }
    }

    /// The name of the FTS5 table, of which a table has the row numbers.
    static func name(ofRows name: String) -> String { String(name.dropLast(FullTextIndex.rowsSuffix.count)) }
}

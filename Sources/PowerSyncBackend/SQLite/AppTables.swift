import GRDB
import NIOConcurrencyHelpers
import PowerSyncSQLite

/// A table of the app, as its schema describes it.
struct AppTable: Sendable {
    let name: String
    /// The columns that can be written.
    let writableColumns: Set<ExactText>
    /// The columns of the primary key.
    let key: [String]
    /// The column with the ids of rows, whether there is one or not.
    let ids: IdentityColumn
    /// Whether the table resolves conflicts of unique columns by itself.
    let resolvesConflicts: Bool
    private let affinities: [ExactText: TextAffinity]

    fileprivate init(_ name: String, idColumn: String, _ db: Database) throws {
        let rows = try Row.fetchAll(
            db,
            sql: """
                SELECT x.name, x.type, x.pk, x.hidden, l.strict FROM pragma_table_xinfo(?1) AS x
                JOIN pragma_table_list(?1) AS l ON l.schema = 'main'
                """,
            arguments: [name]
        )
        self.name = name
        writableColumns = Set(rows.filter { $0["hidden"] == 0 }.map { ExactText($0["name"]) })
        key = rows.filter { $0["pk"] > 0 }.map { $0["name"] }
        affinities = Dictionary(
            rows.map { row in
                (ExactText(row["name"]), TextAffinity(declaredType: row["type"], isStrict: row["strict"]))
            },
            uniquingKeysWith: { first, _ in first }
        )
        ids = IdentityColumn(idColumn, of: name, affinities[ExactText(idColumn)] ?? .text)
        let sql = try String.fetchOne(
            db,
            sql: "SELECT sql FROM sqlite_master WHERE type = 'table' AND name = ?",
            arguments: [name]
        )
        resolvesConflicts = sql.map { UniqueConflicts.areResolved(by: $0) } ?? false
    }

    /// The affinity of a column; values in one that the table does not have are taken for texts.
    func affinity(of column: String) -> TextAffinity { affinities[ExactText(column)] ?? .text }
}

/// What SQLite says about the tables of the app, which is asked once for each table, for the time of one request.
///
/// The app's decisions may change the schema: when the schema has another version, everything is asked for again, and after a rollback, which
/// lets the same version come for the second time.
final class AppTables: Sendable {
    /// Shows whether anything was changed in the database since: rows are counted, and the schema has a version.
    ///
    /// What is rolled back stays counted. Within a transaction no other connection changes anything.
    struct Stamp: Sendable, Equatable {
        fileprivate let schemaVersion: Int64
        fileprivate let changedRows: Int
    }

    private struct State {
        var schemaVersion: Int64?
        var tables: [ExactText: AppTable] = [:]
    }

    private let idColumn: String
    private let state = NIOLockedValueBox(State())

    /// Knows nothing yet.
    ///
    /// - Parameter idColumn: The name of the column with the ids of rows.
    init(idColumn: String) {
        self.idColumn = idColumn
    }

    /// The table with a name; one without columns when there is none.
    ///
    /// - Throws: `DatabaseError`.
    func table(_ name: String, _ db: Database) throws -> AppTable {
        let version = try Self.schemaVersion(db)
        let known = state.withLockedValue { state in
            if state.schemaVersion != version { state = State(schemaVersion: version) }
            return state.tables[ExactText(name)]
        }
        if let known { return known }
        let table = try AppTable(name, idColumn: idColumn, db)
        state.withLockedValue { $0.tables[ExactText(name)] = table }
        return table
    }

    /// The state of the database now.
    ///
    /// - Throws: `DatabaseError`.
    func stamp(_ db: Database) throws -> Stamp {
        Stamp(schemaVersion: try Self.schemaVersion(db), changedRows: db.totalChangesCount)
    }

    /// Forgets everything, after a rollback.
    func forget() {
        state.withLockedValue { $0 = State() }
    }

    private static func schemaVersion(_ db: Database) throws -> Int64 {
        let statement = try PreparedStatement(db, sql: "PRAGMA main.schema_version")
        defer { statement.reset() }
        return try statement.step() ? statement.integer(at: 0) : 0
    }
}

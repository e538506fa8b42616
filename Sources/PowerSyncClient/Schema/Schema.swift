import PowerSyncSQLite

/// The tables of an app.
public protocol SchemaProtocol: Sendable {
    /// The tables that the SDK manages.
    var tables: [Table] { get }
    /// The tables of the app's own that synced rows are written to.
    var rawTables: [RawTable] { get }
    /// Checks the tables.
    func validate() throws
}

/// The tables of an app.
///
/// ```swift
/// let schema = Schema(
///     Table(name: "lists", columns: [.text("name"), .text("owner_id")]),
///     Table(name: "todos", columns: [.text("list_id"), .text("description")])
/// )
/// ```
public struct Schema: SchemaProtocol {
    /// The tables that the SDK manages.
    public let tables: [Table]
    /// The tables of the app's own that synced rows are written to.
    public let rawTables: [RawTable]
    /// What is wrong with an argument that is no table of the SDK.
    private var problem: String?
    /// The types of rows that are checked against tables.
    var rowChecks: [(table: String, problem: @Sendable (Table) -> TypedRowError?)] = []

    /// Creates a schema of lists of tables.
    ///
    /// - Parameters:
    ///   - tables: The tables that the SDK manages.
    ///   - rawTables: The tables of the app's own that synced rows are written to.
    public init(tables: [Table], rawTables: [RawTable] = []) {
        self.tables = tables
        self.rawTables = rawTables
    }

    /// Creates a schema of tables.
    ///
    /// Without arguments the schema is empty. Each argument is a ``Table`` or a ``RawTable``; with any other, ``validate()``
    /// throws, and so does each operation of a database with the schema.
    public init(_ tables: any BaseTableProtocol...) {
        var managed: [Table] = []
        var raw: [RawTable] = []
        var problem: String?
        for table in tables {
            switch table {
            case let table as Table: managed.append(table)
            case let table as RawTable: raw.append(table)
            default:
                problem = "A schema cannot hold \(table.name), a table of type \(type(of: table))."
            }
        }
        self.init(tables: managed, rawTables: raw)
        self.problem = problem
    }

    /// The schema by which an SDK that knows no direct tables uses a file with them: each is a raw table there.
    ///
    /// Local-only tables are left out, since nothing of them is synced. ``RawTable/jsonDescription()`` prints a table.
    public var rawTableEquivalent: Schema {
        let direct = tables.filter { $0.direct && !$0.localOnly }.map { table in
            let columns = table.columns.filter { !$0.isGenerated }.map(\.name)
            // The column for metadata is not synced.
            let structure = RawTableSchema(syncedColumns: table.trackMetadata ? columns : nil, options: table.options)
            return RawTable(
                name: table.name,
                schema: structure,
                clear: "DELETE FROM \(SQLText.identifier(table.name))"
            )
        }
        return Schema(tables: tables.filter { !$0.direct }, rawTables: rawTables + direct)
    }

    /// Checks that all arguments were tables of the SDK.
    ///
    /// - Throws: ``PowerSyncError/operationFailed(message:underlyingError:)``.
    func checkTypes() throws {
        if let problem { throw PowerSyncError.invalidSchema(problem) }
    }

    /// Checks that no two tables share a name, then each table on its own.
    ///
    /// A ``RawTable`` takes part with the name of its local table, if it has a ``RawTable/schema``.
    ///
    /// - Throws: ``SchemaError`` or ``TableError`` with the first problem found; ``PowerSyncError`` for an argument that is no
    ///   table of the SDK; ``TypedRowError`` for a type of ``checkingRows(of:as:format:samples:)`` that does not fit its table.
    public func validate() throws {
        try checkTypes()
        var names: Set<ExactText> = []
        for table in tables {
            guard names.insert(ExactText(table.name)).inserted else {
                throw SchemaError.duplicateTableName(table.name)
            }
        }
        for table in tables {
            try table.validate()
        }
        for table in rawTables {
            guard let localName = table.localName, let options = table.schema?.options else { continue }
            guard names.insert(ExactText(localName)).inserted else {
                throw SchemaError.duplicateTableName(localName)
            }
            try options.validate(tableName: table.name)
        }
        try checkRowTypes()
    }
}

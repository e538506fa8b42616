import MySQLBinlog
import PowerSyncServiceCore
import PowerSyncSyncConfig

/// A table that is replicated, as the catalogue describes it.
struct MySQLTable: Sendable, Hashable {
    /// A column.
    struct Column: Sendable, Hashable {
        /// Who makes the values of a column.
        enum Generation: Sendable, Hashable {
            case virtual
            case stored
        }

        /// The name.
        var name: String
        /// The type.
        var type: MySQLColumnType
        /// The type in the server's words: `int(10) unsigned`.
        var declaration: String
        /// The charset of a text; `nil` for other types.
        var characterSet: String?
        /// The collation of a text; `nil` for other types.
        var collation: String?
        /// Whether rows may have `NULL`.
        var isNullable: Bool
        /// How the server makes the values from those of other columns; `nil` for a column that is written.
        var generation: Generation?
        /// Whether `SELECT *` leaves it out.
        ///
        /// The log has it, and so has the copy.
        var isInvisible = false

        /// The name for queries.
        var quotedName: String { MySQLText.identifier(name) }
    }

    /// What tells rows apart.
    enum Key: Sendable, Hashable {
        case primary
        /// A unique key whose columns are never `NULL`, with its name.
        case unique(String)
        /// All columns that are not generated: equal rows are one row.
        case none
    }

    /// Schema and name, as the server stores them.
    var name: SourceTableName
    /// The storage engine, as the server spells it: `InnoDB`.
    var engine: String
    /// All columns, also invisible and generated ones, in the order that they have in the log: `columns[0]` has `ORDINAL_POSITION` 1.
    var columns: [Column]
    /// What tells rows apart.
    var key: Key
    /// The columns of the identity by their index in ``columns``, in the order of the key.
    var identityIndexes: [Int]
    /// Whether the index of ``key`` has the order of the values, and queries may name it: not with parts that are a prefix of their column,
    /// of a hash, and of an invisible one.
    var keyIsOrdered = true
    /// Facts on which rows that were copied depend, whatever columns are read (``SourceTableDescriptor/form``), without how values are
    /// written.
    var form: [String: String]
    /// What the values of each of ``columns`` depend on; empty when a change of columns makes no other table.
    var columnForms: [String] = []
    /// Those of the columns that a stream reads, by name, each with its place and with what its values depend on: of rows that were logged
    /// without names of columns, what is in the places is read.
    ///
    /// When a change of columns makes no other table, the names that the stream has for them, whether the table has them or not, and `*`
    /// for all: streams that read other columns have other rows.
    private(set) var readColumns: [String: String] = [:]
    /// The columns of foreign keys by whose rules rows are changed that the log does not have, each list once: rows are found by them.
    var references: [[String]] = []
    /// Whether ``form`` changes when the rows are written anew, which needs the privilege `PROCESS` and InnoDB; else it changes with the
    /// time at which the server last changed the declaration, to a second, and not when the table is emptied.
    var hasIncarnation = false
    /// About how many rows there are; `nil` when the server does not say it.
    var estimatedRows: Int64?

    /// The columns that tell rows apart.
    var identity: [Column] { identityIndexes.map { columns[$0] } }

    /// The columns by which the table is copied in parts, in the order of the key; `nil` for a table that is copied by one query.
    ///
    /// The index is ``keyIndexName``. The columns are of types with an order that a literal of the value meets exactly.
    var copyKey: [Column]? {
        guard key != .none, keyIsOrdered, identity.allSatisfy(\.type.isOrderedByLiteral) else { return nil }
        return identity
    }

    /// The name of the index of ``key``, for `FORCE INDEX`: `PRIMARY`, or that of the unique key; `nil` without a key.
    var keyIndexName: String? {
        switch key {
        case .primary: "PRIMARY"
        case .unique(let name): name
        case .none: nil
        }
    }

    /// Whether its engine has transactions: InnoDB.
    ///
    /// A snapshot shows the present of other engines.
    var isTransactional: Bool { engine.lowercased() == "innodb" || engine.lowercased() == "rocksdb" }

    /// Sets ``readColumns``.
    ///
    /// - Parameter names: The names of the columns that are read; `nil` for all.
    mutating func read(_ names: Set<String>?) {
        guard !columnForms.isEmpty else {
            readColumns = Dictionary((names ?? ["*"]).map { ($0, "") }) { first, _ in first }
            return
        }
        readColumns = [:]
        for (place, (column, form)) in zip(columns, columnForms).enumerated() where names?.contains(column.name) ?? true
        {
            readColumns[column.name] = "\(form) \(place)"
        }
    }

    /// The table as the replicator knows it.
    ///
    /// - Parameter options: How values are written; other ways make other rows.
    /// - Returns: The descriptor.
    func descriptor(_ options: SourceValueOptions) -> SourceTableDescriptor {
        var form = form
        form[SourceTableDescriptor.valuesInForm] = options.code
        var descriptor = SourceTableDescriptor(
            name: name,
            relationID: "\(name)",
            identity: identity.map { .init(name: $0.name, type: $0.declaration) },
            form: form,
            columns: readColumns
        )
        descriptor.references = references
        // As those that are read: rows may have been logged without names of columns.
        let unread = zip(columns, columnForms).enumerated().filter { _, column in
            isReferring(column.0) && readColumns[column.0.name] == nil
        }
        if !unread.isEmpty {
            let texts = unread.map { place, column in "\(column.0.name) \(column.1) \(place)" }
            descriptor.form["columns of foreign keys"] = texts.joined(separator: ", ")
        }
        return descriptor
    }

    /// Whether a column is one of ``references``.
    func isReferring(_ column: Column) -> Bool { references.contains { $0.contains(column.name) } }

    /// Whether rows have a column of ``columns``: that is so of those that are read, of the identity, and of foreign keys.
    ///
    /// - Parameters:
    ///   - index: The column.
    ///   - readColumns: The names of the columns that are read; `nil` for all.
    /// - Returns: Whether rows have it.
    func hasInRows(_ index: Int, reading readColumns: Set<String>?) -> Bool {
        identityIndexes.contains(index) || isReferring(columns[index])
            || readColumns?.contains(columns[index].name) ?? true
    }
}

extension MySQLTable {
    /// A table of which nothing is known but the name: the server could not open it.
    ///
    /// Its descriptor is none that it had or will have, so it is copied when it opens.
    init(unopened name: SourceTableName) {
        self.init(
            name: name,
            engine: "",
            columns: [],
            key: .none,
            identityIndexes: [],
            form: [Self.unopenedInForm: "yes"]
        )
    }

    /// Whether a descriptor is one of ``init(unopened:)``.
    static func isUnopened(_ table: SourceTableDescriptor) -> Bool { table.form[unopenedInForm] != nil }

    private static let unopenedInForm = "cannot be opened"
}

extension MySQLColumnType {
    /// Whether the server orders values of the type as it compares them with a literal of a value.
    ///
    /// A literal of FLOAT and DOUBLE is not the stored value; BIT, ENUM and SET are ordered by number and compared as text.
    fileprivate var isOrderedByLiteral: Bool {
        switch kind {
        case .integer, .decimal, .char, .varchar, .text, .binary, .varbinary, .date, .dateTime, .timestamp, .time,
            .year,
            .uuid, .inet4, .inet6:
            true
        case .float, .double, .bit, .blob, .enumeration, .set, .json, .geometry, .vector, .unknown: false
        }
    }
}

extension SourceTableDescriptor {
    /// Whether the only difference of two tables is where the columns are that are read, in the order that they had.
    ///
    /// Rows with all columns have them in the order of the table: in another one, they are other rows.
    func hasMovedColumns(since earlier: SourceTableDescriptor) -> Bool {
        func facts(_ columns: [String: String]) -> [String: Substring?] {
            columns.mapValues { $0.split(separator: " ").first }
        }
        func order(_ columns: [String: String]) -> [String] {
            let places = columns.mapValues { $0.split(separator: " ").last.flatMap { Int($0) } ?? 0 }
            return columns.keys.sorted { (places[$0] ?? 0, $0) < (places[$1] ?? 0, $1) }
        }
        return columns != earlier.columns && isSame(as: earlier) && facts(columns) == facts(earlier.columns)
            && order(columns) == order(earlier.columns)
    }
}

/// That the columns of a table are in other places since a statement of the log.
struct ColumnMove: Sendable, Hashable {
    /// The table before.
    var earlier: SourceTableDescriptor
    /// The boundary before the statement: everything before it was read by the earlier columns.
    var boundary: LogPosition
    /// Where the statement begins.
    var position: LogPosition
}

extension [SourceTableDescriptor: ColumnMove] {
    /// Forgets what does not hold for a reader: the moves that are before its position, and those before which it reads rows again.
    ///
    /// - Parameter start: The boundary at which the reader begins.
    /// - Returns: The tables of the latter: rows before the move cannot be read by the columns that the catalogue has now.
    mutating func begin(at start: LogPosition) -> Set<SourceTableName> {
        let readAgain = filter { start < $0.value.boundary }
        self = filter { $0.value.boundary <= start && start <= $0.value.position }
        return Set(readAgain.keys.map(\.name))
    }
}

extension MySQLTable {
    /// The columns of a foreign key, as ``references`` has them; `nil` when rows are not found by it.
    func reference(of key: MySQLForeignKey) -> [String]? {
        let names = key.columns.compactMap { name in columns.first { $0.isNamed(name) }?.name }
        return names.count == key.columns.count && references.contains(names) ? names : nil
    }
}

extension MySQLTable.Column {
    /// Whether a name is that of the column: names of columns do not differ by case.
    func isNamed(_ name: String) -> Bool { self.name.lowercased() == name.lowercased() }

    /// Whether values that a foreign key takes for equal are found by each other (``Cascade``).
    ///
    /// Collations that do more to ASCII letters than to ignore their case, as those of some languages do, are left out.
    var isComparedByStorage: Bool {
        guard generation == nil else { return false }
        switch type.kind {
        case .integer, .binary, .varbinary, .uuid: return true
        case .char, .varchar:
            guard let collation = collation?.lowercased(), let characterSet else { return false }
            // The log has texts of other charsets in a form that the server alone reads: each change would be read again by its key.
            if case .other = MySQLCharset(name: characterSet) { return false }
            return collation.hasSuffix("_bin") || collation == "latin1_swedish_ci"
                || collation.split(separator: "_").dropFirst().allSatisfy { Self.partsOfPlainCollations.contains($0) }
        default: return false
        }
    }

    /// What follows the charset in names of collations that are of no language: `utf8mb4_0900_ai_ci`, `utf8mb4_uca1400_nopad_ai_ci`.
    private static let partsOfPlainCollations: Set<Substring> = [
        "general", "mysql500", "unicode", "520", "0900", "uca1400", "nopad", "ai", "as", "ci", "cs",
    ]
}

extension SourceTableName {
    /// The name for queries.
    var mysqlQuoted: String { "\(MySQLText.identifier(schema)).\(MySQLText.identifier(name))" }
}

import MySQLBinlog
import PowerSyncMySQLConnection
import PowerSyncServiceCore
import PowerSyncSyncConfig

/// What a server has for a plan (docs/mysql.md "Changed tables").
struct MySQLCatalogue: Sendable {
    /// The tables that the plan reads and that can be replicated, by schema and name.
    var tables: [MySQLTable] = []
    /// Tables that are no part of the plan, and whose rows decide over rows of ``tables``: ancestors by ``cascades``.
    var ancestors: [MySQLTable] = []
    /// The foreign keys whose rules change rows that the log may not tell of: those on the way from ``tables`` to all of their ancestors.
    ///
    /// None with ``MySQLSettings/ignoresForeignKeyCascades``.
    var cascades: [MySQLForeignKey] = []
    /// Whether the server writes now to the log what ``cascades`` change: MySQL from 9.6 on, unless it is told otherwise.
    var logsCascades = false
    /// Tables that the plan reads, and that the server could not open to describe them: damaged ones, and on MariaDB those that a session
    /// has locked.
    var unopened: [SourceTableName] = []
    /// What is left out of what the plan reads, or may be one day.
    var findings: [Finding] = []

    /// Reads the catalogue.
    ///
    /// - Parameters:
    ///   - plan: What is read, with the default schema of the source.
    ///   - settings: The source.
    ///   - connection: A connection.
    /// - Returns: The tables, with what there is to say about them.
    /// - Throws: `MySQLConnectionError`, or `CancellationError`.
    static func read(
        for plan: SyncPlan,
        _ settings: MySQLSettings,
        _ connection: MySQLConnection
    ) async throws -> MySQLCatalogue {
        let rows = try await CatalogueRows.read(.init(of: plan), connection)
        var catalogue = MySQLCatalogue(
            rows,
            isMariaDB: connection.isMariaDB,
            followsAlter: settings.copiesAfterAlter,
            where: { plan.reads($0) },
            reading: { plan.readColumns(of: $0) }
        )
        try await catalogue.addCascades(settings, connection)
        return catalogue
    }

    /// Reads one table of the catalogue, without its ancestors.
    ///
    /// - Parameters:
    ///   - name: The table.
    ///   - readColumns: The columns that are read; `nil` for all.
    ///   - settings: The source.
    ///   - connection: A connection.
    /// - Returns: The table; `nil` when it is not there, or cannot be replicated.
    /// - Throws: `MySQLConnectionError`, or `CancellationError`.
    static func table(
        _ name: SourceTableName,
        reading readColumns: Set<String>?,
        _ settings: MySQLSettings,
        _ connection: MySQLConnection
    ) async throws -> MySQLTable? {
        MySQLCatalogue(
            try await CatalogueRows.read(.init([name]), connection),
            isMariaDB: connection.isMariaDB,
            followsAlter: settings.copiesAfterAlter,
            where: { $0 == name },
            reading: { _ in readColumns }
        ).tables.first
    }

    private mutating func addCascades(_ settings: MySQLSettings, _ connection: MySQLConnection) async throws {
        let keys = try await MySQLForeignKey.all(in: Set(tables.map(\.name.schema)), connection)
            .reached(from: Set(tables.map(\.name)))
        guard !keys.isEmpty else { return }
        if !connection.isMariaDB {
            let native = try await connection.texts("SHOW GLOBAL VARIABLES LIKE 'innodb_native_foreign_keys'")
            logsCascades = native.first?.last == "OFF"
        }
        guard !settings.ignoresForeignKeyCascades else {
            if !logsCascades { findings += keys.map { CascadeFindings.ignored($0) } }
            return
        }
        cascades = keys
        let others = Set(keys.map(\.parent)).subtracting(tables.map(\.name))
        let found = MySQLCatalogue(
            try await CatalogueRows.read(.init(Array(others)), connection),
            isMariaDB: connection.isMariaDB,
            followsAlter: false,
            where: { others.contains($0) },
            reading: { name in Set(keys.filter { $0.parent == name }.flatMap(\.parentColumns)) }
        )
        ancestors = found.tables
        guard !logsCascades else { return }
        addReferences()
        let account = try await connection.texts("SELECT CURRENT_USER()").first?.first ?? nil
        let known = Set(found.tables.map(\.name))
        // A table that cannot be opened is there.
        let hidden = others.subtracting(known).subtracting(found.unopened).subtracting(unopened)
        findings += hidden.sorted { "\($0)" < "\($1)" }.map { parent in
            let children = keys.filter { $0.parent == parent }.map(\.child)
            return CascadeFindings.hidden(parent, children, account: MySQLAccount(account ?? "…"))
        }
        findings += keys.filter { $0.parent == $0.child || known.contains($0.parent) || !others.contains($0.parent) }
            .map { CascadeFindings.followed($0, hasReferences: hasReference($0)) }
    }

    /// Notes by which foreign keys rows of tables are to be found (``MySQLTable/references``).
    private mutating func addReferences() {
        for key in cascades {
            guard let index = tables.firstIndex(where: { $0.name == key.child }) else { continue }
            let table = tables[index]
            let columns = key.columns.compactMap { name in table.columns.first { $0.isNamed(name) } }
            // Rows of a table without a key are looked for among all.
            guard table.key != .none, columns.count == key.columns.count, columns.allSatisfy(\.isComparedByStorage)
            else {
                continue
            }
            let names = columns.map(\.name)
            if !table.references.contains(names) { tables[index].references.append(names) }
        }
        for index in tables.indices { tables[index].references.sort { $0.lexicographicallyPrecedes($1) } }
    }

    private func hasReference(_ key: MySQLForeignKey) -> Bool {
        tables.first { $0.name == key.child }?.reference(of: key) != nil
    }
}

// MARK: Rows

extension MySQLCatalogue {
    /// The engines whose changes of rows are all in the log.
    private static let engines: Set<String> = ["innodb", "myisam", "aria", "rocksdb", "memory", "archive"]

    /// Makes a catalogue of the answers of a server.
    ///
    /// - Parameters:
    ///   - rows: The answers.
    ///   - isMariaDB: Whether they are of MariaDB.
    ///   - followsAlter: Whether a change of a table's columns makes it another one (``MySQLSettings/copiesAfterAlter``).
    ///   - isRead: Whether a table is read.
    ///   - readColumns: Which columns of a table are read; `nil` for all. Others may come, go and change, and ``MySQLTable/form`` stays.
    init(
        _ rows: CatalogueRows,
        isMariaDB: Bool,
        followsAlter: Bool,
        where isRead: (SourceTableName) -> Bool,
        reading readColumns: (SourceTableName) -> Set<String>?
    ) {
        let columns = Dictionary(grouping: rows.columns) { TableKey($0) }
        let keys = Dictionary(grouping: rows.keys) { TableKey($0) }
        let incarnations = rows.incarnations.map { Incarnations($0) }
        for row in rows.tables {
            guard row.count == 6, let schema = row[0], let table = row[1] else { continue }
            let name = SourceTableName(schema: schema, name: table)
            guard isRead(name) else { continue }
            let problem: Finding?
            switch row[2] {
            case "BASE TABLE": problem = Self.problem(withEngine: row[3], of: name)
            case "SYSTEM VERSIONED": problem = TableFindings.systemVersioned(name)
            case "VIEW": problem = TableFindings.view(name)
            default: problem = TableFindings.noTable(name, type: row[2] ?? "?")
            }
            if let problem {
                findings.append(problem)
                if row[2] == "BASE TABLE", row[3] == nil { unopened.append(name) }
                continue
            }
            let parts = (columns[TableKey(row)] ?? []).compactMap { MySQLTable.ColumnRow($0) }
                .sorted { $0.position < $1.position }
            guard parts.map(\.position) == Array(1...max(parts.count, 1)) else {
                findings.append(TableFindings.hiddenColumns(name))
                continue
            }
            if let unknown = parts.first(where: { $0.column.type.kind == .unknown }) {
                findings.append(TableFindings.unknownType(name, unknown.column))
                continue
            }
            let found = MySQLTable(
                name,
                engine: row[3] ?? "",
                parts,
                keys: (keys[TableKey(row)] ?? []).compactMap { MySQLTable.KeyPart($0) },
                incarnation: incarnations?[name],
                createdAt: row[4],
                isMariaDB: isMariaDB,
                followsAlter: followsAlter,
                reading: readColumns(name),
                estimatedRows: row[5].flatMap { Int64($0) }
            )
            tables.append(found)
            findings += TableFindings.warnings(found)
        }
        tables.sort { ($0.name.schema, $0.name.name) < ($1.name.schema, $1.name.name) }
    }

    private static func problem(withEngine engine: String?, of name: SourceTableName) -> Finding? {
        guard let engine, engines.contains(engine.lowercased()) else { return TableFindings.engine(name, engine) }
        return nil
    }

    /// The table that a row is about.
    private struct TableKey: Hashable {
        var schema: String?
        var table: String?

        init(_ row: [String?]) {
            schema = row.first ?? nil
            table = row.count > 1 ? row[1] : nil
        }
    }

    /// The numbers of InnoDB's tables.
    private struct Incarnations {
        /// By the name of the table as a file, with those of its partitions.
        private var numbers: [String: [String]] = [:]

        init(_ rows: [[String?]]) {
            for row in rows {
                guard row.count == 2, let name = row[0], let number = row[1] else { continue }
                // A # in the name of a table is written in hexadecimal digits.
                let partition = name.firstRange(of: "#p#") ?? name.firstRange(of: "#P#")
                numbers[String(name[..<(partition?.lowerBound ?? name.endIndex)]), default: []].append(number)
            }
        }

        /// The numbers of a table and its partitions; `nil` when it is not among them.
        subscript(name: SourceTableName) -> String? {
            let file = "\(FileNameEncoding.encoded(name.schema))/\(FileNameEncoding.encoded(name.name))"
            // With lower_case_table_names = 2, InnoDB alone has names in lower case.
            return (numbers[file] ?? numbers[file.lowercased()]).map { $0.sorted().joined(separator: ",") }
        }
    }
}

extension SyncPlan {
    /// Whether the plan reads a table.
    ///
    /// Those with which tools change a table while it is used are read under their own names only:
    /// `_t_gho`, `_t_new`.
    func reads(_ name: SourceTableName) -> Bool {
        let patterns = tablePatterns.filter { $0.matches(name, defaultSchema: defaultSchema) }
        guard name.name.hasPrefix("_"), Self.suffixesOfTools.contains(where: { name.name.hasSuffix($0) }) else {
            return !patterns.isEmpty
        }
        return patterns.contains { !$0.isWildcard }
    }

    /// Of gh-ost, and of pt-online-schema-change.
    private static let suffixesOfTools = ["_gho", "_ghc", "_del", "_new", "_old"]
}

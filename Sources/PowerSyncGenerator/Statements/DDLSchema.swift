import PowerSyncSyncConfig

/// The tables that statements of PostgreSQL or MySQL make, one file after the other, as migrations do.
///
/// Names, types and keys of columns are read. What makes no table is skipped and counted: functions, policies, indexes, rows.
struct DDLSchema {
    /// The name of a table, with the schema if one is written that is not the usual one.
    private struct Name: Hashable {
        var schema: String?
        var table: String

        /// The schema in which PostgreSQL has tables that are named without one.
        private static let usualSchema = "public"

        init(_ parts: [String]) {
            table = parts.last ?? ""
            schema = parts.count > 1 && parts[parts.count - 2] != Self.usualSchema ? parts[parts.count - 2] : nil
        }
    }

    private var found: [Name: [DeclaredTable.Column]] = [:]
    /// How many statements make no table.
    private(set) var skipped = 0

    /// The tables, by name.
    var tables: [DeclaredTable] {
        found.map { name, columns in
            DeclaredTable(name: SourceTableName(schema: name.schema ?? "main", name: name.table), columns: columns)
        }
        .sorted { ($0.name.schema, $0.name.name) < ($1.name.schema, $1.name.name) }
    }

    /// Runs the statements of a file.
    mutating func run(_ text: String) {
        let lexer = DDLLexer(text)
        for statement in lexer.statements {
            var reader = DDLReader(statement, foldsNames: !lexer.isMySQL)
            if !run(&reader) { skipped += 1 }
        }
    }

    /// Runs a statement.
    ///
    /// - Returns: Whether it is one that is read.
    private mutating func run(_ reader: inout DDLReader) -> Bool {
        if reader.takes("CREATE") { return create(&reader) }
        if reader.takes("ALTER"), reader.takes("TABLE") { return alter(&reader) }
        if reader.takes("DROP"), reader.takes("TABLE") {
            reader.takes("IF", "EXISTS")
            repeat {
                guard let name = reader.dottedName() else { return false }
                found[Name(name)] = nil
            } while reader.takesSymbol(",")
            return true
        }
        if reader.takes("RENAME"), reader.takes("TABLE") {
            guard let name = reader.dottedName(), reader.takes("TO"), let new = reader.dottedName() else {
                return false
            }
            return rename(Name(name), to: Name(new))
        }
        return false
    }

    private mutating func rename(_ name: Name, to new: Name) -> Bool {
        guard let columns = found.removeValue(forKey: name) else { return false }
        found[new] = columns
        return true
    }

    // MARK: CREATE TABLE

    private mutating func create(_ reader: inout DDLReader) -> Bool {
        reader.takes("OR", "REPLACE")
        // Tables of a session are nobody's source.
        while reader.takes("UNLOGGED") || reader.takes("FOREIGN") {}
        guard reader.takes("TABLE") else { return false }
        let keeps = reader.takes("IF", "NOT", "EXISTS")
        guard let parts = reader.dottedName() else { return false }
        let name = Name(parts)
        guard !keeps || found[name] == nil else { return true }
        if reader.takes("LIKE") {
            guard let other = reader.dottedName(), let columns = found[Name(other)] else { return false }
            found[name] = columns
            return true
        }
        // A partition has the columns of the whole, under which its rows are synced; what a query makes is not known.
        guard reader.takesSymbol("(") else { return false }
        var columns: [DeclaredTable.Column] = []
        var keys: [String] = []
        repeat {
            if reader.takesSymbol(")") { break }
            if reader.takes("LIKE") {
                if let other = reader.dottedName() { columns += found[Name(other)] ?? [] }
                reader.skipPart()
            } else if let key = reader.constraint() {
                keys += key
            } else if let column = reader.column() {
                columns.append(column)
            } else {
                reader.skipPart()
            }
        } while reader.takesSymbol(",")
        reader.takesSymbol(")")
        if reader.takes("INHERITS"), reader.takesSymbol("("), let parent = reader.dottedName() {
            columns = (found[Name(parent)] ?? []) + columns
        }
        guard !columns.isEmpty else { return false }
        found[name] = columns.withKey(keys)
        return true
    }

    // MARK: ALTER TABLE

    private mutating func alter(_ reader: inout DDLReader) -> Bool {
        reader.takes("IF", "EXISTS")
        reader.takes("ONLY")
        guard let parts = reader.dottedName(), var columns = found[Name(parts)] else { return false }
        var name = Name(parts)
        var isRead = false
        repeat {
            switch reader.action(on: &columns) {
            case .columns: isRead = true
            case .renamed(let new):
                // A new name is in the same schema.
                let next = Name(name.schema.map { [$0, new] } ?? [new])
                found[name] = nil
                (name, isRead) = (next, true)
            case .moved(let schema):
                found[name] = nil
                (name, isRead) = (Name([schema, name.table]), true)
            case nil: break
            }
            reader.skipPart()
        } while reader.takesSymbol(",")
        found[name] = columns
        return isRead
    }
}

extension [DeclaredTable.Column] {
    /// The columns, of which some are the key, and so never NULL.
    func withKey(_ names: [String]) -> Self {
        map { column in
            var column = column
            if names.contains(column.name) { column.isNotNull = true }
            return column
        }
    }
}

/// What a statement of the log says about tables (docs/mysql.md "Changed tables").
///
/// Every doubt means to look at the catalogue, and then to copy again.
enum StatementMeaning: Sendable, Hashable {
    /// Nothing about the rows or columns of a table.
    case nothing
    /// A transaction begins.
    case begin
    /// A transaction begins that is prepared before it takes effect.
    case beginPrepared
    /// It ends.
    case commit
    /// It ends, and what it did to tables with transactions is undone.
    case rollback
    /// What comes can be undone without the rest.
    case savepoint(String)
    /// What came after the savepoint is undone.
    case rollbackTo(String)
    /// A prepared transaction takes effect.
    case commitPrepared(TransactionName?)
    /// A prepared transaction is undone.
    case rollBackPrepared(TransactionName?)
    /// A table has been emptied.
    case truncate(StatementTable)
    /// Tables may be others now.
    case tables(TableStatement)
    /// Rows were changed without row events.
    case rows(RowStatement)
}

/// A name in a statement, with what stands before its point.
struct StatementTable: Sendable, Hashable {
    /// The schema; `nil` for the one of the session.
    var schema: String?
    /// The name.
    var name: String
}

/// The name of a transaction of XA.
struct TransactionName: Sendable, Hashable {
    /// The kind of the name.
    var format: UInt32
    /// What is common to the parts of a global transaction.
    var global: [UInt8]
    /// The name of this part.
    var branch: [UInt8]
}

/// A statement that changes tables, and not their rows one by one.
struct TableStatement: Sendable, Hashable {
    /// Whether tables that it names are to be copied again although the catalogue has the same as before: it shows the present, and equal
    /// means that a later statement may have undone this one.
    enum Copying: Sendable, Hashable {
        /// Never: no row is another one.
        case never
        /// If the catalogue does not tell rewritten tables from others (``MySQLTable``), and no column is named that no stream reads.
        case unlessToldByIncarnation
        /// Always.
        case always
    }

    /// All names in it, those of columns, too.
    var names: Set<StatementTable>
    /// Whether a name cannot be read: it may be any.
    var hasUnreadableName = false
    /// Whether tables are copied again.
    var copying: Copying
    /// The columns that were added, dropped or renamed: if a stream reads one, the table is copied again.
    var columns: Set<String> = []
    /// The columns that were given another type; empty with ``Copying/unlessToldByIncarnation`` if it concerns all.
    var modifiedColumns: Set<String> = []
    /// Whether columns may be at other places in rows.
    var movesColumns = false
}

/// A statement that changes rows, and is logged as text.
struct RowStatement: Sendable, Hashable {
    /// All names in it.
    var names: Set<StatementTable>
    /// Whether it calls what may change any table.
    var changesAnything: Bool
}

extension StatementMeaning {
    /// Reads a statement.
    init(_ statement: some Collection<UInt8>) {
        let words = StatementWords(statement)
        self = Self(words)
        guard statement.contains(UInt8(ascii: "\\")) else { return }
        // The session may have NO_BACKSLASH_ESCAPES: then other words are in quotes.
        switch (self, Self(StatementWords(statement, hasEscapes: false))) {
        case (.tables(var one), .tables(let other)):
            one.names.formUnion(other.names)
            one.columns.formUnion(other.columns)
            one.modifiedColumns.formUnion(other.modifiedColumns)
            one.movesColumns = one.movesColumns || other.movesColumns
            one.hasUnreadableName = one.hasUnreadableName || other.hasUnreadableName
            if other.copying == .always || one.copying == .never { one.copying = other.copying }
            self = .tables(one)
        case (.rows(var one), .rows(let other)):
            one.names.formUnion(other.names)
            one.changesAnything = one.changesAnything || other.changesAnything
            self = .rows(one)
        default: break
        }
    }

    /// Reads a statement that was cut into words.
    init(_ words: StatementWords) {
        self = StatementReader(words: words).meaning
    }
}

/// Looks at the first words of a statement.
private struct StatementReader {
    let words: StatementWords

    private var tokens: [StatementWords.Token] { words.tokens }

    /// A keyword at a place, in upper case; `nil` when something else is there.
    private func keyword(_ place: Int) -> String? {
        guard tokens.indices.contains(place), case .word(let word) = tokens[place] else { return nil }
        return word.uppercased()
    }

    /// A name at a place.
    private func name(_ place: Int) -> String? {
        guard tokens.indices.contains(place) else { return nil }
        switch tokens[place] {
        case .word(let name), .quoted(let name): return name
        case .text, .sign: return nil
        }
    }

    private func isSign(_ sign: Character, _ place: Int) -> Bool {
        tokens.indices.contains(place) && sign.asciiValue.map { tokens[place] == .sign($0) } == true
    }

    var meaning: StatementMeaning {
        guard let first = keyword(0) else {
            return tokens.isEmpty ? .nothing : .rows(rows(changingAnything: false))
        }
        switch first {
        case "BEGIN" where keyword(1) == "NOT": return .rows(rows(changingAnything: true))
        case "BEGIN": return .begin
        case "START" where keyword(1) == "TRANSACTION": return .begin
        case "COMMIT": return .commit
        case "ROLLBACK": return rollback
        case "SAVEPOINT": return .savepoint(name(1) ?? "")
        case "RELEASE", "GRANT", "REVOKE", "FLUSH", "USE": return .nothing
        case "XA": return xa
        // MariaDB: SET STATEMENT … FOR with a statement.
        case "SET" where keyword(1) == "STATEMENT": return ofRest(after: "FOR")
        case "SET": return .nothing
        case "ANALYZE" where ["TABLE", "LOCAL", "NO_WRITE_TO_BINLOG", "TABLES"].contains(keyword(1)): return .nothing
        case "CREATE": return create
        case "DROP": return drop
        case "ALTER": return alter
        case "RENAME" where keyword(1) == "USER": return .nothing
        case "RENAME": return tables(.always)
        case "OPTIMIZE": return tables(.never)
        case "TRUNCATE": return truncate
        case "INSERT" where changesSystemTable, "REPLACE" where changesSystemTable, "UPDATE" where changesSystemTable,
            "DELETE" where changesSystemTable:
            return .nothing
        case "REPAIR", "IMPORT", "LOAD", "INSERT", "REPLACE", "UPDATE", "DELETE", "MERGE", "WITH", "VALUES", "TABLE":
            return .rows(rows(changingAnything: false))
        case "CALL", "SELECT", "DO", "EXECUTE", "ANALYZE": return .rows(rows(changingAnything: true))
        default: return tables(.always)
        }
    }

    /// Whether a statement changes rows of the server's own schema, as those do with which hosts watch it.
    private var changesSystemTable: Bool {
        let skipped: Set<String> = ["LOW_PRIORITY", "HIGH_PRIORITY", "DELAYED", "QUICK", "IGNORE", "INTO", "FROM"]
        let place = tokens.indices.dropFirst().first { place in keyword(place).map { !skipped.contains($0) } ?? true }
        guard let place else { return false }
        return name(place)?.lowercased() == "mysql" && isSign(".", place + 1)
    }

    // MARK: Groups

    private var rollback: StatementMeaning {
        var place = 1
        if keyword(place) == "WORK" { place += 1 }
        guard keyword(place) == "TO" else { return .rollback }
        place += 1
        if keyword(place) == "SAVEPOINT", name(place + 1) != nil { place += 1 }
        return .rollbackTo(name(place) ?? "")
    }

    private var xa: StatementMeaning {
        switch keyword(1) {
        case "START", "BEGIN": .beginPrepared
        case "COMMIT": .commitPrepared(transactionName)
        case "ROLLBACK": .rollBackPrepared(transactionName)
        default: .nothing
        }
    }

    /// The name after `XA COMMIT`: one to three parts, as `X'61',X'',1` or `'a','',1`.
    private var transactionName: TransactionName? {
        var parts: [[UInt8]] = []
        var format: UInt32 = 1
        var place = 2
        while place < tokens.count {
            switch tokens[place] {
            case .text(let text): parts.append(Array(text.utf8))
            case .word(let word) where word.uppercased() == "X":
                guard tokens.indices.contains(place + 1), case .text(let digits) = tokens[place + 1],
                    let bytes = Self.bytes(of: digits[...])
                else { return nil }
                parts.append(bytes)
                place += 1
            case .word(let word) where word.lowercased().hasPrefix("0x"):
                guard parts.count < 2, let bytes = Self.bytes(of: word.dropFirst(2)) else { return nil }
                parts.append(bytes)
            case .word(let word):
                guard let number = UInt32(word) else { return parts.isEmpty ? nil : named(parts, format) }
                format = number
            case .sign(UInt8(ascii: ",")): break
            case .sign, .quoted: return nil
            }
            place += 1
        }
        return named(parts, format)
    }

    private func named(_ parts: [[UInt8]], _ format: UInt32) -> TransactionName? {
        guard let global = parts.first, parts.count <= 2 else { return nil }
        return TransactionName(format: format, global: global, branch: parts.count > 1 ? parts[1] : [])
    }

    private static func bytes(of digits: Substring) -> [UInt8]? {
        var bytes: [UInt8] = []
        var rest = digits
        while !rest.isEmpty {
            guard rest.utf8.count >= 2, let byte = UInt8(rest.prefix(2), radix: 16) else { return nil }
            bytes.append(byte)
            rest = rest.dropFirst(2)
        }
        return bytes
    }

    // MARK: Tables

    /// What follows a keyword, as a statement.
    private func ofRest(after keyword: String) -> StatementMeaning {
        guard let place = tokens.indices.first(where: { self.keyword($0) == keyword }) else { return tables(.always) }
        return StatementMeaning(words.dropping(place + 1))
    }

    /// The first of some keywords after the first word, and its place.
    private func kind(among kinds: Set<String>) -> (String, Int)? {
        for place in tokens.indices.dropFirst() {
            if let word = keyword(place), kinds.contains(word) { return (word, place) }
        }
        return nil
    }

    /// Of these, no row and no column of a table depends.
    private static let otherKinds: Set<String> = [
        "USER", "ROLE", "VIEW", "TRIGGER", "PROCEDURE", "FUNCTION", "EVENT", "SERVER", "RESOURCE", "UNDO", "TABLESPACE",
        "LOGFILE",
        "INSTANCE", "PACKAGE", "SEQUENCE", "REFERENCE", "TEMPORARY", "PREPARE", "LIBRARY", "MASKING", "CATALOG",
    ]
    private static let tableKinds: Set<String> = ["TABLE", "TABLES", "INDEX", "DATABASE", "SCHEMA"]

    private var create: StatementMeaning {
        switch kind(among: Self.otherKinds.union(Self.tableKinds)) {
        case ("TABLE", _)?: tables(keyword(1) == "OR" ? .always : .never)
        case (let kind, _)? where Self.tableKinds.contains(kind): tables(.never)
        case (_, _)?: .nothing
        case nil: tables(.always)
        }
    }

    private var drop: StatementMeaning {
        switch kind(among: Self.otherKinds.union(Self.tableKinds)) {
        case ("INDEX", _)?: tables(.never)
        case (let kind, _)? where Self.tableKinds.contains(kind): tables(.always)
        case (_, _)?: .nothing
        case nil: tables(.always)
        }
    }

    private var alter: StatementMeaning {
        switch kind(among: Self.otherKinds.union(Self.tableKinds)) {
        case ("TABLE", let place)?: .tables(alteredTable(after: place + 1))
        case (let kind, _)? where Self.tableKinds.contains(kind): tables(.never)
        case (_, _)?: .nothing
        case nil: tables(.always)
        }
    }

    private var truncate: StatementMeaning {
        var place = keyword(1) == "TABLE" && name(2) != nil && !isSign(".", 2) ? 2 : 1
        guard let first = name(place) else { return tables(.always) }
        place += 1
        var table = StatementTable(schema: nil, name: first)
        if isSign(".", place) {
            guard let second = name(place + 1) else { return tables(.always) }
            table = StatementTable(schema: first, name: second)
            place += 2
        }
        // MariaDB: WAIT 5 or NOWAIT; a semicolon.
        while let word = keyword(place), ["WAIT", "NOWAIT"].contains(word) || UInt64(word) != nil { place += 1 }
        if isSign(";", place) { place += 1 }
        // Not one clear name: more than one table may be meant.
        return place == tokens.count && !words.hasUnreadableName ? .truncate(table) : tables(.always)
    }

    private func tables(_ copying: TableStatement.Copying) -> StatementMeaning {
        .tables(TableStatement(names: names, hasUnreadableName: words.hasUnreadableName, copying: copying))
    }

    private func rows(changingAnything: Bool) -> RowStatement {
        RowStatement(names: names, changesAnything: changingAnything || words.hasUnreadableName)
    }

    /// All names, with what stands before their points.
    private var names: Set<StatementTable> {
        var names: Set<StatementTable> = []
        for place in tokens.indices {
            guard let name = name(place) else { continue }
            let schema = isSign(".", place - 1) ? self.name(place - 2) : nil
            names.insert(StatementTable(schema: schema, name: name))
        }
        return names
    }

    // MARK: ALTER TABLE

    /// What may stand after `ADD`, `DROP`, `CHANGE` or `RENAME` that is no column.
    private static let noColumns: Set<String> = [
        "INDEX", "KEY", "UNIQUE", "FULLTEXT", "SPATIAL", "VECTOR", "PRIMARY", "FOREIGN", "CONSTRAINT", "CHECK",
        "PARTITION", "DEFAULT",
        "SYSTEM", "PERIOD",
    ]
    private static let rewriting: Set<String> = ["CONVERT", "PARTITION", "PARTITIONING", "SYSTEM", "COMPRESSED"]

    private func alteredTable(after start: Int) -> TableStatement {
        var statement = TableStatement(
            names: names,
            hasUnreadableName: words.hasUnreadableName,
            copying: .never
        )
        var isRewriting = false
        for place in tokens.indices.dropFirst(start) {
            guard let word = keyword(place), !isSign(".", place - 1) else { continue }
            let next = keyword(place + 1)
            switch word {
            case "EXCHANGE", "IMPORT", "DISCARD": statement.copying = .always
            case "RENAME"
            where next == "TO" || next == "AS" || next == nil
                || next != "COLUMN" && !Self.noColumns.contains(next ?? ""):
                statement.copying = .always
            case "ADD", "DROP", "CHANGE", "RENAME", "MODIFY":
                guard next.map({ !Self.noColumns.contains($0) }) ?? true else { break }
                let columns = columns(after: place + 1, isRenamed: word == "CHANGE" || word == "RENAME")
                if word == "MODIFY" {
                    statement.modifiedColumns.formUnion(columns)
                } else {
                    statement.columns.formUnion(columns)
                    statement.movesColumns = true
                }
            case "FIRST", "AFTER": statement.movesColumns = true
            default: isRewriting = isRewriting || Self.rewriting.contains(word)
            }
        }
        if statement.copying == .never, isRewriting || !statement.modifiedColumns.isEmpty {
            statement.copying = .unlessToldByIncarnation
        }
        if isRewriting { statement.modifiedColumns = [] }
        return statement
    }

    /// The columns at a place: one, two of a rename, or those in parentheses.
    private func columns(after start: Int, isRenamed: Bool) -> Set<String> {
        var place = start
        if keyword(place) == "COLUMN", !isSign(",", place + 1) { place += 1 }
        if keyword(place) == "IF" {
            place += 1
            while let word = keyword(place), word == "NOT" || word == "EXISTS" { place += 1 }
        }
        if isSign("(", place) {
            // Names of types are no columns, and do no harm.
            var depth = 0
            var columns: Set<String> = []
            for place in tokens.indices.dropFirst(place) {
                if isSign("(", place) { depth += 1 }
                if isSign(")", place) { depth -= 1 }
                if depth == 0 { break }
                if let name = name(place) { columns.insert(name.lowercased()) }
            }
            return columns
        }
        guard let first = name(place) else { return [] }
        guard isRenamed else { return [first.lowercased()] }
        let second = keyword(place + 1) == "TO" ? name(place + 2) : name(place + 1)
        return Set([first, second].compactMap { $0?.lowercased() })
    }
}

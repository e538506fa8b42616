import PowerSyncSyncConfig

/// Reads the parts of a statement that makes or changes a table.
struct DDLReader {
    private var tokens: ArraySlice<DDLToken>
    /// Whether names without quotes are those in lower case, as in PostgreSQL.
    private let foldsNames: Bool

    /// Creates a reader of a statement.
    init(_ statement: [DDLToken], foldsNames: Bool) {
        tokens = statement[...]
        self.foldsNames = foldsNames
    }

    // MARK: Tokens

    /// Takes words if they come next, all of them.
    @discardableResult
    mutating func takes(_ words: String...) -> Bool {
        guard tokens.count >= words.count, zip(tokens, words).allSatisfy({ $0.isWord($1) }) else { return false }
        tokens.removeFirst(words.count)
        return true
    }

    /// Takes a character if it comes next.
    @discardableResult
    mutating func takesSymbol(_ symbol: String) -> Bool {
        guard tokens.first?.isSymbol(symbol) == true else { return false }
        tokens.removeFirst()
        return true
    }

    /// Takes a name.
    private mutating func name() -> String? {
        switch tokens.first {
        case .word(let word)?:
            tokens.removeFirst()
            return foldsNames ? word.lowercased() : word
        case .name(let name)?:
            tokens.removeFirst()
            return name
        default: return nil
        }
    }

    /// Takes a name with what may stand before it: the schema, the database.
    mutating func dottedName() -> [String]? {
        guard let first = name() else { return nil }
        var names = [first]
        while takesSymbol("."), let next = name() { names.append(next) }
        return names
    }

    /// Takes what comes before the next comma, or the end of the list.
    mutating func skipPart() {
        var depth = 0
        while let token = tokens.first {
            if depth == 0, token.isSymbol(",") || token.isSymbol(")") { return }
            if token.isSymbol("(") { depth += 1 }
            if token.isSymbol(")") { depth -= 1 }
            tokens.removeFirst()
        }
    }

    /// Takes a list of names in brackets; of others the first word of each entry.
    private mutating func names() -> [String] {
        guard takesSymbol("(") else { return [] }
        var names: [String] = []
        repeat {
            if let name = name() { names.append(name) }
            skipPart()
        } while takesSymbol(",")
        takesSymbol(")")
        return names
    }

    // MARK: Constraints

    private static let constraints: Set<String> = ["CONSTRAINT", "PRIMARY", "UNIQUE", "FOREIGN", "CHECK", "EXCLUDE"]
    private static let indexes: Set<String> = ["KEY", "INDEX", "FULLTEXT", "SPATIAL"]

    /// Takes a part of a table that is no column.
    ///
    /// - Returns: The columns of the key if it is that; `nil` when a column comes next.
    mutating func constraint() -> [String]? {
        guard case .word(let word)? = tokens.first else { return nil }
        if Self.indexes.contains(word.uppercased()) {
            // A column may have the name: it is followed by a type, with a number in brackets if with any.
            let rest = tokens.dropFirst().prefix { !$0.isSymbol("(") && !$0.isSymbol(",") && !$0.isSymbol(")") }
            let behind = tokens[rest.endIndex...].prefix(2)
            let isIndex: Bool =
                switch behind.last {
                case .word?, .name?:
                    behind.count == 2 && behind.first?.isSymbol("(") == true && rest.count <= 2
                        && !rest.contains { $0.isOption && !$0.isWord("KEY") }
                default: false
                }
            guard isIndex else { return nil }
            skipPart()
            return []
        }
        guard isAtConstraint else { return nil }
        if takes("CONSTRAINT"), !isAtConstraint { _ = name() }
        let key = takes("PRIMARY", "KEY") ? names() : []
        skipPart()
        return key
    }

    private var isAtConstraint: Bool {
        guard case .word(let word)? = tokens.first else { return false }
        return Self.constraints.contains(word.uppercased())
    }

    // MARK: Columns

    /// The words behind the type of a column.
    fileprivate static let options: Set<String> = [
        "NOT", "NULL", "DEFAULT", "PRIMARY", "UNIQUE", "REFERENCES", "CHECK", "CONSTRAINT", "COLLATE", "GENERATED",
        "AS",
        "AUTO_INCREMENT", "AUTOINCREMENT", "COMMENT", "ON", "CHARSET", "KEY", "STORAGE", "COMPRESSION", "VIRTUAL",
        "STORED", "VISIBLE", "INVISIBLE", "USING", "FIRST", "AFTER", "SRID",
    ]

    /// Takes a column: its name, its type, and whether it may be NULL.
    mutating func column() -> DeclaredTable.Column? {
        guard let name = name() else { return nil }
        let type = type()
        return .init(name: name, type: type, isNotNull: isNotNull() || type.lowercased().hasSuffix("serial"))
    }

    /// Takes the name of a type as it is written, with a space between words.
    private mutating func type() -> String {
        var type = ""
        var depth = 0
        var previous: DDLToken?
        while let token = tokens.first {
            if depth == 0 {
                if token.isSymbol(",") || token.isSymbol(")") { break }
                if token.isOption { break }
                if token.isWord("CHARACTER"), tokens.dropFirst().first?.isWord("SET") == true { break }
            }
            if token.isSymbol("(") { depth += 1 }
            if token.isSymbol(")") { depth -= 1 }
            if token.isSymbol("[") {
                // Of an array with a length, too.
                type += "[]"
                while let next = tokens.popFirst(), !next.isSymbol("]") {}
                continue
            }
            switch token {
            case .word(let text), .name(let text):
                let isFirst = type.isEmpty || previous?.isSymbol("(") == true || previous?.isSymbol(".") == true
                type += isFirst ? text : " \(text)"
            case .text: type += "''"
            case .symbol(let text): type += text
            }
            previous = token
            tokens.removeFirst()
        }
        // The years of MySQL are numbers, whatever their digits.
        if type.lowercased() == "year" || type.lowercased().hasPrefix("year(") { return "integer" }
        // The schema of a type says nothing about its values.
        return type.split(separator: ".").last.map { String($0) } ?? ""
    }

    /// Takes the options of a column.
    private mutating func isNotNull() -> Bool {
        var isNotNull = false
        var depth = 0
        while let token = tokens.first {
            if depth == 0 {
                if token.isSymbol(",") || token.isSymbol(")") { break }
                if takes("NOT", "NULL") || takes("PRIMARY") || takes("AUTO_INCREMENT") || takes("IDENTITY") {
                    isNotNull = true
                    continue
                }
            }
            if token.isSymbol("(") { depth += 1 }
            if token.isSymbol(")") { depth -= 1 }
            tokens.removeFirst()
        }
        return isNotNull
    }

    // MARK: Changes

    /// What a part of `ALTER TABLE` changes besides columns.
    enum Action: Equatable {
        /// The columns, which have been changed.
        case columns
        /// The name of the table.
        case renamed(String)
        /// The schema of the table.
        case moved(String)
    }

    /// Takes a part of `ALTER TABLE`; what follows it is left.
    ///
    /// - Parameter columns: The columns of the table.
    /// - Returns: What has changed; `nil` for nothing that is read.
    mutating func action(on columns: inout [DeclaredTable.Column]) -> Action? {
        if takes("ADD") { return add(to: &columns) }
        if takes("DROP") {
            for word in ["CONSTRAINT", "INDEX", "KEY", "PRIMARY", "FOREIGN", "CHECK", "PARTITION"]
            where takes(word) { return nil }
            takes("COLUMN")
            takes("IF", "EXISTS")
            guard let name = name() else { return nil }
            columns.removeAll { $0.name == name }
            return .columns
        }
        if takes("RENAME") {
            if takes("CONSTRAINT") || takes("INDEX") || takes("KEY") { return nil }
            if takes("TO") || takes("AS") { return dottedName()?.last.map { .renamed($0) } }
            takes("COLUMN")
            guard let name = name(), takes("TO"), let new = self.name() else { return nil }
            for index in columns.indices where columns[index].name == name { columns[index].name = new }
            return .columns
        }
        if takes("MODIFY") {
            takes("COLUMN")
            guard let column = column() else { return nil }
            return replace(column.name, by: column, in: &columns)
        }
        if takes("CHANGE") {
            takes("COLUMN")
            guard let name = name(), let column = column() else { return nil }
            return replace(name, by: column, in: &columns)
        }
        if takes("SET", "SCHEMA") { return name().map { .moved($0) } }
        if takes("ALTER") { return alterColumn(of: &columns) }
        return nil
    }

    private mutating func add(to columns: inout [DeclaredTable.Column]) -> Action? {
        if tokens.first?.isWord("COLUMN") != true, tokens.first?.isSymbol("(") != true, let key = constraint() {
            columns = columns.withKey(key)
            return key.isEmpty ? nil : .columns
        }
        takes("COLUMN")
        takes("IF", "NOT", "EXISTS")
        let isList = takesSymbol("(")
        repeat {
            guard let column = column() else { return nil }
            if !columns.contains(where: { $0.name == column.name }) { columns.append(column) }
        } while isList && takesSymbol(",")
        if isList { takesSymbol(")") }
        return .columns
    }

    private func replace(
        _ name: String,
        by column: DeclaredTable.Column,
        in columns: inout [DeclaredTable.Column]
    ) -> Action? {
        guard let index = columns.firstIndex(where: { $0.name == name }) else { return nil }
        columns[index] = column
        return .columns
    }

    private mutating func alterColumn(of columns: inout [DeclaredTable.Column]) -> Action? {
        takes("COLUMN")
        guard let name = name(), let index = columns.firstIndex(where: { $0.name == name }) else { return nil }
        if takes("SET", "NOT", "NULL") {
            columns[index].isNotNull = true
        } else if takes("DROP", "NOT", "NULL") {
            columns[index].isNotNull = false
        } else if takes("TYPE") || takes("SET", "DATA", "TYPE") {
            columns[index].type = type()
        } else {
            return nil
        }
        return .columns
    }
}

extension DDLToken {
    /// Whether the token is a word behind the type of a column.
    fileprivate var isOption: Bool {
        if case .word(let word) = self { DDLReader.options.contains(word.uppercased()) } else { false }
    }
}

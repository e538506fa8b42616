/// Builds the syntax tree of a query by recursive descent.
///
/// What the full language has and this version does not is recognised and reported as `sql.not_supported_yet`; what the
/// language does not have gets its own code. Either way parsing stops at the first problem.
struct SQLParser {
    /// How deep parentheses, `NOT`, calls and subqueries may be nested.
    ///
    /// Bounds the recursion of everything that walks the tree.
    static let maximumDepth = 64

    private let tokens: [SQLToken]
    private var position = 0
    private var depth = 0

    /// Parses a query: one `SELECT`, with an optional semicolon at the end.
    ///
    /// - Throws: The first problem.
    static func parse(_ text: String) throws(SQLProblem) -> SQLSelect {
        var parser = SQLParser(tokens: try SQLLexer.tokens(of: text))
        let select = try parser.statement()
        return select
    }

    private init(tokens: [SQLToken]) {
        self.tokens = tokens
    }
}

// MARK: - Tokens

extension SQLParser {
    /// The next token.
    ///
    /// The list ends with an end token that is never passed.
    var next: SQLToken { tokens[position] }

    /// The end of the last token that was read.
    var end: Int { position > 0 ? tokens[position - 1].range.upperBound : 0 }

    /// The token after the next one.
    var second: SQLToken { tokens[min(position + 1, tokens.count - 1)] }

    mutating func advance() {
        if position < tokens.count - 1 { position += 1 }
    }

    /// Reads a keyword or symbol if it comes next.
    mutating func take(_ kind: SQLToken.Kind) -> Bool {
        guard next.kind == kind else { return false }
        advance()
        return true
    }

    /// Reads a keyword or symbol.
    mutating func expect(_ kind: SQLToken.Kind, _ what: String) throws(SQLProblem) {
        guard take(kind) else { throw unexpected(expected: what) }
    }

    /// Whether one of some keywords comes next.
    func nextIsWord(in words: Set<String>) -> Bool {
        if case .word(let word) = next.kind { words.contains(word) } else { false }
    }

    /// Runs a part of the parser one level deeper.
    mutating func nested<Result>(
        _ body: (inout SQLParser) throws(SQLProblem) -> Result
    ) throws(SQLProblem) -> Result {
        guard depth < Self.maximumDepth else {
            throw problem(.sqlSyntax, "The query is nested more than \(Self.maximumDepth) levels deep.")
        }
        depth += 1
        defer { depth -= 1 }
        return try body(&self)
    }

    /// A problem with the next token.
    func problem(_ code: DiagnosticCode, _ message: String) -> SQLProblem {
        SQLProblem(code: code, message: message, range: next.range)
    }

    /// A part of the language that has to wait, at the next token.
    func notYet(_ what: String, _ instead: String = "") -> SQLProblem {
        problem(.sqlNotSupportedYet, "\(what) not supported yet.\(instead.isEmpty ? "" : " " + instead)")
    }

    /// A syntax error at the next token.
    func unexpected(expected: String) -> SQLProblem {
        problem(.sqlSyntax, "Expected \(expected), found \(next.kind.description).")
    }
}

extension SQLToken.Kind: CustomStringConvertible {
    /// The token in a message.
    var description: String {
        switch self {
        case .word(let word): "“\(word)”"
        case .quotedName(let name): "“\"\(name)\"”"
        case .string: "a string"
        case .integer, .real: "a number"
        case .symbol(let symbol): "“\(symbol)”"
        case .end: "the end of the query"
        }
    }
}

// MARK: - Statement

extension SQLParser {
    private mutating func statement() throws(SQLProblem) -> SQLSelect {
        guard next.kind == .word("select") else {
            if next.kind == .end { throw problem(.sqlSyntax, "The query is empty.") }
            if next.kind == .word("with") {
                throw problem(
                    .sqlNotSelect,
                    "WITH is not part of a query; common table expressions are written in YAML."
                )
            }
            throw problem(.sqlNotSelect, "A query must be a SELECT statement, found \(next.kind.description).")
        }
        let select = try select()
        _ = take(.symbol(";"))
        guard next.kind == .end else {
            if end > 0, tokens[position - 1].kind == .symbol(";") {
                throw problem(.sqlSyntax, "A query is one statement; nothing may follow the semicolon.")
            }
            throw unexpected(expected: "the end of the query")
        }
        return select
    }

    /// `SELECT … FROM … WHERE …`, the keyword comes next.
    mutating func select() throws(SQLProblem) -> SQLSelect {
        let start = next.range.lowerBound
        advance()
        if take(.word("distinct")) {
            if next.kind == .word("on") { throw problem(.sqlUnsupportedClause, "DISTINCT ON is not supported.") }
        } else {
            _ = take(.word("all"))
        }
        var columns = [try column()]
        while take(.symbol(",")) { columns.append(try column()) }
        try checkClause()
        var select = SQLSelect(columns: columns, range: start..<end)
        if take(.word("from")) {
            select.table = try table()
            try checkJoin()
        }
        if take(.word("where")) {
            select.condition = try expression()
        }
        try checkClause()
        select.range = start..<end
        return select
    }

    private func checkClause() throws(SQLProblem) {
        guard case .word(let word) = next.kind, SQLVocabulary.unsupportedClauses.contains(word) else { return }
        throw problem(
            .sqlUnsupportedClause,
            "\(word.uppercased()) is not supported: a stream syncs all rows that match its conditions."
        )
    }

    private func checkJoin() throws(SQLProblem) {
        if nextIsWord(in: SQLVocabulary.unsupportedJoins), case .word(let word) = next.kind {
            throw problem(.sqlUnsupportedClause, "\(word.uppercased()) joins are not supported.")
        }
        if next.kind == .symbol(",") || next.kind == .word("join") || next.kind == .word("inner") {
            throw notYet("Joins are", "Use “IN (SELECT …)”.")
        }
        if next.kind == .word("tablesample") {
            throw problem(.sqlUnsupportedClause, "TABLESAMPLE is not supported.")
        }
    }

    private mutating func column() throws(SQLProblem) -> SQLColumn {
        let start = next.range.lowerBound
        if take(.symbol("*")) { return SQLColumn(kind: .star(table: nil), range: start..<end) }
        if let table = name(next), second.kind == .symbol("."), position + 2 < tokens.count,
            tokens[position + 2].kind == .symbol("*")
        {
            position += 3
            return SQLColumn(kind: .star(table: table), range: start..<end)
        }
        let expression = try expression()
        let alias: SQLName?
        if take(.word("as")) {
            alias = try anyName("a column name after AS")
        } else {
            alias = bareAlias()
        }
        return SQLColumn(kind: .expression(expression, alias: alias), range: start..<end)
    }

    private mutating func table() throws(SQLProblem) -> SQLTable {
        if next.kind == .symbol("(") { throw notYet("Subqueries in FROM are") }
        if next.kind == .word("lateral") || next.kind == .word("only") {
            throw problem(.sqlUnsupportedClause, "\(next.kind.description) is not supported in FROM.")
        }
        var parts = [try requiredName("a table name")]
        while take(.symbol(".")) { parts.append(try anyName("a table name")) }
        if next.kind == .symbol("(") {
            throw SQLProblem(
                code: .sqlNotSupportedYet,
                message: "Table-valued functions are not supported yet.",
                range: parts[0].range
            )
        }
        guard parts.count <= 2 else {
            throw SQLProblem(
                code: .sqlNotSupportedYet,
                message: "Connection names before a schema are not supported yet.",
                range: parts[0].range
            )
        }
        var table = SQLTable(schema: parts.count == 2 ? parts[0] : nil, name: parts[parts.count - 1])
        if take(.word("as")) {
            table.alias = try requiredName("an alias after AS")
        } else {
            table.alias = bareAlias()
        }
        if table.alias != nil, next.kind == .symbol("(") {
            throw problem(.sqlUnsupportedClause, "Column aliases of a table are not supported.")
        }
        return table
    }
}

// MARK: - Names

extension SQLParser {
    /// The name that a token is, unless it is a reserved word.
    func name(_ token: SQLToken) -> SQLName? {
        switch token.kind {
        case .word(let word) where !SQLVocabulary.reserved.contains(word):
            SQLName(text: word, isQuoted: false, range: token.range)
        case .quotedName(let name):
            SQLName(text: name, isQuoted: true, range: token.range)
        default:
            nil
        }
    }

    /// Reads a name.
    mutating func requiredName(_ what: String) throws(SQLProblem) -> SQLName {
        guard let name = name(next) else {
            if case .word(let word) = next.kind {
                throw problem(.sqlSyntax, "“\(word)” is a reserved word; to use it as \(what), write \"\(word)\".")
            }
            throw unexpected(expected: what)
        }
        advance()
        return name
    }

    /// Reads a name where reserved words are names, too: after a dot and after `AS`.
    mutating func anyName(_ what: String) throws(SQLProblem) -> SQLName {
        if case .word(let word) = next.kind {
            defer { advance() }
            return SQLName(text: word, isQuoted: false, range: next.range)
        }
        return try requiredName(what)
    }

    /// Reads an alias without `AS` if one comes next.
    mutating func bareAlias() -> SQLName? {
        guard let alias = name(next), alias.isQuoted || !SQLVocabulary.noBareAlias.contains(alias.text) else {
            return nil
        }
        advance()
        return alias
    }
}

/// Builds the syntax tree of a query by recursive descent (docs/sync-config.md "SQL").
///
/// A problem ends the part of the query that it is in: a column, an item after `FROM`, the condition. Reading goes on at
/// the next one, so that one run finds the mistakes of all parts.
struct SQLParser {
    /// How deep parentheses, `NOT`, calls and subqueries may be nested.
    ///
    /// Bounds the recursion of the parser.
    static let maximumDepth = 64

    /// The most levels that the tree of an expression may have.
    ///
    /// Bounds the recursion of everything that walks the tree; chains such as `a || b || …` grow to one side.
    static let maximumHeight = 100

    private let tokens: [SQLToken]
    /// What kind of query it is: a `SELECT` of a parameter query may go on with `FROM` or `WHERE` at once.
    let dialect: BindingOptions.Dialect
    /// The edition of the sync config: hints say what it has.
    private let edition: Int
    /// Whether what is read is a result column, and no condition.
    var isInColumns = false
    private var position = 0
    private var depth = 0
    private var problems: [SQLProblem] = []
    /// Whether the tree lacks a table, so that names cannot be resolved.
    private var lacksTables = false
    /// Whether the query is nested too deep: what is found missing after that is no news.
    private var isTooDeep = false

    /// What a query is made of, as far as it could be read.
    struct Result {
        /// The syntax tree; `nil` when the text is no `SELECT`, or when a table could not be read.
        var select: SQLSelect?
        /// What is wrong.
        var problems: [SQLProblem]
    }

    /// Parses a query: one `SELECT`, with optional semicolons at the end.
    ///
    /// - Parameters:
    ///   - text: The query.
    ///   - dialect: What kind of query it is.
    ///   - edition: The edition of the sync config.
    /// - Returns: The syntax tree and all problems.
    static func parse(
        _ text: SQLSources.Text,
        as dialect: BindingOptions.Dialect = .stream,
        edition: Int = 3
    ) -> Result {
        var parser = SQLParser(tokens: SQLLexer.tokens(of: text), dialect: dialect, edition: edition)
        let select = parser.statement()
        return Result(select: parser.lacksTables ? nil : select, problems: parser.problems)
    }

    private init(tokens: [SQLToken], dialect: BindingOptions.Dialect, edition: Int) {
        self.tokens = tokens
        self.dialect = dialect
        self.edition = edition
    }
}

// MARK: - Tokens

extension SQLParser {
    /// The next token.
    ///
    /// The list ends with an end token that is never passed.
    var next: SQLToken { tokens[position] }

    /// The end of the last token that was read.
    var end: Int { position > 0 ? tokens[position - 1].range.upperBound : tokens[0].range.lowerBound }

    /// The token after the next one.
    var second: SQLToken { token(after: 1) }

    /// The token some places after the next one.
    func token(after count: Int) -> SQLToken { tokens[min(position + count, tokens.count - 1)] }

    mutating func advance(by count: Int = 1) {
        position = min(position + count, tokens.count - 1)
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
            let problem = problem(.sqlSyntax, "The query is nested more than \(Self.maximumDepth) levels deep.")
            if !isTooDeep { problems.append(problem) }
            isTooDeep = true
            throw problem
        }
        depth += 1
        defer { depth -= 1 }
        return try body(&self)
    }

    /// An expression, unless its tree is too high.
    func make(_ kind: SQLExpression.Kind, from start: Int) throws(SQLProblem) -> SQLExpression {
        let expression = SQLExpression(kind: kind, range: start..<max(start, end))
        guard expression.height <= Self.maximumHeight else {
            throw SQLProblem(
                code: .sqlSyntax,
                message: "The expression has more than \(Self.maximumHeight) levels.",
                range: expression.range
            )
        }
        return expression
    }

    /// A problem with the next token.
    func problem(_ code: DiagnosticCode, _ message: String, hint: String? = nil) -> SQLProblem {
        SQLProblem(code: code, message: message, hint: hint, range: next.range)
    }

    /// A syntax error at the next token.
    func unexpected(expected: String, hint: String? = nil) -> SQLProblem {
        if case .invalid(let problem) = next.kind { return problem }
        return problem(.sqlSyntax, "Expected \(expected), found \(next.kind.description).", hint: hint)
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
        case .invalid: "something that is not SQL"
        case .end: "the end of the query"
        }
    }
}

// MARK: - Recovery

extension SQLParser {
    /// Reads a part of the query; a problem is kept, and reading goes on behind the part.
    ///
    /// - Returns: `nil` when there was a problem.
    private mutating func recovering<Part>(
        isInFrom: Bool = false,
        _ body: (inout SQLParser) throws(SQLProblem) -> Part
    ) -> Part? {
        let (start, outerDepth) = (position, depth)
        do throws(SQLProblem) {
            return try body(&self)
        } catch {
            depth = outerDepth
            if !isTooDeep { problems.append(error) }
            skipPart(from: start, isInFrom: isInFrom)
            return nil
        }
    }

    /// Skips to the next comma, clause or closing parenthesis that belongs to the part that began at `start`.
    private mutating func skipPart(from start: Int, isInFrom: Bool) {
        let problem = position
        position = start
        var parentheses = 0
        while next.kind != .end {
            let mayEnd = position >= problem && parentheses <= 0
            switch next.kind {
            case .symbol("("), .symbol("["):
                parentheses += 1
            case .symbol(")"), .symbol("]"):
                if mayEnd { return }
                parentheses -= 1
            case .symbol(","), .symbol(";"):
                if mayEnd { return }
            case .word(let word):
                if mayEnd, SQLVocabulary.clauses.contains(word) || (isInFrom && word == "join") { return }
            default:
                break
            }
            advance()
        }
    }
}

// MARK: - Statement

extension SQLParser {
    private mutating func statement() -> SQLSelect? {
        guard next.kind == .word("select") else {
            let problem =
                switch next.kind {
                case .end: problem(.sqlSyntax, "The query is empty.")
                case .word("with"):
                    problem(.sqlNotSelect, "WITH is not part of a query.", hint: commonTables)
                case .invalid(let problem): problem
                default: problem(.sqlNotSelect, "A query must be a SELECT statement, found \(next.kind.description).")
                }
            problems.append(problem)
            return nil
        }
        let select = select()
        if take(.symbol(";")) {
            while take(.symbol(";")) {}
            if next.kind != .end {
                problems.append(
                    problem(.sqlManyStatements, "A query is one statement.", hint: severalQueries)
                )
            }
        } else if next.kind != .end, !isTooDeep, !problems.contains(where: { $0.range == next.range }) {
            problems.append(unexpectedEnd())
        }
        return select
    }

    /// Where several queries can stand.
    private var severalQueries: String {
        switch dialect {
        case .stream where edition < 3: "Make a stream of each: “queries” for several needs edition 3."
        case .stream: "Use “queries” for several."
        case .parameterQuery: "Make “parameters” a list of queries."
        case .dataQuery: "Add it to the list “data”."
        }
    }

    /// Where common table expressions can stand.
    private var commonTables: String {
        switch dialect {
        case .stream where edition < 3:
            "Write the query in parentheses in the place of its name; “with” needs edition 3."
        case .stream: "Write “with” in the YAML."
        case .parameterQuery, .dataQuery: "Write a stream: bucket definitions have no common table expressions."
        }
    }

    /// The problem with what follows a complete query.
    private func unexpectedEnd() -> SQLProblem {
        guard case .word(let word) = next.kind else { return unexpected(expected: "the end of the query") }
        if word == "union" {
            return problem(.sqlNotSelect, "UNION is not supported.", hint: severalQueries)
        }
        guard SQLVocabulary.unsupportedClauses.contains(word) else {
            return unexpected(expected: "the end of the query")
        }
        return problem(
            .sqlUnsupportedClause,
            "\(word.uppercased()) is not supported.",
            hint: "A stream syncs all rows that match its conditions."
        )
    }

    /// `SELECT … FROM … WHERE …`, the keyword comes next.
    mutating func select() -> SQLSelect {
        var select = SQLSelect(range: next.range)
        let start = next.range.lowerBound
        advance()
        if next.kind == .word("distinct") {
            select.distinct = next.range
            advance()
        } else {
            _ = take(.word("all"))
        }
        if next.kind == .word("on") {
            problems.append(problem(.sqlUnsupportedClause, "DISTINCT ON is not supported."))
            skipPart(from: position, isInFrom: false)
        } else if !hasNoColumns {
            repeat {
                if let column = recovering({ parser throws(SQLProblem) in try parser.column() }) {
                    select.columns.append(column)
                }
            } while take(.symbol(","))
        } else if dialect != .parameterQuery || next.kind == .end || next.kind == .symbol(")") {
            let hint = dialect == .parameterQuery ? "Write “request.user_id() AS user_id”." : "Write “*” for all."
            problems.append(problem(.sqlUnsupportedClause, "A SELECT needs columns.", hint: hint))
        }
        if take(.word("from")) { from(&select) }
        if take(.word("where")), let condition = recovering({ parser throws(SQLProblem) in try parser.expression() }) {
            select.conditions.append(condition)
        }
        select.range = start..<end
        return select
    }

    /// Whether what comes next ends the column list.
    private var hasNoColumns: Bool {
        switch next.kind {
        case .word("from"), .word("where"), .end, .symbol(")"): true
        default: false
        }
    }

    private mutating func from(_ select: inout SQLSelect) {
        while true {
            let item = recovering(isInFrom: true) { parser throws(SQLProblem) in try parser.source() }
            if let item { select.sources.append(item) } else { lacksTables = true }
            if item != nil, take(.word("on")) {
                let condition = recovering(isInFrom: true) { parser throws(SQLProblem) in try parser.expression() }
                if let condition { select.conditions.append(condition) }
            }
            let isNext = recovering(isInFrom: true) { parser throws(SQLProblem) in try parser.nextJoin() }
            guard isNext ?? false else { return }
        }
    }

    /// Reads what connects two items after `FROM`, if it comes next.
    private mutating func nextJoin() throws(SQLProblem) -> Bool {
        if take(.symbol(",")) { return true }
        if next.kind == .word("inner"), second.kind == .word("join") { advance() }
        if take(.word("join")) { return true }
        guard case .word(let word) = next.kind else { return false }
        if SQLVocabulary.unsupportedJoins.contains(word) {
            problems.append(
                problem(
                    .sqlUnsupportedClause,
                    "\(word.uppercased()) joins are not supported.",
                    hint: dialect == .stream
                        ? "Only inner joins are: JOIN … ON, or a comma and a condition in WHERE."
                        : "Bucket definitions have no joins: write a stream (edition 3)."
                )
            )
            while nextIsWord(in: SQLVocabulary.unsupportedJoins) { advance() }
            return take(.word("join"))
        }
        if word == "using" || word == "tablesample" {
            throw problem(.sqlUnsupportedClause, "\(word.uppercased()) is not supported.", hint: "Use ON.")
        }
        return false
    }
}

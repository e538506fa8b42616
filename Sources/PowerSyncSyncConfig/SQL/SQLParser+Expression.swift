/// Expressions by precedence climbing, weakest operator first (docs/sync-config.md "SQL"):
///
/// ```
/// OR   AND   NOT   = <> !=   IS   < > <= >=   BETWEEN   & | << >>   IN   + - || &&   * / %   -> ->> ::
/// ```
///
/// This is the order of the established service and not PostgreSQL's. Equal operators go from left to right.
extension SQLParser {
    /// How tightly an operator binds.
    enum Precedence: Int, Comparable {
        case or, and, not, equality, `is`, relational, between, bits, `in`, additive, multiplicative, postfix

        static func < (lhs: Precedence, rhs: Precedence) -> Bool { lhs.rawValue < rhs.rawValue }

        /// The next tighter level, for the right side of an operator.
        var tighter: Precedence { Precedence(rawValue: rawValue + 1) ?? .postfix }
    }

    private static let operators: [String: (SQLOperator, Precedence)] = [
        "=": (.equal, .equality), "!=": (.unequal, .equality), "<>": (.unequal, .equality),
        "<": (.less, .relational), ">": (.greater, .relational),
        "<=": (.lessOrEqual, .relational), ">=": (.greaterOrEqual, .relational),
        "&": (.bitAnd, .bits), "|": (.bitOr, .bits), "<<": (.shiftLeft, .bits), ">>": (.shiftRight, .bits),
        "+": (.add, .additive), "-": (.subtract, .additive), "||": (.concatenate, .additive),
        "*": (.multiply, .multiplicative), "/": (.divide, .multiplicative), "%": (.remainder, .multiplicative),
    ]

    /// An expression.
    mutating func expression() throws(SQLProblem) -> SQLExpression {
        try nested { parser throws(SQLProblem) in try parser.expression(.or) }
    }

    /// An expression whose operators bind at least as tightly as a level.
    mutating func expression(_ minimum: Precedence) throws(SQLProblem) -> SQLExpression {
        var result = try prefix(minimum)
        while let extended = try suffix(of: result, minimum) { result = extended }
        return result
    }

    private mutating func prefix(_ minimum: Precedence) throws(SQLProblem) -> SQLExpression {
        guard next.kind == .word("not") else { return try primary() }
        guard minimum <= .not else {
            throw problem(.sqlSyntax, "NOT binds weaker than the operator before it.", hint: "Add parentheses.")
        }
        let start = next.range.lowerBound
        advance()
        let operand = try nested { parser throws(SQLProblem) in try parser.expression(.not) }
        return try make(.not(operand), from: start)
    }

    /// The expression that begins with `lhs` and goes on with one operator; `nil` when none follows that binds tightly
    /// enough.
    private mutating func suffix(
        of lhs: SQLExpression,
        _ minimum: Precedence
    ) throws(SQLProblem) -> SQLExpression? {
        switch next.kind {
        case .symbol(let symbol): try suffix(of: lhs, symbol: symbol, minimum)
        case .word(let word): try suffix(of: lhs, word: word, minimum)
        default: nil
        }
    }

    private mutating func suffix(
        of lhs: SQLExpression,
        symbol: String,
        _ minimum: Precedence
    ) throws(SQLProblem) -> SQLExpression? {
        let start = lhs.range.lowerBound
        if let (binary, level) = Self.operators[symbol] {
            guard level >= minimum else { return nil }
            advance()
            if binary == .equal, next.kind == .symbol("=") {
                throw unexpected(expected: "an expression", hint: "Equality is written with one “=”.")
            }
            let rhs = try expression(level.tighter)
            return try make(.binary(binary, lhs, rhs), from: start)
        }
        switch symbol {
        case "&&":
            guard minimum <= .additive else { return nil }
            advance()
            let collection = try collection(list: false, .multiplicative)
            return try make(.overlap(lhs, collection), from: start)
        case "->", "->>":
            advance()
            let isMember = symbol == "->"
            let key = try memberKey()
            return try make(.binary(isMember ? .member : .memberValue, lhs, key), from: start)
        case "::":
            advance()
            let type = try type()
            return try make(.cast(lhs, type), from: start)
        case _ where SQLVocabulary.unsupportedOperators.contains(symbol):
            throw problem(.sqlUnsupportedExpression, "The operator “\(symbol)” is not supported.")
        default:
            return nil
        }
    }

    private mutating func suffix(
        of lhs: SQLExpression,
        word: String,
        _ minimum: Precedence
    ) throws(SQLProblem) -> SQLExpression? {
        let start = lhs.range.lowerBound
        switch word {
        case "or" where minimum <= .or:
            var terms = [lhs]
            while take(.word("or")) { terms.append(try expression(.and)) }
            return try make(.or(terms), from: start)
        case "and" where minimum <= .and:
            var terms = [lhs]
            while take(.word("and")) { terms.append(try expression(.not)) }
            return try make(.and(terms), from: start)
        case "is" where minimum <= .is:
            return try test(lhs)
        case "isnull" where minimum <= .is, "notnull" where minimum <= .is:
            advance()
            return try make(.test(lhs, .null, isNegated: word == "notnull"), from: start)
        case "not":
            guard case .word(let second) = second.kind else { return nil }
            if SQLVocabulary.unsupportedWordOperators.contains(second) { throw unsupported(second) }
            if second == "between", minimum <= .between {
                advance()
                return try between(lhs, isNegated: true)
            }
            if second == "in", minimum <= .in {
                advance()
                return try membership(lhs, isNegated: true)
            }
            return nil
        case "between" where minimum <= .between:
            return try between(lhs, isNegated: false)
        case "in" where minimum <= .in:
            return try membership(lhs, isNegated: false)
        case _ where SQLVocabulary.unsupportedWordOperators.contains(word):
            throw unsupported(word)
        case "operator":
            throw problem(.sqlUnsupportedExpression, "OPERATOR(…) is not supported.")
        default:
            return nil
        }
    }

    private func unsupported(_ word: String) -> SQLProblem {
        let hint =
            switch word {
            case "like", "ilike", "glob", "match", "regexp", "similar":
                "Patterns cannot be matched; substring() and instr() look into texts, and lower() makes case equal."
            default: "The language has no such operator."
            }
        return problem(.sqlUnsupportedExpression, "\(word.uppercased()) is not supported.", hint: hint)
    }

    /// `IS …`, the keyword comes next.
    private mutating func test(_ lhs: SQLExpression) throws(SQLProblem) -> SQLExpression {
        advance()
        let isNegated = take(.word("not"))
        let test: SQLExpression.Test
        switch next.kind {
        case .word("null"): test = .null
        case .word("true"): test = .true
        case .word("false"): test = .false
        case .word("distinct"):
            let problem = problem(.sqlUnsupportedExpression, "IS DISTINCT FROM is not supported.")
            // Its FROM begins no clause.
            advance(by: 2)
            throw problem
        default:
            throw problem(
                .sqlUnsupportedExpression,
                "IS can be followed by NULL, TRUE and FALSE only.",
                hint: "Use “=” to compare values."
            )
        }
        advance()
        return try make(.test(lhs, test, isNegated: isNegated), from: lhs.range.lowerBound)
    }

    /// `BETWEEN a AND b`, the keyword comes next.
    private mutating func between(
        _ value: SQLExpression,
        isNegated: Bool
    ) throws(SQLProblem) -> SQLExpression {
        advance()
        let low = try expression(.bits)
        try expect(.word("and"), "AND after the lower bound of BETWEEN")
        let high = try expression(.bits)
        return try make(.between(value, low, high, isNegated: isNegated), from: value.range.lowerBound)
    }

    /// `IN …`, the keyword comes next.
    private mutating func membership(
        _ value: SQLExpression,
        isNegated: Bool
    ) throws(SQLProblem) -> SQLExpression {
        advance()
        let collection = try collection(list: true, .additive)
        return try make(.membership(value, in: collection, isNegated: isNegated), from: value.range.lowerBound)
    }

    /// What stands after `IN` and `&&`.
    private mutating func collection(
        list isListAllowed: Bool,
        _ level: Precedence
    ) throws(SQLProblem) -> SQLExpression.Collection {
        if next.kind == .symbol("("), second.kind == .word("select") {
            advance()
            let select = try nested { parser throws(SQLProblem) in parser.select() }
            try expect(.symbol(")"), "“)” after the subquery")
            return .query(select)
        }
        if isListAllowed {
            if next.kind == .word("array"), second.kind == .symbol("[") {
                advance(by: 2)
                return .list(try elements(closedBy: "]"))
            }
            if next.kind == .word("row"), second.kind == .symbol("(") {
                advance(by: 2)
                return .list(try elements(closedBy: ")"))
            }
            if next.kind == .symbol("("), parenthesesHoldList || parenthesesHoldPlainLiteral {
                advance()
                return .list(try elements(closedBy: ")"))
            }
        }
        return .value(try nested { parser throws(SQLProblem) in try parser.expression(level) })
    }

    /// Whether the parentheses that come next have a comma that belongs to them.
    private var parenthesesHoldList: Bool {
        var depth = 0
        var count = 0
        while true {
            switch token(after: count).kind {
            case .symbol("("), .symbol("["): depth += 1
            case .symbol(")"), .symbol("]"):
                depth -= 1
                if depth == 0 { return false }
            case .symbol(",") where depth == 1: return true
            case .end: return false
            default: break
            }
            count += 1
        }
    }

    /// Whether the parentheses that come next hold one literal that is no JSON, as in `IN ('x')`: a list of one element.
    private var parenthesesHoldPlainLiteral: Bool {
        let sign = second.kind == .symbol("-") ? 1 : 0
        guard token(after: 2 + sign).kind == .symbol(")") else { return false }
        switch token(after: 1 + sign).kind {
        case .integer, .real, .word("true"), .word("false"), .word("null"): return true
        case .string(let text):
            switch JSONNode(parsing: text) {
            case .array, .object: return false
            default: return true
            }
        default: return false
        }
    }

    private mutating func elements(closedBy bracket: String) throws(SQLProblem) -> [SQLExpression] {
        var elements: [SQLExpression] = []
        if take(.symbol(bracket)) { return elements }
        repeat { elements.append(try expression()) } while take(.symbol(","))
        try expect(.symbol(bracket), "“\(bracket)” after the list")
        return elements
    }
}

/// Expressions, one method for each level of precedence, lowest first (docs/sync-config.md "SQL"):
///
/// ```
/// OR   AND   NOT   IS   = != <>   IN BETWEEN LIKE   operators, literals, columns, calls
/// ```
extension SQLParser {
    /// An expression.
    mutating func expression() throws(SQLProblem) -> SQLExpression {
        try nested { parser throws(SQLProblem) in try parser.disjunction() }
    }

    private mutating func disjunction() throws(SQLProblem) -> SQLExpression {
        var terms = [try conjunction()]
        while take(.word("or")) { terms.append(try conjunction()) }
        guard terms.count > 1 else { return terms[0] }
        return SQLExpression(kind: .or(terms), range: terms[0].range.lowerBound..<end)
    }

    private mutating func conjunction() throws(SQLProblem) -> SQLExpression {
        var terms = [try negation()]
        while take(.word("and")) { terms.append(try negation()) }
        guard terms.count > 1 else { return terms[0] }
        return SQLExpression(kind: .and(terms), range: terms[0].range.lowerBound..<end)
    }

    private mutating func negation() throws(SQLProblem) -> SQLExpression {
        let start = next.range.lowerBound
        guard take(.word("not")) else { return try nullTest() }
        let operand = try nested { parser throws(SQLProblem) in try parser.negation() }
        return SQLExpression(kind: .not(operand), range: start..<end)
    }

    private mutating func nullTest() throws(SQLProblem) -> SQLExpression {
        let operand = try comparison()
        guard take(.word("is")) else { return operand }
        let isNegated = take(.word("not"))
        if next.kind == .word("true") || next.kind == .word("false") {
            throw notYet("IS TRUE and IS FALSE are", "Use the value as a condition, or NOT.")
        }
        guard take(.word("null")) else {
            throw problem(.sqlUnsupportedExpression, "Only IS NULL and IS NOT NULL are supported.")
        }
        let range = operand.range.lowerBound..<end
        if next.kind == .word("is") {
            throw problem(.sqlSyntax, "IS cannot follow IS NULL without parentheses.")
        }
        return SQLExpression(kind: .isNull(operand, isNegated: isNegated), range: range)
    }

    private mutating func comparison() throws(SQLProblem) -> SQLExpression {
        let lhs = try membership()
        guard let isNegated = takeEquality() else { return lhs }
        let rhs = try membership()
        let range = lhs.range.lowerBound..<end
        if case .symbol("=") = next.kind {
            throw problem(.sqlSyntax, "Comparisons cannot follow one another without parentheses.")
        }
        return SQLExpression(kind: .equal(lhs, rhs, isNegated: isNegated), range: range)
    }

    /// Reads a comparison operator; the result says whether it is the negated one.
    private mutating func takeEquality() -> Bool? {
        if take(.symbol("=")) { return false }
        if take(.symbol("!=")) || take(.symbol("<>")) { return true }
        return nil
    }

    private mutating func membership() throws(SQLProblem) -> SQLExpression {
        let operand = try operand()
        let isNegated = next.kind == .word("not") && second.kind == .word("in")
        if isNegated { advance() }
        guard take(.word("in")) else { return operand }
        guard next.kind == .symbol("("), second.kind == .word("select") else {
            switch next.kind {
            case .symbol("("), .word("array"), .word("row"):
                throw notYet("Lists after IN are", "Use “=” and OR.")
            default:
                throw notYet("IN with something else than a subquery is", "Use “IN (SELECT …)”.")
            }
        }
        advance()
        let select = try nested { parser throws(SQLProblem) in try parser.select() }
        try expect(.symbol(")"), "“)” after the subquery")
        let range = operand.range.lowerBound..<end
        return SQLExpression(kind: .inSelect(operand, select, isNegated: isNegated), range: range)
    }

    /// An operand, followed by nothing that binds tighter than `IN`.
    private mutating func operand() throws(SQLProblem) -> SQLExpression {
        let operand = try primary()
        switch next.kind {
        case .symbol(let symbol) where SQLVocabulary.laterOperators.contains(symbol):
            throw notYet("The operator “\(symbol)” is")
        case .symbol(let symbol) where SQLVocabulary.unsupportedOperators.contains(symbol):
            throw problem(.sqlUnsupportedExpression, "The operator “\(symbol)” is not supported.")
        default:
            break
        }
        let isAfterNot = next.kind == .word("not")
        if case .word(let word) = isAfterNot ? second.kind : next.kind {
            switch word {
            case "between":
                throw notYet("BETWEEN is")
            case "like", "ilike", "similar", "overlaps", "isnull", "notnull", "collate":
                throw problem(.sqlUnsupportedExpression, "\(word.uppercased()) is not supported.")
            default:
                break
            }
        }
        return operand
    }

    private mutating func primary() throws(SQLProblem) -> SQLExpression {
        let start = next.range.lowerBound
        switch next.kind {
        case .string(let text):
            advance()
            return SQLExpression(kind: .literal(.text(text)), range: start..<end)
        case .integer, .real:
            return try number(isNegative: false, start: start)
        case .symbol("-"), .symbol("+"):
            let isNegative = next.kind == .symbol("-")
            switch second.kind {
            case .integer, .real:
                advance()
                return try number(isNegative: isNegative, start: start)
            default:
                throw problem(.sqlUnsupportedExpression, "A sign is supported before numbers only.")
            }
        case .symbol("("):
            return try parenthesised()
        case .symbol("*"):
            throw unexpected(expected: "an expression")
        case .quotedName:
            return try reference()
        case .word(let word):
            return try keyword(word, start: start)
        default:
            throw unexpected(expected: "an expression")
        }
    }

    private mutating func number(isNegative: Bool, start: Int) throws(SQLProblem) -> SQLExpression {
        let value: SQLiteValue?
        switch next.kind {
        case .real(let number):
            value = .real(isNegative ? -number : number)
        case .integer(let magnitude) where isNegative && magnitude == UInt64(Int64.max) + 1:
            value = .integer(.min)
        case .integer(let magnitude):
            value = Int64(exactly: magnitude).map { .integer(isNegative ? -$0 : $0) }
        default:
            value = nil
        }
        guard let value else { throw problem(.sqlSyntax, "The integer does not fit 64 bits.") }
        advance()
        return SQLExpression(kind: .literal(value), range: start..<end)
    }

    private mutating func parenthesised() throws(SQLProblem) -> SQLExpression {
        let start = next.range.lowerBound
        advance()
        if next.kind == .word("select") {
            throw problem(.sqlUnsupportedExpression, "A subquery is supported after IN only.")
        }
        var inner = try expression()
        if next.kind == .symbol(",") { throw problem(.sqlUnsupportedExpression, "Row values are not supported.") }
        try expect(.symbol(")"), "“)”")
        inner.range = start..<end
        return inner
    }

    private mutating func keyword(_ word: String, start: Int) throws(SQLProblem) -> SQLExpression {
        let literals: [String: SQLiteValue] = ["null": .null, "true": .integer(1), "false": .integer(0)]
        if let value = literals[word] {
            advance()
            return SQLExpression(kind: .literal(value), range: start..<end)
        }
        if SQLVocabulary.nondeterministicWords.contains(word) {
            throw problem(
                .sqlNondeterministic,
                "\(word.uppercased()) is not supported: what a row becomes must depend on the row only."
            )
        }
        switch word {
        case "case": throw notYet("CASE is")
        case "cast" where second.kind == .symbol("("): throw notYet("CAST is")
        case "array": throw notYet("ARRAY is")
        case "row" where second.kind == .symbol("("): throw notYet("ROW is")
        case "exists" where second.kind == .symbol("("):
            throw problem(.sqlUnsupportedExpression, "EXISTS is not supported; write “value IN (SELECT …)”.")
        default: return try reference()
        }
    }

    /// A column or a function call.
    private mutating func reference() throws(SQLProblem) -> SQLExpression {
        let first = try requiredName("a column name")
        guard take(.symbol(".")) else {
            if next.kind == .symbol("(") { throw functionProblem(first) }
            return SQLExpression(kind: .column(table: nil, name: first), range: first.range)
        }
        let name = try anyName("a column name after “.”")
        if next.kind == .symbol("(") { return try call(first, name) }
        if next.kind == .symbol("."), second.kind != .symbol("*") {
            throw problem(.sqlUnsupportedExpression, "A column is written as table.column, without a schema.")
        }
        let range = first.range.lowerBound..<end
        return SQLExpression(kind: .column(table: first, name: name), range: range)
    }

    private mutating func call(_ qualifier: SQLName, _ name: SQLName) throws(SQLProblem) -> SQLExpression {
        let range = qualifier.range.lowerBound..<name.range.upperBound
        guard SQLVocabulary.requestParts.contains(qualifier.text) else {
            if SQLVocabulary.metadata.contains(name.text) {
                throw SQLProblem(
                    code: .sqlNotSupportedYet,
                    message: "\(qualifier.text).\(name.text)() is not supported yet.",
                    range: range
                )
            }
            let hint = qualifier.text == "request" ? "; use auth.\(name.text)() or connection.parameter()" : ""
            throw SQLProblem(
                code: .sqlUnknownFunction,
                message: "There is no function \(qualifier.text).\(name.text)()\(hint).",
                range: range
            )
        }
        advance()
        var arguments: [SQLExpression] = []
        if !take(.symbol(")")) {
            repeat { arguments.append(try expression()) } while take(.symbol(","))
            try expect(.symbol(")"), "“)” after the arguments")
        }
        if next.kind == .word("over") || next.kind == .word("filter") {
            throw problem(.sqlWindow, "Window and aggregate clauses are not supported.")
        }
        return SQLExpression(
            kind: .call(qualifier: qualifier, name: name, arguments: arguments),
            range: qualifier.range.lowerBound..<end
        )
    }

    private func functionProblem(_ name: SQLName) -> SQLProblem {
        if SQLVocabulary.functions.contains(name.text) {
            return SQLProblem(
                code: .sqlNotSupportedYet,
                message: "The function \(name.text)() is not supported yet.",
                range: name.range
            )
        }
        if SQLVocabulary.nondeterministic.contains(name.text) {
            return SQLProblem(
                code: .sqlNondeterministic,
                message: "\(name.text)() is not supported: what a row becomes must depend on the row only.",
                range: name.range
            )
        }
        return SQLProblem(
            code: .sqlUnknownFunction,
            message: "There is no function \(name.text)().",
            range: name.range
        )
    }
}

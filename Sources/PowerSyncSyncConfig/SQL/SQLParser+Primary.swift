/// Literals, columns, calls, `CASE` and `CAST`.
extension SQLParser {
    /// An expression without operators.
    mutating func primary() throws(SQLProblem) -> SQLExpression {
        let start = next.range.lowerBound
        switch next.kind {
        case .string(let text):
            advance()
            return try make(.literal(.text(text)), from: start)
        case .integer, .real:
            return try number(isNegative: false, from: start)
        case .symbol("-"):
            return try negative(from: start)
        case .symbol("+"):
            advance()
            return try nested { parser throws(SQLProblem) in try parser.expression(.postfix) }
        case .symbol("("):
            return try parenthesised()
        case .quotedName:
            return try reference()
        case .word(let word):
            return try keyword(word, from: start)
        default:
            throw unexpected(expected: "an expression")
        }
    }

    /// A minus where an operand is expected: part of a number that follows it directly.
    private mutating func negative(from start: Int) throws(SQLProblem) -> SQLExpression {
        switch second.kind {
        case .integer where second.range.lowerBound == next.range.upperBound,
            .real where second.range.lowerBound == next.range.upperBound:
            advance()
            return try number(isNegative: true, from: start)
        case .invalid(let problem):
            throw problem
        default:
            throw problem(
                .sqlUnsupportedExpression,
                "A minus sign is part of a number, or stands between two values.",
                hint: "Write “0 - a” for the negative of a."
            )
        }
    }

    private mutating func number(isNegative: Bool, from start: Int) throws(SQLProblem) -> SQLExpression {
        let value: SQLValue?
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
        guard let value else { throw problem(.sqlNumberRange, "The integer does not fit 64 bits.") }
        advance()
        return try make(.literal(value), from: start)
    }

    /// The name or number of a member after `->`.
    mutating func memberKey() throws(SQLProblem) -> SQLExpression {
        switch next.kind {
        case .string, .integer, .symbol("-"), .invalid: return try primary()
        default:
            throw unexpected(
                expected: "a string or an integer after the arrow",
                hint: "For a name that is a value itself, use json_extract(j, '$.' || name)."
            )
        }
    }

    private mutating func parenthesised() throws(SQLProblem) -> SQLExpression {
        let start = next.range.lowerBound
        advance()
        if next.kind == .word("select") {
            throw problem(
                .sqlUnsupportedExpression,
                dialect == .stream
                    ? "A subquery is supported after IN and &&, and in FROM."
                    : "Subqueries are not part of bucket definitions.",
                hint: subqueryHint
            )
        }
        var inner = try expression()
        if next.kind == .symbol(",") { throw problem(.sqlUnsupportedExpression, "Row values are not supported.") }
        try expect(.symbol(")"), "“)”")
        inner.range = start..<end
        return inner
    }

    /// What to write in place of the subquery that comes next.
    private var subqueryHint: String {
        guard readsTable else {
            // As policies of databases write it, so that the value is computed once.
            if case (.word(let qualifier), .symbol("."), .word(let name), .symbol("(")) = (
                second.kind, token(after: 2).kind, token(after: 3).kind, token(after: 4).kind
            ), let hint = RequestHint.call(name, of: qualifier, nil, in: dialect) {
                return "A value needs no SELECT. \(hint)"
            }
            return "A value needs no SELECT: leave that out."
        }
        if isInColumns {
            return """
                A row is synced as it is: leave the subquery out, sync the other table with a query of its own, and join the two \
                on the client.
                """
        }
        return dialect == .stream
            ? "Write “value IN (SELECT …)”, in place of a comparison with “=”."
            : "Streams (edition 3) have “value IN (SELECT …)”."
    }

    /// How many tokens of a subquery are looked at for a hint: a query may have many of them.
    private static let maximumLookAhead = 200

    /// Whether the subquery that comes next has `FROM`.
    private var readsTable: Bool {
        var depth = 0
        for count in 0..<Self.maximumLookAhead {
            switch token(after: count).kind {
            case .symbol("("): depth += 1
            case .symbol(")"):
                depth -= 1
                if depth < 0 { return false }
            case .word("from") where depth == 0: return true
            case .end: return false
            default: break
            }
        }
        return true
    }

    private mutating func keyword(_ word: String, from start: Int) throws(SQLProblem) -> SQLExpression {
        let literals: [String: SQLValue] = ["null": .null, "true": .integer(1), "false": .integer(0)]
        if let value = literals[word] {
            advance()
            return try make(.literal(value), from: start)
        }
        if SQLVocabulary.nondeterministicWords.contains(word) {
            throw problem(
                .sqlNondeterministic,
                "\(word.uppercased()) is not supported: what a row becomes must depend on the row only."
            )
        }
        switch word {
        case "case":
            return try choice(from: start)
        case "cast" where second.kind == .symbol("("):
            advance(by: 2)
            let operand = try expression()
            try expect(.word("as"), "AS and a type")
            let type = try type()
            try expect(.symbol(")"), "“)” after the type")
            return try make(.cast(operand, type), from: start)
        case "array" where second.kind == .symbol("["), "row" where second.kind == .symbol("("):
            throw problem(
                .sqlUnsupportedExpression,
                "\(word.uppercased()) can be used after IN only.",
                hint: "A JSON array is a text: '[1,2]'."
            )
        case "exists" where second.kind == .symbol("("), "any" where second.kind == .symbol("("),
            "some" where second.kind == .symbol("("), "all" where second.kind == .symbol("("):
            throw problem(
                .sqlUnknownFunction,
                "There is no function \(word)().",
                hint: dialect == .stream
                    ? "Write “value IN (SELECT …)”, or “value IN array”."
                    : "Write “value IN array”. Streams (edition 3) have “value IN (SELECT …)”, too."
            )
        default:
            return try reference()
        }
    }

    /// `CASE …`, the keyword comes next.
    private mutating func choice(from start: Int) throws(SQLProblem) -> SQLExpression {
        advance()
        let operand = next.kind == .word("when") ? nil : try expression()
        var branches: [SQLExpression.Branch] = []
        while take(.word("when")) {
            let condition = try expression()
            try expect(.word("then"), "THEN")
            branches.append(SQLExpression.Branch(condition: condition, result: try expression()))
        }
        guard !branches.isEmpty else { throw unexpected(expected: "WHEN") }
        let otherwise = take(.word("else")) ? try expression() : nil
        try expect(.word("end"), "END after CASE")
        return try make(.choice(operand: operand, branches: branches, otherwise: otherwise), from: start)
    }

    /// The name of a type.
    mutating func type() throws(SQLProblem) -> SQLType {
        let token = next
        if case .quotedName(let name) = token.kind { throw foreignType(name) }
        guard case .word(let word) = token.kind else { throw unexpected(expected: "a type") }
        guard let type = SQLType(rawValue: word), second.kind != .symbol("[") else { throw foreignType(word) }
        advance()
        if type == .numeric, take(.symbol("(")) {
            repeat {
                guard case .integer = next.kind else { throw unexpected(expected: "a number of digits") }
                advance()
            } while take(.symbol(","))
            try expect(.symbol(")"), "“)” after the digits")
        }
        return type
    }

    /// The problem with a type that values cannot be cast to; reads its name, its size and its brackets.
    private mutating func foreignType(_ word: String) -> SQLProblem {
        let start = next.range.lowerBound
        var words = [word]
        advance()
        while case .word(let following) = next.kind,
            ForeignType.continuations[words[words.count - 1]]?.contains(following) ?? false
        {
            words.append(following)
            advance()
        }
        while take(.symbol(".")), name(next) != nil { advance() }
        if words.last == "time", words.count > 1, take(.word("zone")) { words.append("zone") }
        if next.kind == .symbol("("), case .integer = second.kind {
            while next.kind != .end, !take(.symbol(")")) { advance() }
        }
        let isArray = next.kind == .symbol("[")
        while next.kind == .symbol("["), second.kind == .symbol("]") { advance(by: 2) }
        let name = words.joined(separator: " ")
        return SQLProblem(
            code: .sqlBadCast,
            message: "There is no type “\(name)\(isArray ? "[]" : "")” to cast to.",
            hint: ForeignType.hint(for: name, isArray: isArray),
            range: start..<end
        )
    }

    /// A column or a call.
    private mutating func reference() throws(SQLProblem) -> SQLExpression {
        let first = try requiredName("an expression")
        let start = first.range.lowerBound
        if next.kind == .symbol("(") {
            let arguments = try arguments(of: first)
            return try make(.call(first, arguments: arguments), from: start)
        }
        var parts = [first]
        while next.kind == .symbol("."), second.kind != .symbol("*") {
            advance()
            parts.append(try anyName("a column name after “.”"))
            if parts.count == 2, next.kind == .symbol("(") {
                let arguments = try arguments(of: parts[1])
                let call = SQLExpression.Kind.qualifiedCall(qualifier: first, name: parts[1], arguments: arguments)
                return try make(call, from: start)
            }
        }
        guard parts.count <= 3 else {
            throw SQLProblem(
                code: .sqlSyntax,
                message: "A column is written as schema.table.column.",
                range: start..<end
            )
        }
        let column = SQLExpression.Kind.column(
            schema: parts.count == 3 ? parts[0] : nil,
            table: parts.count >= 2 ? parts[parts.count - 2] : nil,
            name: parts[parts.count - 1]
        )
        return try make(column, from: start)
    }

    /// The arguments of a call, with their parentheses.
    mutating func arguments(of function: SQLName) throws(SQLProblem) -> [SQLExpression] {
        try expect(.symbol("("), "“(”")
        var arguments: [SQLExpression] = []
        if !take(.symbol(")")) {
            if next.kind == .symbol("*") {
                throw SQLProblem(
                    code: .sqlUnknownFunction,
                    message: "\(function.text)(*) is not supported: rows cannot be counted or summed up.",
                    range: function.range
                )
            }
            if next.kind == .word("distinct") || next.kind == .word("all") {
                throw problem(.sqlWindow, "\(next.kind.description) is not supported in a call.")
            }
            arguments.append(try expression())
            if function.text == "substring", take(.word("from")) {
                arguments.append(try expression())
                if take(.word("for")) { arguments.append(try expression()) }
            }
            while take(.symbol(",")) { arguments.append(try expression()) }
            if next.kind == .word("order") { throw problem(.sqlWindow, "ORDER BY is not supported in a call.") }
            try expect(.symbol(")"), "“)” after the arguments")
        }
        if next.kind == .word("over") || next.kind == .word("within")
            || (next.kind == .word("filter") && second.kind == .symbol("("))
        {
            throw problem(.sqlWindow, "Window and aggregate clauses are not supported.")
        }
        return arguments
    }
}

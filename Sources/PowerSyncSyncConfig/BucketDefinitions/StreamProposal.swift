/// The stream that says what a data query of a bucket definition means and cannot say.
///
/// ```
/// parameters: SELECT request.user_id() AS u
/// data: [SELECT todos.* FROM todos JOIN lists ON lists.id = todos.list_id WHERE lists.owner_id = bucket.u]
///
/// streams: {todos: {auto_subscribe: true, query: "SELECT … WHERE lists.owner_id = auth.user_id()"}}
/// ```
///
/// Proposed is only what compiles, and what means the same in edition 3. Its NULL rules make `a != b` another condition, so that
/// `a IS NOT NULL` is added where that says the same.
struct StreamProposal {
    /// Why no stream is proposed, as a sentence.
    struct Obstacle: Error, Hashable {
        let reason: String

        static let parameters = Obstacle(reason: "A parameter query cannot be read.")
        static let data = Obstacle(reason: "A data query cannot be read.")
        static let comment = Obstacle(reason: "A query has a comment; take it out of the query.")
        static let nulls = Obstacle(
            reason: """
                “!=”, NOT IN, NOT BETWEEN and IN with an array treat NULL in another way in streams; write the \
                condition with IS NULL or IS NOT NULL.
                """
        )
        static let severalColumns = Obstacle(
            reason: "A parameter query takes several columns of a row, which belong together; join the two tables."
        )
        static let noColumns = Obstacle(
            reason: "A parameter query has no columns; write a condition such as auth.user_id() IN (SELECT …)."
        )
        static let noTable = Obstacle(
            reason: "A parameter query reads a function, and no table; write column IN (SELECT …)."
        )
        static let place = Obstacle(
            reason: "A parameter of the bucket stands where neither a value of the request nor a subquery can."
        )
        static let unused = Obstacle(reason: "A data query does not read all parameters of the bucket.")
        static let alternatives = Obstacle(
            reason: "A data query has OR, and its parameter query a condition on the request."
        )
        static let priorities = Obstacle(
            reason: "Its parameter queries give different priorities; make a definition for each of them."
        )
        static let order = Obstacle(reason: "A column stands before “*”; write it behind.")
    }

    /// What stands in place of a parameter.
    private enum Parameter {
        /// A value of the request.
        case value(String)
        /// What a table gives, as a subquery.
        case subquery(String)

        var isSubquery: Bool {
            if case .subquery = self { true } else { false }
        }
    }

    /// The priority that the query gives its buckets: `SELECT …, 1 AS _priority`.
    private(set) var priority: Int32?
    private let sources: SQLSources
    private var parameters: [String: Parameter] = [:]
    /// Conditions on the request.
    private var conditions: [String] = []

    /// Reads a parameter query of a definition; a definition with several is as many proposals.
    ///
    /// - Parameters:
    ///   - text: The query; `nil` for a definition without one.
    ///   - sources: All texts.
    /// - Throws: What no stream can take the place of in an obvious way.
    init(parameters text: SQLSources.Text?, in sources: SQLSources) throws(Obstacle) {
        self.sources = sources
        guard let text else { return }
        guard text.isOneLine else { throw .comment }
        guard let select = SQLParser.parse(text, as: .parameterQuery).select else { throw .parameters }
        guard select.conditions.allSatisfy(\.meansTheSameInEdition3) else { throw .nulls }
        // A row that is there says who gets the bucket: without its columns, everybody would.
        guard !select.columns.isEmpty || select.sources.isEmpty else { throw .noColumns }
        for column in select.columns {
            guard case .expression(let expression, let alias) = column.kind, let name = name(expression, alias) else {
                throw .parameters
            }
            guard name != "_priority" else {
                guard case .literal(.integer(let number)) = expression.kind, let number = Int32(exactly: number) else {
                    throw .parameters
                }
                priority = number
                continue
            }
            let value = rewritten(expression)
            if let source = select.sources.first, value == self.sources.text(of: expression.range) {
                // Two values of one row would come apart in two subqueries.
                guard parameters.isEmpty else { throw .severalColumns }
                guard case .table = source.kind else { throw .noTable }
                var replacements: [(range: Range<Int>, text: String)] = []
                for condition in select.conditions { collectRequestValues(condition, into: &replacements) }
                let rest = replaced(source.range.lowerBound..<select.range.upperBound, replacements)
                parameters[name] = .subquery("(SELECT \(value) FROM \(rest))")
            } else if select.sources.isEmpty {
                parameters[name] = .value(value)
            } else {
                throw .severalColumns
            }
        }
        if case .subquery? = parameters.values.first, parameters.count > 1 { throw .severalColumns }
        guard select.sources.isEmpty || parameters.values.contains(where: \.isSubquery) else { throw .noColumns }
        if select.sources.isEmpty { conditions = select.conditions.map(rewritten) }
    }

    private func name(_ expression: SQLExpression, _ alias: SQLName?) -> String? {
        if let alias { return alias.text }
        if case .column(_, _, let name) = expression.kind { return name.text }
        return nil
    }

    /// The stream for data queries as a line of YAML; `nil` when there is none that compiles.
    func line(for texts: [SQLSources.Text], named name: String, priority: Int32?) -> String? {
        var queries: [String] = []
        for text in texts {
            guard let query = try? query(for: text) else { return nil }
            queries.append(Self.quoted(query))
        }
        guard let first = queries.first else { return nil }
        let options = (priority ?? self.priority).map { ", priority: \($0)" } ?? ""
        let list = queries.count == 1 ? "query: \(first)" : "queries: [\(queries.joined(separator: ", "))]"
        let line = "streams: {\(Self.quoted(name)): {auto_subscribe: true\(options), \(list)}}"
        return SyncConfig.parse("config: {edition: 3}\n\(line)").isUsable ? line : nil
    }

    /// The query of a stream for a data query, in one line.
    ///
    /// - Throws: What no stream can take the place of in an obvious way.
    func query(for text: SQLSources.Text) throws(Obstacle) -> String {
        guard text.isOneLine else { throw .comment }
        guard let select = SQLParser.parse(text, as: .dataQuery).select else { throw .data }
        var replacements: [(range: Range<Int>, text: String)] = []
        var used: Set<String> = []
        for condition in select.conditions { try collect(condition, into: &replacements, &used) }
        guard used == Set(parameters.keys) else { throw .unused }
        // In a bucket definition the column before `*` stays, in a stream the one behind.
        if let star = select.columns.firstIndex(where: \.isStar), star > 0 { throw .order }
        var query = replaced(select.range, replacements)
        for condition in conditions {
            if select.conditions.contains(where: \.isDisjunction) { throw .alternatives }
            query += select.conditions.isEmpty && condition == conditions.first ? " WHERE " : " AND "
            query += condition
        }
        return query.split(whereSeparator: \.isNewline).map { $0.drop { $0.isWhitespace } }.joined(separator: " ")
    }

    /// Collects what has to be replaced in a condition.
    ///
    /// - Parameters:
    ///   - expression: The condition, or a part of it.
    ///   - isCondition: Whether the row is left out when the expression is NULL, as it is when it is false.
    ///   - replacements: What is replaced.
    ///   - used: The parameters that the condition reads.
    /// - Throws: Where a parameter stands where nothing can take its place, or NULL means something else in streams.
    private func collect(
        _ expression: SQLExpression,
        isCondition: Bool = true,
        into replacements: inout [(range: Range<Int>, text: String)],
        _ used: inout Set<String>
    ) throws(Obstacle) {
        var keepsPlace = false
        switch expression.kind {
        case .binary(.equal, let lhs, let rhs):
            for (own, other) in [(lhs, rhs), (rhs, lhs)] {
                guard let name = own.bucketParameter, case .subquery(let subquery)? = parameters[name] else { continue }
                guard other.bucketParameter == nil else { throw .place }
                guard other.meansTheSameInEdition3 else { throw .nulls }
                replacements.append((expression.range, "\(sources.text(of: other.range)) IN \(subquery)"))
                used.insert(name)
                return
            }
        case .and, .or: keepsPlace = isCondition
        default: break
        }
        if let operands = expression.operandsThatAreNotNull {
            guard isCondition else { throw .nulls }
            let text = sources.text(of: expression.range)
            let conditions = operands.map { "\(sources.text(of: $0.range)) IS NOT NULL" }
            guard !conditions.isEmpty else { return }
            replacements.append((expression.range, "(\(([text] + conditions).joined(separator: " AND ")))"))
            return
        }
        guard expression.isTheSameInEdition3 else { throw .nulls }
        if let name = expression.bucketParameter {
            guard case .value(let value)? = parameters[name] else { throw .place }
            replacements.append((expression.range, value))
            used.insert(name)
            return
        }
        for operand in expression.kind.operands {
            try collect(operand, isCondition: keepsPlace, into: &replacements, &used)
        }
    }

    /// An expression of a parameter query as streams write it.
    private func rewritten(_ expression: SQLExpression) -> String {
        var replacements: [(range: Range<Int>, text: String)] = []
        collectRequestValues(expression, into: &replacements)
        let text = replaced(expression.range, replacements)
        return expression.kind.operands.isEmpty || replacements.isEmpty ? text : "(\(text))"
    }

    private func collectRequestValues(
        _ expression: SQLExpression,
        into replacements: inout [(range: Range<Int>, text: String)]
    ) {
        var value: String?
        switch expression.kind {
        case .qualifiedCall(let qualifier, let name, _):
            value = RequestHint.streamValue(call: name.text, of: qualifier.text)
        case .column(nil, let table?, let name):
            value = RequestHint.streamValue(column: name.text, of: table.text)
        default:
            break
        }
        if let value {
            replacements.append((expression.range, value))
        } else {
            for operand in expression.kind.operands { collectRequestValues(operand, into: &replacements) }
        }
    }

    private func replaced(_ range: Range<Int>, _ replacements: [(range: Range<Int>, text: String)]) -> String {
        var result = ""
        var position = range.lowerBound
        for replacement in replacements.sorted(by: { $0.range.lowerBound < $1.range.lowerBound }) {
            result += sources.text(of: position..<replacement.range.lowerBound) + replacement.text
            position = replacement.range.upperBound
        }
        return result + sources.text(of: position..<range.upperBound)
    }

    /// A text as a value in a flow mapping of YAML.
    static func quoted(_ text: String) -> String {
        let isPlain = text.utf8.allSatisfy { byte in
            (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20) || byte == UInt8(ascii: "_")
        }
        // YAML reads these as values, which are no names.
        let isValue = ["true", "false", "null"].contains(text.lowercased())
        guard !isPlain || text.isEmpty || isValue else { return text }
        return "\"\(text.replacing("\\", with: "\\\\").replacing("\"", with: "\\\""))\""
    }
}

extension SQLSources.Text {
    /// Whether the text means the same in one line: without comments, which would go on to its end.
    fileprivate var isOneLine: Bool { !text.contains("--") && !text.contains("/*") }
}

extension SQLExpression {
    /// The name in `bucket.name`.
    fileprivate var bucketParameter: String? {
        guard case .column(nil, let table?, let name) = kind, table.text == "bucket" else { return nil }
        return name.text
    }

    fileprivate var isDisjunction: Bool {
        if case .or = kind { true } else { false }
    }

    /// What must not be NULL so that the comparison says in edition 3 what it said before; `nil` for other expressions.
    ///
    /// Only columns and literals are compared: of others it is not known when they are NULL.
    fileprivate var operandsThatAreNotNull: [SQLExpression]? {
        switch kind {
        case .binary(.unequal, let lhs, let rhs): [lhs, rhs].columnsIfComparable
        case .membership(let value, in: .list(let elements), isNegated: true): ([value] + elements).columnsIfComparable
        default: nil
        }
    }

    /// Whether the expression has the same NULL rules in all editions.
    fileprivate var meansTheSameInEdition3: Bool {
        isTheSameInEdition3 && kind.operands.allSatisfy(\.meansTheSameInEdition3)
    }

    /// The same, of the operator alone.
    fileprivate var isTheSameInEdition3: Bool {
        switch kind {
        case .binary(.unequal, _, _), .between(_, _, _, isNegated: true), .membership(_, in: _, isNegated: true): false
        // An array, which only bucket definitions take for nothing when it is none.
        case .membership(_, in: .value, _): false
        default: true
        }
    }
}

extension [SQLExpression] {
    /// The columns among them; `nil` when something is neither a column of the table nor a literal with a value.
    fileprivate var columnsIfComparable: [SQLExpression]? {
        var columns: [SQLExpression] = []
        for expression in self {
            switch expression.kind {
            case .literal(.null): return nil
            case .literal: break
            case .column where expression.bucketParameter == nil: columns.append(expression)
            default: return nil
            }
        }
        return columns
    }
}

extension SQLColumn {
    fileprivate var isStar: Bool {
        if case .star = kind { true } else { false }
    }
}

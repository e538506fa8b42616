/// The stream that says what a data query of a bucket definition means and cannot say.
///
/// ```
/// parameters: SELECT request.user_id() AS u
/// data: [SELECT todos.* FROM todos JOIN lists ON lists.id = todos.list_id WHERE lists.owner_id = bucket.u]
///
/// streams: {todos: {auto_subscribe: true, query: "SELECT … WHERE lists.owner_id = auth.user_id()"}}
/// ```
///
/// Proposed is only what compiles, and what means the same in edition 3: its NULL rules make `a != b` another condition.
struct StreamProposal {
    /// What stands in place of a parameter.
    private enum Parameter {
        /// A value of the request.
        case value(String)
        /// What a table gives, as a subquery.
        case subquery(String)
    }

    private let sources: SQLSources
    private var parameters: [String: Parameter] = [:]
    /// Conditions on the request.
    private var conditions: [String] = []

    /// Reads the parameter queries of a definition.
    ///
    /// - Returns: `nil` for several of them, or one that no stream can take the place of in an obvious way.
    init?(parameters texts: [SQLSources.Text], in sources: SQLSources) {
        self.sources = sources
        guard texts.count <= 1 else { return nil }
        guard let text = texts.first else { return }
        guard text.isOneLine, let select = SQLParser.parse(text, as: .parameterQuery).select,
            select.conditions.allSatisfy(\.meansTheSameInEdition3)
        else { return nil }
        for column in select.columns {
            guard case .expression(let expression, let alias) = column.kind, let name = name(expression, alias) else {
                return nil
            }
            let value = rewritten(expression)
            if let source = select.sources.first, value == self.sources.text(of: expression.range) {
                // Two values of one row would come apart in two subqueries.
                guard select.columns.count == 1, case .table = source.kind else { return nil }
                var replacements: [(range: Range<Int>, text: String)] = []
                for condition in select.conditions { collectRequestValues(condition, into: &replacements) }
                let rest = replaced(source.range.lowerBound..<select.range.upperBound, replacements)
                parameters[name] = .subquery("(SELECT \(value) FROM \(rest))")
            } else if select.sources.isEmpty {
                parameters[name] = .value(value)
            } else {
                return nil
            }
        }
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
            guard let query = query(for: text) else { return nil }
            queries.append(Self.quoted(query))
        }
        guard let first = queries.first else { return nil }
        let options = priority.map { ", priority: \($0)" } ?? ""
        let list = queries.count == 1 ? "query: \(first)" : "queries: [\(queries.joined(separator: ", "))]"
        let line = "streams: {\(Self.quoted(name)): {auto_subscribe: true\(options), \(list)}}"
        return SyncConfig.parse("config: {edition: 3}\n\(line)").isUsable ? line : nil
    }

    private func query(for text: SQLSources.Text) -> String? {
        guard text.isOneLine, let select = SQLParser.parse(text, as: .dataQuery).select,
            select.conditions.allSatisfy(\.meansTheSameInEdition3)
        else { return nil }
        var replacements: [(range: Range<Int>, text: String)] = []
        for condition in select.conditions {
            guard collect(condition, into: &replacements) else { return nil }
        }
        var query = replaced(select.range, replacements)
        for condition in conditions {
            if select.conditions.contains(where: \.isDisjunction) { return nil }
            query += select.conditions.isEmpty && condition == conditions.first ? " WHERE " : " AND "
            query += condition
        }
        return query.split(whereSeparator: \.isNewline).map { $0.drop { $0.isWhitespace } }.joined(separator: " ")
    }

    /// Collects what has to be replaced in a condition.
    ///
    /// - Returns: `false` when a parameter stands where nothing can take its place.
    private func collect(
        _ expression: SQLExpression,
        into replacements: inout [(range: Range<Int>, text: String)]
    ) -> Bool {
        switch expression.kind {
        case .binary(.equal, let lhs, let rhs):
            for (own, other) in [(lhs, rhs), (rhs, lhs)] {
                guard let name = own.bucketParameter, case .subquery(let subquery)? = parameters[name] else { continue }
                guard other.bucketParameter == nil else { return false }
                replacements.append((expression.range, "\(sources.text(of: other.range)) IN \(subquery)"))
                return true
            }
        default:
            break
        }
        if let name = expression.bucketParameter {
            guard case .value(let value)? = parameters[name] else { return false }
            replacements.append((expression.range, value))
            return true
        }
        return expression.kind.operands.allSatisfy { collect($0, into: &replacements) }
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

    private static func quoted(_ text: String) -> String {
        let isPlain = text.utf8.allSatisfy { byte in
            (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20) || byte == UInt8(ascii: "_")
        }
        guard !isPlain || text.isEmpty else { return text }
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

    /// Whether the expression has the same NULL rules in all editions.
    fileprivate var meansTheSameInEdition3: Bool {
        switch kind {
        case .binary(.unequal, _, _), .between(_, _, _, isNegated: true), .membership(_, in: _, isNegated: true): false
        // An array, which only bucket definitions take for nothing when it is none.
        case .membership(_, in: .value, _): false
        default: kind.operands.allSatisfy(\.meansTheSameInEdition3)
        }
    }
}

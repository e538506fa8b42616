import PowerSyncProtocol

/// Calls of functions.
extension QueryBinder {
    /// Binds a call such as `upper(a)`.
    mutating func call(
        _ name: SQLName,
        _ arguments: [SQLExpression],
        at range: Range<Int>
    ) throws(SQLProblem) -> Scalar {
        guard let function = SQLFunction.named(name.text) else { throw unknownFunction(name) }
        try checkArity(of: "\(name.text)()", arguments.count, function.arity, at: range)
        var planFunction = function.function
        if planFunction == .jsonExtract, !options.hasFixedJSONExtract { planFunction = .splitJSONExtract }
        return try combine(arguments, at: range) { .call(planFunction, $0) }
    }

    private func unknownFunction(_ name: SQLName) -> SQLProblem {
        if SQLFunction.nondeterministic.contains(name.text) {
            return SQLProblem(
                code: .sqlNondeterministic,
                message: "\(name.text)() is not supported: what a row becomes must depend on the row only.",
                range: name.range
            )
        }
        let hint: String? =
            switch name.text {
            case _ where TableFunction.Kind.named(name.text) != nil:
                "It stands in FROM; to look for a value, write “value IN array”."
            case "current_setting": RequestHint.claims(in: options.dialect)
            default: NearName.hint(for: name.text, among: SQLFunction.names)
            }
        return SQLProblem(
            code: .sqlUnknownFunction,
            message: "There is no function \(name.text)().",
            hint: hint,
            range: name.range
        )
    }

    private func checkArity(
        of name: String,
        _ count: Int,
        _ arity: ClosedRange<Int>,
        at range: Range<Int>
    ) throws(SQLProblem) {
        guard !arity.contains(count) else { return }
        let expected =
            switch (arity.lowerBound, arity.upperBound) {
            case (1, 1): "one argument"
            case (let count, let most) where count == most: "\(count) arguments"
            case (let least, .max): "at least \(least.counted("argument"))"
            case (let least, let most): "\(least) to \(most) arguments"
            }
        throw SQLProblem(code: .sqlArity, message: "\(name) takes \(expected), not \(count).", range: range)
    }
}

// MARK: - Requests and metadata

extension QueryBinder {
    /// Binds a call such as `auth.user_id()` and `t.schema()`.
    mutating func call(
        _ qualifier: SQLName,
        _ name: SQLName,
        _ arguments: [SQLExpression],
        at range: Range<Int>
    ) throws(SQLProblem) -> Scalar {
        let function = name.text.lowercased()
        if options.dialect == .parameterQuery, qualifier.text == "request" {
            return try legacyRequest(qualifier, name, arguments, at: range)
        }
        if options.dialect == .stream, let part = PlanExpression.RequestPart(rawValue: qualifier.text) {
            return try request(part, function, qualifier, name, arguments, at: range)
        }
        let metadata: [String: PlanExpression.TableMetadata] = [
            "schema": .schema, "table_name": .tableName, "table_suffix": .tableSuffix,
        ]
        if let metadata = metadata[function] {
            return try tableMetadata(metadata, of: qualifier, name, arguments, at: range)
        }
        throw wrongRequest(qualifier, name, arguments)
    }

    private func wrongRequest(_ qualifier: SQLName, _ name: SQLName, _ arguments: [SQLExpression]) -> SQLProblem {
        let range = qualifier.range.lowerBound..<name.range.upperBound
        return SQLProblem(
            code: .sqlRequestFunction,
            message: "There is no function \(qualifier.text).\(name.text)() here.",
            hint: requestHint(qualifier, name, arguments) ?? generalHint,
            range: range
        )
    }

    /// What to write in place of a call that another kind of query, or a policy of the source's database, has.
    private func requestHint(_ qualifier: SQLName, _ name: SQLName, _ arguments: [SQLExpression]) -> String? {
        var argument: String?
        if case .literal(.text(let text))? = arguments.first?.kind { argument = text }
        return RequestHint.call(
            name.text.lowercased(),
            of: qualifier.text.lowercased(),
            argument,
            in: options.dialect
        )
    }

    private var generalHint: String {
        switch options.dialect {
        case .stream:
            "There are auth, connection and subscription, with parameters() and parameter('name'), and auth.user_id()."
        case .parameterQuery: "There are request.user_id(), request.jwt() and request.parameters()."
        case .dataQuery: "Data queries compare with bucket.name, where “name” is a column of the parameter queries."
        }
    }

    private mutating func request(
        _ part: PlanExpression.RequestPart,
        _ function: String,
        _ qualifier: SQLName,
        _ name: SQLName,
        _ arguments: [SQLExpression],
        at range: Range<Int>
    ) throws(SQLProblem) -> Scalar {
        let functions = part == .auth ? ["user_id", "parameters", "parameter"] : ["parameters", "parameter"]
        guard functions.contains(function) else {
            throw SQLProblem(
                code: .sqlRequestFunction,
                message: "There is no function \(part.rawValue).\(name.text)().",
                hint: requestHint(qualifier, name, arguments) ?? NearName.hint(for: function, among: functions)
                    ?? generalHint,
                range: range.lowerBound..<name.range.upperBound
            )
        }
        let count = function == "parameter" ? 1 : 0
        guard arguments.count == count else {
            throw SQLProblem(
                code: .sqlRequestFunction,
                message:
                    "\(part.rawValue).\(function)() takes \(count == 1 ? "one argument" : "no arguments"), not \(arguments.count).",
                hint: function == "parameters" ? "Write \(part.rawValue).parameter('name') for one of them." : nil,
                range: range
            )
        }
        let request = Scalar(
            expression: .request(part),
            uses: [Scalar.Use(dependency: .request, range: range)],
            range: range,
            clientChosenRange: part == .auth ? nil : range
        )
        let member: PlanFunction = options.hasFixedJSONExtract ? .memberValue : .splitMemberValue
        switch function {
        case "user_id":
            var user = request
            user.expression = .call(member, [request.expression, .literal("$.sub")])
            return user
        case "parameter":
            let key = try scalar(arguments[0])
            try checkConstants(of: member, [request, key], at: range)
            return .combining([request, key], range: range) { .call(member, $0) }
        default:
            return request
        }
    }

    private func legacyRequest(
        _ qualifier: SQLName,
        _ name: SQLName,
        _ arguments: [SQLExpression],
        at range: Range<Int>
    ) throws(SQLProblem) -> Scalar {
        let parts: [String: PlanExpression] = [
            "user_id": .call(.memberValue, [.request(.auth), .literal("$.sub")]),
            "jwt": .request(.auth), "parameters": .request(.connection),
        ]
        guard let expression = parts[name.text] else { throw wrongRequest(qualifier, name, arguments) }
        guard arguments.isEmpty else {
            throw SQLProblem(
                code: .sqlRequestFunction,
                message: "request.\(name.text)() takes no arguments.",
                hint: "Write request.\(name.text)() ->> 'name' for one of them.",
                range: range
            )
        }
        return Scalar(
            expression: expression,
            uses: [Scalar.Use(dependency: .request, range: range)],
            range: range,
            clientChosenRange: name.text == "parameters" ? range : nil
        )
    }

    private mutating func tableMetadata(
        _ metadata: PlanExpression.TableMetadata,
        of qualifier: SQLName,
        _ name: SQLName,
        _ arguments: [SQLExpression],
        at range: Range<Int>
    ) throws(SQLProblem) -> Scalar {
        let found = scopes.reversed().lazy.compactMap { $0.relation(named: qualifier.text) }.first
        guard let found, case .table(let set) = found.kind,
            case .table(let pattern, _) = resultSets[set.rawValue].kind
        else {
            throw found == nil && options.dialect == .stream
                ? wrongRequest(qualifier, name, arguments)
                : SQLProblem(
                    code: .sqlRequestFunction,
                    message: "“\(qualifier.text)” is no source table, so it has no \(name.text)().",
                    range: qualifier.range
                )
        }
        guard arguments.isEmpty else {
            throw SQLProblem(code: .sqlRequestFunction, message: "\(name.text)() takes no arguments.", range: range)
        }
        if metadata == .tableSuffix, !pattern.hasTableWildcard {
            report(
                .metadataSuffixWithoutWildcard,
                "“\(qualifier.text)” is one table: its suffix is always empty.",
                hint: "A name that ends in %, in double quotes, stands for several tables.",
                at: range
            )
        }
        return Scalar(
            expression: .metadata(metadata),
            uses: [Scalar.Use(dependency: .row(set), range: range)],
            range: range
        )
    }
}

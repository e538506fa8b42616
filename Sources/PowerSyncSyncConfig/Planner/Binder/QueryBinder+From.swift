import PowerSyncProtocol

/// Relations: what stands after `FROM`.
extension QueryBinder {
    /// Opens the scope of a `SELECT`.
    ///
    /// - Returns: The conditions of its subqueries.
    mutating func openScope(for select: SQLSelect) -> [Condition] {
        scopes.append(BindingScope())
        var conditions: [Condition] = []
        for source in select.sources {
            let relation = recovering { binder throws(SQLProblem) in try binder.relation(source, &conditions) }
            guard let relation else {
                // Without it, names that mean it would be reported, too.
                noteBrokenTable()
                continue
            }
            if !scopes[scopes.count - 1].add(relation) {
                report(
                    .sqlDuplicateTable,
                    "“\(relation.name)” stands in FROM twice.",
                    hint: "Give one of them an alias.",
                    at: source.alias?.range ?? source.range
                )
            }
        }
        return conditions
    }

    /// Adds a result set.
    mutating func addResultSet(_ kind: CanonicalQuery.Kind, at range: Range<Int>) -> ResultSetID {
        resultSets.append(CanonicalQuery.ResultSet(kind: kind, range: range))
        return ResultSetID(rawValue: resultSets.count - 1)
    }

    private mutating func relation(
        _ source: SQLSource,
        _ conditions: inout [Condition]
    ) throws(SQLProblem) -> Relation {
        if let alias = source.alias { noteFolding(of: alias) }
        switch source.kind {
        case .table(let schema, let name):
            if schema == nil, let columns = try commonTable(name, at: source.range, &conditions) {
                let alias = (source.alias ?? name).text
                return Relation(name: alias, schema: nil, kind: .derived(columns), range: source.range)
            }
            return try table(schema: schema, name: name, source)
        case .function(let name, let arguments):
            return try function(name, arguments, source)
        case .query(let select, let names):
            // A subquery sees the tables of enclosing queries, but not its siblings.
            let siblings = scopes.removeLast()
            defer { scopes.append(siblings) }
            let columns = try derivedColumns(of: select, names: names, at: source.range, &conditions)
            let name = source.alias?.text ?? ""
            return Relation(name: name, schema: nil, kind: .derived(columns), range: source.range)
        }
    }

    private mutating func table(
        schema: SQLName?,
        name: SQLName,
        _ source: SQLSource
    ) throws(SQLProblem) -> Relation {
        noteFolding(of: name)
        if let schema { noteFolding(of: schema) }
        try refuseParameterTable(source.alias ?? name)
        let parts = schema?.text.split(separator: ".", omittingEmptySubsequences: false).map(String.init) ?? []
        guard parts.count <= 2, !parts.contains("") else {
            throw SQLProblem(
                code: .sqlBadSchema,
                message: "A schema is written as schema or \"connection.schema\".",
                range: schema?.range ?? name.range
            )
        }
        let pattern = TablePattern(
            connection: parts.count == 2 ? parts[0] : nil,
            schema: parts.last,
            table: name.text
        )
        if let refusal = options.patternRefusal?(pattern) {
            throw SQLProblem(code: .sourcePattern, message: refusal, range: name.range)
        }
        checkTable(pattern, name: name)
        let set = addResultSet(.table(pattern, alias: source.alias), at: source.range)
        let relationName = (source.alias ?? name).text
        return Relation(name: relationName, schema: parts.last, kind: .table(set), range: source.range)
    }

    /// Refuses a table whose name stands for something else in bucket definitions.
    ///
    /// Taken for a table of the source, `SELECT user_id AS u FROM token_parameters` would give every user the buckets of all users.
    private func refuseParameterTable(_ name: SQLName) throws(SQLProblem) {
        let message: String
        var hint: String?
        switch (options.dialect, name.text) {
        case (.parameterQuery, "token_parameters"), (.dataQuery, "token_parameters"):
            message = "“token_parameters” is no table: it stands for values of the token."
            hint = "They need no FROM: write “SELECT token_parameters.user_id AS user_id”."
        case (.parameterQuery, "user_parameters"), (.dataQuery, "user_parameters"):
            message = "“user_parameters” is no table: it stands for what the client sends when it connects."
            hint = "It needs no FROM: write “SELECT user_parameters.name AS name”."
        case (.parameterQuery, "bucket"):
            message = "“bucket” is no table: it stands for the parameters of a bucket, in data queries."
        default:
            return
        }
        if options.dialect == .dataQuery { hint = "Values of the request are for parameter queries." }
        throw SQLProblem(code: .sqlUnknownTable, message: message, hint: hint, range: name.range)
    }

    private mutating func function(
        _ name: SQLName,
        _ arguments: [SQLExpression],
        _ source: SQLSource
    ) throws(SQLProblem) -> Relation {
        guard let kind = TableFunction.Kind.named(name.text) else {
            throw SQLProblem(
                code: .functionUnknown,
                message: "There is no table-valued function “\(name.text)”.",
                hint: "json_each(…) is the only one.",
                range: name.range
            )
        }
        guard arguments.count == 1 else {
            throw SQLProblem(
                code: .sqlArity,
                message: "\(name.text)() takes one argument, not \(arguments.count).",
                range: source.range
            )
        }
        let argument = try scalar(arguments[0])
        let set = try addFunction(kind, of: argument, at: source.range)
        return Relation(name: (source.alias ?? name).text, schema: nil, kind: .function(set), range: source.range)
    }

    /// Adds the rows of a function.
    ///
    /// - Throws: `tvf.inputs`.
    mutating func addFunction(
        _ kind: TableFunction.Kind,
        of argument: Scalar,
        at range: Range<Int>
    ) throws(SQLProblem) -> ResultSetID {
        guard argument.hasSingleDependency, !argument.usesFunction else {
            throw SQLProblem(
                code: .functionInputs,
                message: """
                    \(kind == .jsonEach ? "The argument of json_each()" : "The array after IN") reads one table or the \
                    request, and no other function.
                    """,
                range: argument.range
            )
        }
        try checkArray(argument)
        let home: CanonicalQuery.FunctionHome =
            switch argument.dependency {
            case nil: .undecided
            case .request: .request
            case .row(let set): .table(set)
            }
        return addResultSet(.function(kind, argument: argument, home: home), at: range)
    }

    /// The value column of a new function of `argument`.
    ///
    /// Bucket definitions take arrays only: a single value or an object there is none to be looked into.
    mutating func elements(of argument: Scalar) throws(SQLProblem) -> Scalar {
        let kind: TableFunction.Kind = options.dialect == .stream ? .jsonEach : .arrayElements
        let set = try addFunction(kind, of: argument, at: argument.range)
        return Scalar(
            expression: .output(set.rawValue, .value),
            uses: [Scalar.Use(dependency: .row(set), range: argument.range)],
            range: argument.range
        )
    }
}

// MARK: - Subqueries and common table expressions

extension QueryBinder {
    /// The columns of a common table expression, of which each reference is a copy of its own; `nil` when there is none
    /// of this name.
    mutating func commonTable(
        _ name: SQLName,
        at range: Range<Int>,
        _ conditions: inout [Condition]
    ) throws(SQLProblem) -> [Relation.DerivedColumn]? {
        let key = name.text.lowercased()
        guard let table = commonTables[key] else { return nil }
        usedCommonTables.insert(key)
        guard case .select(let select) = table else {
            noteBrokenTable()
            throw SQLProblem(code: .sqlUnknownTable, message: "“\(name.text)” has errors.", range: range)
        }
        // It sees nothing of this query, and no other common table expression.
        let outer = (scopes, commonTables)
        (scopes, commonTables) = ([], [:])
        defer { (scopes, commonTables) = outer }
        return try derivedColumns(of: select, names: nil, at: range, &conditions)
    }

    /// The columns of a subquery, whose tables and conditions become part of this query.
    mutating func derivedColumns(
        of select: SQLSelect,
        names: [SQLName]?,
        at range: Range<Int>,
        _ conditions: inout [Condition]
    ) throws(SQLProblem) -> [Relation.DerivedColumn] {
        let firstSet = resultSets.count
        conditions += openScope(for: select)
        defer { scopes.removeLast() }
        var columns: [Relation.DerivedColumn] = []
        for column in select.columns {
            let derived = try derivedColumn(column)
            if names == nil, columns.contains(where: { $0.name.utf8.elementsEqual(derived.name.utf8) }) {
                throw SQLProblem(
                    code: .sqlDuplicateColumn,
                    message: "Two columns are named “\(derived.name)”.",
                    hint: "Give one of them another name with AS.",
                    range: column.range
                )
            }
            columns.append(derived)
        }
        conditions += bindConditions(select.conditions)
        if let names {
            guard names.count == columns.count else {
                throw SQLProblem(
                    code: .sqlSubqueryColumns,
                    message: "The subquery has \(columns.count.counted("column")), but \(names.count.counted("name")).",
                    range: range
                )
            }
            for (position, name) in names.enumerated() { columns[position].name = name.text }
        }
        // Warnings about tables inside belong to the place where this query mentions them.
        for position in firstSet..<resultSets.count { resultSets[position].range = range }
        return columns
    }

    private mutating func derivedColumn(_ column: SQLColumn) throws(SQLProblem) -> Relation.DerivedColumn {
        guard case .expression(let expression, let alias) = column.kind else {
            throw SQLProblem(
                code: .sqlStarNotAllowed,
                message: "“*” is not allowed in a subquery: the compiler works without a schema.",
                hint: "Name the columns.",
                range: column.range
            )
        }
        if let alias { noteFolding(of: alias) }
        let scalar = try scalar(expression)
        return Relation.DerivedColumn(name: name(of: expression, alias: alias).text, scalar: scalar)
    }

    /// The name of a column, and whether it had to be made from the text.
    func name(of expression: SQLExpression, alias: SQLName?) -> (text: String, isText: Bool) {
        if let alias { return (alias.text, false) }
        if case .column(_, _, let name) = expression.kind { return (name.text, false) }
        return (sources.text(of: expression.range), true)
    }
}

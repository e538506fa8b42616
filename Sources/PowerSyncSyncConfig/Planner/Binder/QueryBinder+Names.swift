/// Finds what names mean.
extension QueryBinder {
    /// The relation that a name means; without a name the only one of the innermost `SELECT` that has any.
    ///
    /// - Parameters:
    ///   - name: The name.
    ///   - column: Which of its columns is read, for the hint.
    ///   - range: The place.
    /// - Returns: The relation.
    /// - Throws: `sql.unknown_table` or `sql.ambiguous_column`.
    func relation(
        named name: SQLName?,
        column: SQLName? = nil,
        at range: Range<Int>
    ) throws(SQLProblem) -> Relation {
        guard let name else {
            guard let scope = scopes.last(where: { !$0.relations.isEmpty }) else {
                throw SQLProblem(
                    code: .sqlUnknownTable,
                    message: "The query has no table.",
                    hint: "Add FROM; texts have single quotes.",
                    range: range
                )
            }
            guard scope.relations.count == 1 else {
                throw SQLProblem(
                    code: .sqlAmbiguousColumn,
                    message: "Several tables are in scope.",
                    hint:
                        "Write the name of one before the column, as in \(SQLVocabulary.written(scope.relations[0].name)).column.",
                    range: range
                )
            }
            return scope.relations[0]
        }
        for scope in scopes.reversed() {
            if let found = scope.relation(named: name.text) { return found }
        }
        throw SQLProblem(
            code: .sqlUnknownTable,
            message: "There is no table “\(name.text)” in FROM.",
            hint: hint(forTable: name.text, column: column?.text),
            range: name.range
        )
    }

    private func hint(forTable name: String, column: String?) -> String? {
        if let column, let hint = RequestHint.column(column, of: name.lowercased(), in: options.dialect) { return hint }
        return NearName.hint(for: name, among: scopes.flatMap { $0.relations.map(\.name) })
    }

    /// A column.
    mutating func column(
        schema: SQLName?,
        table: SQLName?,
        name: SQLName,
        at range: Range<Int>
    ) throws(SQLProblem) -> Scalar {
        if schema == nil, let table, let value = try legacyParameter(table, name, at: range) { return value }
        noteFolding(of: name)
        let relation = try relation(named: table, column: name, at: range)
        if let schema {
            let isItsOwn =
                relation.schema?.utf8.elementsEqual(schema.text.utf8) ?? options.schema?.isDefault(schema.text) ?? true
            guard isItsOwn else {
                throw SQLProblem(
                    code: .sqlColumnSchema,
                    message: "The table “\(relation.name)” is not in the schema “\(schema.text)”.",
                    hint: "Leave the schema out.",
                    range: schema.range
                )
            }
        }
        switch relation.kind {
        case .table(let set):
            if name.text == Self.suffixName, let suffix = try tableSuffix(name, of: set, relation, at: range) {
                return suffix
            }
            checkColumn(name, of: set)
            return Scalar(
                expression: .column(name.text),
                uses: [Scalar.Use(dependency: .row(set), range: range)],
                range: range
            )
        case .function(let set):
            guard let column = TableFunction.Column(rawValue: name.text) else {
                report(
                    .functionUnknownColumn,
                    "“\(name.text)” of a table-valued function is always NULL.",
                    hint: "It has the columns “key” and “value”.",
                    at: name.range
                )
                // It depends on the function all the same, which has to have a row.
                return Scalar(
                    expression: .call(.choice, [.literal(0), .output(set.rawValue, .value), .literal(.null)]),
                    uses: [Scalar.Use(dependency: .row(set), range: range)],
                    range: range
                )
            }
            return Scalar(
                expression: .output(set.rawValue, column),
                uses: [Scalar.Use(dependency: .row(set), range: range)],
                range: range
            )
        case .derived(let columns):
            guard let column = columns.first(where: { $0.name.utf8.elementsEqual(name.text.utf8) }) else {
                throw SQLProblem(
                    code: .sqlUnknownColumn,
                    message: "“\(relation.name)” has no column “\(name.text)”.",
                    hint: NearName.hint(for: name.text, among: columns.map(\.name)),
                    range: name.range
                )
            }
            try count(column, at: range)
            var scalar = column.scalar
            scalar.range = range
            scalar.uses = scalar.uses.map { Scalar.Use(dependency: $0.dependency, range: range) }
            return scalar
        }
    }

    /// What the wildcard of a table stands for, as queries before edition 3 write it.
    private static let suffixName = "_table_suffix"

    /// `_table_suffix`; `nil` where that is a column.
    ///
    /// Taken for a column that no table has, it would be NULL, and `NOT (_table_suffix = '2023')` true for all rows.
    ///
    /// - Throws: A problem where there is no such name, unless it stands in double quotes.
    private func tableSuffix(
        _ name: SQLName,
        of set: ResultSetID,
        _ relation: Relation,
        at range: Range<Int>
    ) throws(SQLProblem) -> Scalar? {
        guard case .table(let pattern, _) = resultSets[set.rawValue].kind else { return nil }
        switch (options.edition < 3, pattern.hasTableWildcard) {
        case (true, true):
            return Scalar(
                expression: .metadata(.tableSuffix),
                uses: [Scalar.Use(dependency: .row(set), range: range)],
                range: range
            )
        case (false, false):
            return nil
        case _ where name.isQuoted:
            return nil
        case (true, false):
            throw SQLProblem(
                code: .sqlUnknownColumn,
                message: "“\(relation.name)” is one table: only a name that ends in % has a \(Self.suffixName).",
                hint: "If the table has such a column, write \"\(Self.suffixName)\".",
                range: range
            )
        case (false, true):
            throw SQLProblem(
                code: .sqlUnknownColumn,
                message: "Since edition 3, \(Self.suffixName) is a function.",
                hint: "Write \(SQLVocabulary.written(relation.name)).table_suffix().",
                range: range
            )
        }
    }

    /// `bucket.x`, `token_parameters.x` and `user_parameters.x` of legacy definitions.
    private mutating func legacyParameter(
        _ table: SQLName,
        _ name: SQLName,
        at range: Range<Int>
    ) throws(SQLProblem) -> Scalar? {
        let expression: PlanExpression
        var isChosenByClient = false
        switch (options.dialect, table.text) {
        case (.dataQuery, "bucket"):
            expression = .bucketParameter(name.text)
        case (.parameterQuery, "token_parameters") where name.text == "user_id":
            expression = .call(.memberValue, [.request(.auth), .literal("$.sub")])
        case (.parameterQuery, "token_parameters"):
            warnAboutClaim(name, at: range)
            let claim = PlanExpression.call(.member, [.request(.auth), .literal("parameters")])
            expression = .call(.memberValue, [claim, .literal(.text(name.text))])
        case (.parameterQuery, "user_parameters"):
            expression = .call(.memberValue, [.request(.connection), .literal(.text(name.text))])
            isChosenByClient = true
        default:
            return nil
        }
        return Scalar(
            expression: expression,
            uses: [Scalar.Use(dependency: .request, range: range)],
            range: range,
            clientChosenRange: isChosenByClient ? range : nil
        )
    }
}

extension QueryBinder {
    /// Claims that a token has for itself, and hardly ever in its claim `parameters`.
    private static let registeredClaims: Set<String> = ["iss", "sub", "aud", "exp", "nbf", "iat", "jti", "parameters"]

    /// Warns about a claim of the token where members of its claim `parameters` are read.
    private mutating func warnAboutClaim(_ name: SQLName, at range: Range<Int>) {
        guard Self.registeredClaims.contains(name.text) else { return }
        report(
            .legacyTokenClaim,
            "token_parameters has user_id and the members of the claim “parameters”: “\(name.text)” is NULL unless it is one.",
            hint: name.text == "sub" ? "Write token_parameters.user_id." : "Write request.jwt() ->> '\(name.text)'.",
            at: range
        )
    }
}

// MARK: - The source's schema

extension QueryBinder {
    /// Warns about a table that the source does not have.
    mutating func checkTable(_ pattern: TablePattern, name: SQLName) {
        guard let schema = options.schema, schema.tables(matching: pattern).isEmpty else { return }
        let names = schema.tables.map(\.name.name)
        report(
            .schemaTableMissing,
            "The source has no table “\(pattern)”.",
            hint: schemaHint(for: name, in: schema) ?? foldingHint(for: name, among: names)
                ?? NearName.hint(for: name.text, among: names),
            at: name.range
        )
    }

    /// What to write when only the schema is wrong.
    private func schemaHint(for name: SQLName, in schema: SourceSchema) -> String? {
        guard let meant = schema.tables.first(where: { $0.name.name.utf8.elementsEqual(name.text.utf8) }) else {
            return nil
        }
        let table = SQLVocabulary.written(meant.name.name)
        return schema.isDefault(meant.name.schema)
            ? "The source has it in its default schema; write \(table), without a schema."
            : "Write \(SQLVocabulary.written(meant.name.schema)).\(table)."
    }

    /// Warns about a column that the source does not have: it would be NULL in every row.
    mutating func checkColumn(_ name: SQLName, of set: ResultSetID) {
        guard let schema = options.schema, case .table(let pattern, _) = resultSets[set.rawValue].kind else { return }
        let tables = schema.tables(matching: pattern)
        guard !tables.isEmpty, !tables.contains(where: { $0.columns.contains(name.text) }) else { return }
        let columns = tables.flatMap(\.columns)
        report(
            .schemaColumnMissing,
            "The table “\(pattern)” has no column “\(name.text)”: it is NULL in every row.",
            hint: foldingHint(for: name, among: columns) ?? NearName.hint(for: name.text, among: columns),
            at: name.range
        )
    }

    /// What to write when only the case of letters is wrong.
    private func foldingHint(for name: SQLName, among names: [String]) -> String? {
        guard let meant = names.first(where: { $0.lowercased() == name.text.lowercased() }) else { return nil }
        return "Names without quotes are folded to lower case; write \"\(meant)\"."
    }
}

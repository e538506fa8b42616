/// Compiles one query: syntax tree, canonical form, variants, plans (docs/sync-config.md "Compilation").
struct QueryCompiler {
    /// What a query becomes.
    struct Result {
        /// The planned variants; incomplete when there are errors.
        var variants: [PlannedVariant] = []
        /// All findings, each once, in the order of the text.
        var problems: [SQLProblem] = []
        /// The common table expressions that the query refers to, by folded name.
        var usedCommonTables: Set<String> = []
    }

    /// How queries are to be understood.
    let options: BindingOptions
    /// Whether clients may choose freely what they get.
    var acceptsDangerousParameters = false
    /// Whether clients get the stream without subscribing.
    var isSubscribedByDefault = false

    /// Compiles a query of a stream.
    ///
    /// Never fails: problems are part of the result.
    func compile(
        _ text: SQLSources.Text,
        in sources: SQLSources,
        commonTables: [String: CommonTable]
    ) -> Result {
        var result = Result()
        let syntax = SQLParser.parse(text, edition: options.edition)
        result.problems = syntax.problems
        if let select = syntax.select {
            var binder = QueryBinder(options: options, sources: sources, commonTables: commonTables)
            let query = binder.bind(select, isComplete: syntax.problems.isEmpty)
            result.problems += binder.rootProblems
            result.usedCommonTables = binder.usedCommonTables
            if let query, !binder.usesBrokenTable {
                // A column that has an error may be the id.
                let hasErrors = result.problems.contains { $0.severity == .error }
                if !hasErrors, let finding = idFinding(query, select, in: sources) {
                    result.problems.append(finding)
                }
                plan(query, into: &result)
            }
        }
        result.problems = result.problems.unique
        return result
    }

    /// Checks a common table expression.
    ///
    /// - Returns: What queries can refer to, and all findings.
    func compileCommonTable(
        _ text: SQLSources.Text,
        in sources: SQLSources
    ) -> (table: CommonTable, problems: [SQLProblem]) {
        let syntax = SQLParser.parse(text, edition: options.edition)
        var problems = syntax.problems
        guard let select = syntax.select else { return (.broken, problems) }
        var binder = QueryBinder(options: options, sources: sources)
        var conditions: [Condition] = []
        do throws(SQLProblem) {
            _ = try binder.derivedColumns(of: select, names: nil, at: select.range, &conditions)
        } catch {
            problems.append(error)
        }
        problems += binder.problems
        let settled = conditions.map { $0.map(binder.resultSets.settled) }
        do throws(SQLProblem) {
            _ = try NormalForm.variants(of: .all(of: settled), problems: &problems)
        } catch {
            problems.append(error)
        }
        let isBroken = problems.contains { $0.severity == .error }
        return (isBroken ? .broken : .select(select), problems.unique)
    }

    /// The warning about rows without an id.
    private func idFinding(_ query: CanonicalQuery, _ select: SQLSelect, in sources: SQLSources) -> SQLProblem? {
        let check = RowIDCheck(query, from: select, in: sources)
        return check.finding(schema: options.schema).map { finding in
            SQLProblem(code: .streamNoID, message: finding.message, hint: finding.hint, range: select.columnRange)
        }
    }

    private func plan(_ query: CanonicalQuery, into result: inout Result) {
        do throws(SQLProblem) {
            let variants = try NormalForm.variants(of: query.condition, problems: &result.problems)
            guard !result.problems.contains(where: { $0.severity == .error }) else { return }
            var planned: [PlannedVariant] = []
            for variant in variants { planned.append(try VariantPlanner.plan(variant, of: query)) }
            for variant in planned { result.problems += warnings(about: variant) }
            result.problems += defaultWarnings(about: planned.map(\.way))
            result.variants += planned
        } catch {
            result.problems.append(error)
        }
    }

    private func warnings(about variant: PlannedVariant) -> [SQLProblem] {
        let way = variant.way
        var warnings = way.unboundedTables.map { lookup in
            SQLProblem(
                code: .lookupUnbounded,
                message: """
                    All rows of “\(lookup.table)” that match the filters are read for every client, and count for the limit of \
                    parameter results.
                    """,
                hint: """
                    Compare a column of it with a value of the request, or with a column of a table that such a value finds.
                    """,
                range: lookup.range
            )
        }
        warnings += variant.separatedPairs.map { $0.problem }
        if !acceptsDangerousParameters, let range = way.dangerousParameter {
            warnings.append(.dangerousParameter(at: range))
        }
        return warnings
    }
}

extension QueryCompiler {
    /// The warning about a query that gives the default subscription nothing, because it has no parameters.
    private func defaultWarnings(about ways: [PlannedWay]) -> [SQLProblem] {
        let parameters = ways.compactMap(\.requiredSubscriptionParameter)
        guard isSubscribedByDefault, parameters.count == ways.count, let range = parameters.first else { return [] }
        let warning = SQLProblem(
            code: .streamNoDefault,
            message: """
                The query gives clients nothing that did not subscribe: without a subscription its parameters are NULL.
                """,
            hint: "Leave “auto_subscribe” out, or write the query for clients without parameters as one of its own.",
            range: range
        )
        return [warning]
    }
}

extension SQLProblem {
    /// The warning about a value that clients choose, and that decides alone what they get.
    static func dangerousParameter(at range: Range<Int>) -> SQLProblem {
        SQLProblem(
            code: .streamDangerousParameter,
            message: "Clients choose this value freely, and nothing else limits what they get.",
            hint: """
                Add a condition on auth.user_id() or auth.parameter(), or set “accept_potentially_dangerous_queries: true”.
                """,
            range: range
        )
    }
}

extension [SQLProblem] {
    /// Each problem once, in the order of the text.
    var unique: [SQLProblem] {
        var seen: Set<SQLProblem> = []
        return filter { seen.insert($0).inserted }.sorted { $0.range.lowerBound < $1.range.lowerBound }
    }
}

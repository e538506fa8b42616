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

    /// Compiles a query of a stream.
    ///
    /// Never fails: problems are part of the result.
    func compile(
        _ text: SQLSources.Text,
        in sources: SQLSources,
        commonTables: [String: CommonTable]
    ) -> Result {
        var result = Result()
        let syntax = SQLParser.parse(text)
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
        let syntax = SQLParser.parse(text)
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
            for variant in variants {
                let planned = try VariantPlanner.plan(variant, of: query)
                result.problems += warnings(about: planned.way)
                result.variants.append(planned)
            }
        } catch {
            result.problems.append(error)
        }
    }

    private func warnings(about way: PlannedWay) -> [SQLProblem] {
        var warnings = way.unboundedTables.map { range in
            SQLProblem(
                code: .lookupUnbounded,
                message: """
                    All rows of this table that match the filters are read for every client, and count for the limit of \
                    parameter results.
                    """,
                hint: "Connect it to a value of the request.",
                range: range
            )
        }
        if !acceptsDangerousParameters, let range = way.dangerousParameter {
            warnings.append(.dangerousParameter(at: range))
        }
        return warnings
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

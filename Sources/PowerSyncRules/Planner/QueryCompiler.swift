/// Compiles one query: lexer, syntax tree, canonical form, variants, plans (docs/sync-config.md "Compilation").
enum QueryCompiler {
    /// What a query becomes.
    struct Result {
        /// The planned variants; incomplete when there are errors.
        var variants: [PlannedVariant] = []
        /// All findings, each once, in the order of the text.
        var problems: [SQLProblem] = []
    }

    /// Options of the stream that a query belongs to.
    struct Options {
        /// Whether clients may choose freely what they get.
        var acceptsDangerousParameters = false
    }

    /// Compiles a query.
    ///
    /// Never fails: problems are part of the result.
    static func compile(_ text: String, options: Options = Options()) -> Result {
        var result = Result()
        do throws(SQLProblem) {
            try compile(text, options: options, into: &result)
        } catch {
            result.problems.append(error)
        }
        var seen: Set<SQLProblem> = []
        result.problems = result.problems.filter { seen.insert($0).inserted }
            .sorted { $0.range.lowerBound < $1.range.lowerBound }
        return result
    }

    private static func compile(
        _ text: String,
        options: Options,
        into result: inout Result
    ) throws(SQLProblem) {
        let syntax = try SQLParser.parse(text)
        var lowering = QueryLowering(text: text)
        let query = try lowering.lower(syntax)
        result.problems += lowering.warnings
        let variants = try NormalForm.variants(of: query.condition, problems: &result.problems)
        guard !result.problems.contains(where: { $0.code.severity == .error }) else { return }
        for variant in variants {
            let planned = try VariantPlanner.plan(variant, of: query)
            result.problems += warnings(about: planned, options: options)
            result.variants.append(planned)
        }
    }

    private static func warnings(about variant: PlannedVariant, options: Options) -> [SQLProblem] {
        var warnings = variant.unboundedTables.map { range in
            SQLProblem(
                code: .lookupUnbounded,
                message: """
                    All rows of this table that match the filters are read for every client, and count for the limit of \
                    parameter results; connect it to a value of the request.
                    """,
                range: range
            )
        }
        if !options.acceptsDangerousParameters, let range = variant.dangerousParameter {
            warnings.append(
                SQLProblem(
                    code: .streamDangerousParameter,
                    message: """
                        Clients choose this value freely, and nothing else limits what they get. Add a condition on \
                        auth.user_id() or auth.parameter(), or set “accept_potentially_dangerous_queries: true”.
                        """,
                    range: range
                )
            )
        }
        return warnings
    }
}

/// Compiles a legacy bucket definition (docs/sync-config.md "Bucket definitions").
///
/// ```yaml
/// by_user:
///   parameters: SELECT request.user_id() AS user_id          ways to buckets
///   data:
///     - SELECT * FROM lists WHERE owner_id = bucket.user_id   what is in them
/// ```
///
/// The parts are those of streams: queries are bound and brought into normal form in the same way, and what comes out is
/// an evaluator with the parameters as keys, and a querier.
struct DefinitionCompiler {
    /// How queries are to be understood.
    let options: BindingOptions
    /// Where texts come from.
    let sources: SQLSources
    /// All findings.
    private(set) var problems: [SQLProblem] = []

    /// Creates a compiler.
    init(options: BindingOptions, sources: SQLSources) {
        self.options = options
        self.sources = sources
    }

    /// Compiles a definition.
    ///
    /// - Parameters:
    ///   - definition: The definition.
    ///   - parameters: The texts of its parameter queries; `nil` when it has none.
    ///   - data: The texts of its data queries.
    /// - Returns: The planned definition; incomplete when there are errors.
    mutating func compile(
        _ definition: LegacyDefinition,
        parameters: [SQLSources.Text]?,
        data: [SQLSources.Text]
    ) -> PlannedDefinition {
        var planned = PlannedDefinition(
            name: definition.name,
            priority: definition.priority ?? 3,
            evaluators: [],
            ways: parameters == nil ? [PlannedWay()] : []
        )
        var names: [String]? = parameters == nil ? [] : nil
        var dataOptions = options
        for text in parameters ?? [] {
            var compiler = ParameterQueryCompiler(options: options, sources: sources)
            let query = compiler.compile(text, hasPriority: definition.priority != nil)
            problems += proposingStream(for: data, of: definition, parameters ?? [], in: compiler.problems)
            guard let query else { continue }
            dataOptions.parameterTypes.merge(query.types) { $0.merged(with: $1) }
            let order = names ?? query.names
            names = order
            guard Set(order) == Set(query.names) else {
                problems.append(
                    .legacy(
                        .legacyParametersDiffer,
                        "All parameter queries of a definition have the same columns.",
                        "The first one has \(order.joined(separator: ", ")).",
                        at: query.range
                    )
                )
                continue
            }
            for way in query.ways(orderedBy: order) {
                if !definition.acceptsDangerousQueries, let range = way.dangerousParameter {
                    problems.append(.dangerousParameter(at: range))
                }
                problems += way.unboundedTables.map { lookup in
                    SQLProblem(
                        code: .lookupUnbounded,
                        message: """
                            All rows of “\(lookup.table)” that match the filters are read for every client, which gets \
                            the buckets of all of them; they count for the limit of parameter results.
                            """,
                        hint:
                            "Compare a column with a value of the request, as in “WHERE user_id = request.user_id()”.",
                        range: lookup.range
                    )
                }
                planned.ways.append(way)
            }
        }
        for text in data {
            var compiler = DataQueryCompiler(options: dataOptions, sources: sources)
            // Without parameters to check against, only what is wrong in the query itself can be said.
            planned.evaluators += compiler.compile(text, parameters: names)
            problems += proposingStream(for: [text], of: definition, parameters ?? [], in: compiler.problems)
        }
        problems = problems.unique
        return planned
    }
}

extension DefinitionCompiler {
    /// The problems of a query, with the stream that says what some data queries mean where only streams can.
    private func proposingStream(
        for data: [SQLSources.Text],
        of definition: LegacyDefinition,
        _ parameters: [SQLSources.Text],
        in problems: [SQLProblem]
    ) -> [SQLProblem] {
        let codes: Set<DiagnosticCode> = [.sqlUnsupportedClause, .legacyUnsupportedFilter, .legacyTwoArrays]
        guard problems.contains(where: { codes.contains($0.code) }),
            parameters.count <= 1,
            let line = (try? StreamProposal(parameters: parameters.first, in: sources))?
                .line(for: data, named: definition.name, priority: definition.priority)
        else { return problems }
        return problems.map { problem in
            guard codes.contains(problem.code), let hint = problem.hint, hint.hasSuffix(SQLProblem.pointerToStreams)
            else {
                return problem
            }
            var problem = problem
            problem.hint = "\(hint) With “config: {edition: 3}”, write: \(line)"
            return problem
        }
    }
}

extension SQLProblem {
    /// Where everything is said that bucket definitions cannot say.
    fileprivate static let pointerToStreams = "Streams (edition 3) have fewer limits."

    /// A finding about a legacy definition, which ends with a pointer to streams.
    static func legacy(
        _ code: DiagnosticCode,
        _ message: String,
        _ hint: String? = nil,
        at range: Range<Int>
    ) -> SQLProblem {
        let hint = hint.map { "\($0) \(pointerToStreams)" } ?? pointerToStreams
        return SQLProblem(code: code, message: message, hint: hint, range: range)
    }
}

extension [SQLProblem] {
    /// The problems of a legacy query: conditions that streams would call mixed are unsupported filters there.
    var asLegacy: [SQLProblem] {
        map { problem in
            guard problem.code == .filterMixedDependencies || problem.code == .filterUnrelated else { return problem }
            return .legacy(
                .legacyUnsupportedFilter,
                "A condition reads the table or the request; “=” and IN may compare the two, but not under NOT.",
                at: problem.range
            )
        }
    }
}

extension SQLSelect {
    /// What no query of a bucket definition may have: `DISTINCT`, joins and subqueries in `FROM`.
    var legacyProblems: [SQLProblem] {
        var problems: [SQLProblem] = []
        if let distinct {
            problems.append(.legacy(.sqlUnsupportedClause, "DISTINCT is not part of bucket definitions.", at: distinct))
        }
        if sources.count > 1 {
            problems.append(
                .legacy(.sqlUnsupportedClause, "Joins are not part of bucket definitions.", at: sources[1].range)
            )
        }
        for source in sources {
            if case .query = source.kind {
                problems.append(
                    .legacy(.sqlUnsupportedClause, "Subqueries are not part of bucket definitions.", at: source.range)
                )
            }
        }
        return problems
    }
}

/// Compiles a payload of an event: columns of one table, and conditions on its rows (docs/sync-config.md "Events").
///
/// Editions 1 and 2 ignore a condition, and say so.
struct EventQueryCompiler {
    private let options: BindingOptions
    private let sources: SQLSources
    /// All findings, each once, in the order of the text.
    private(set) var problems: [SQLProblem] = []

    /// Creates a compiler for one query.
    init(options: BindingOptions, sources: SQLSources) {
        var options = options
        options.dialect = options.edition < 3 ? .dataQuery : .stream
        self.options = options
        self.sources = sources
    }

    /// Compiles a query.
    ///
    /// - Parameters:
    ///   - text: The query.
    ///   - event: What it tells; `nil` for an event that is only checked.
    /// - Returns: What rows become; `nil` when there are errors, or for an event that is only checked.
    mutating func compile(_ text: SQLSources.Text, of event: ParameterIndex.Event?) -> ParameterIndex? {
        defer { problems = problems.unique }
        let syntax = SQLParser.parse(text, as: options.dialect)
        problems = syntax.problems
        guard var select = syntax.select else { return nil }
        if options.edition < 3 { ignoreCondition(of: &select) }
        refuseOtherSources(of: select)
        guard !hasErrors else { return nil }
        var binder = QueryBinder(options: options, sources: sources)
        let query = binder.bind(select, isComplete: true)
        problems += binder.problems.filter { $0.code != .fromUnused && $0.code != .tableAliasRenames }
        guard let query else { return nil }
        refuseWhatIsNotOfTheRow(query)
        let filters = filters(of: query)
        guard !hasErrors, let event, case .table(let pattern, _) = query[query.output].kind else { return nil }
        let columns = EventColumns(query.columns)
        for name in columns.missing {
            problems.append(
                SQLProblem(
                    code: .eventColumns,
                    message:
                        "The payload has no column “\(name)”: its rows are left out of \(event.rawValue), with a warning.",
                    hint: "It needs \(EventColumns.names.joined(separator: ", ")).",
                    range: select.columnRange
                )
            )
        }
        return ParameterIndex(
            table: pattern,
            functions: [],
            filters: filters,
            keys: [columns["user_id"], columns["client_id"]],
            outputs: [columns["checkpoint"]],
            keepsNull: false,
            event: event
        )
    }

    private var hasErrors: Bool { problems.contains { $0.severity == .error } }

    private mutating func ignoreCondition(of select: inout SQLSelect) {
        problems += select.legacyProblems
        guard let condition = select.conditions.first else { return }
        problems.append(
            SQLProblem(
                code: .eventWhereIgnored,
                message: "The condition of an event has no effect before edition 3.",
                range: condition.range
            )
        )
        select.conditions = []
    }

    /// Refuses everything after `FROM` but one table.
    private mutating func refuseOtherSources(of select: SQLSelect) {
        if select.sources.count > 1 { refuse("joins", at: select.sources[1].range) }
        for source in select.sources {
            switch source.kind {
            case .table: break
            case .function: refuse("table-valued functions", at: source.range)
            case .query: refuse("subqueries", at: source.range)
            }
        }
    }

    /// Refuses subqueries and functions of conditions, which are result sets by now, and values of the request.
    private mutating func refuseWhatIsNotOfTheRow(_ query: CanonicalQuery) {
        for (position, set) in query.resultSets.enumerated() where position != query.output.rawValue {
            switch set.kind {
            case .table: refuse("subqueries", at: set.range)
            case .function: refuse("table-valued functions", at: set.range)
            }
        }
        for use in query.condition?.scalars.flatMap(\.uses) ?? [] where use.dependency == .request {
            problems.append(
                SQLProblem(
                    code: .sqlRequestFunction,
                    message: "A row tells an event whoever asks: there is no request.",
                    range: use.range
                )
            )
        }
    }

    private mutating func refuse(_ what: String, at range: Range<Int>) {
        // Editions 1 and 2 have their own words for it.
        guard !problems.contains(where: { $0.range == range && $0.code == .sqlUnsupportedClause }) else { return }
        problems.append(
            SQLProblem(code: .sqlUnsupportedClause, message: "An event reads one table, without \(what).", range: range)
        )
    }

    /// What must be true for a row to tell the event.
    private mutating func filters(of query: CanonicalQuery) -> [PlanExpression] {
        guard !hasErrors else { return [] }
        do throws(SQLProblem) {
            let branches = try NormalForm.variants(of: query.condition, problems: &problems).map { variant in
                variant.flatMap { term -> [PlanExpression] in
                    if case .filter(let filter) = term { filter.expression.conjuncts } else { [] }
                }
            }
            let filters = branches.count == 1 ? branches[0] : [.or(branches.map { .and($0) })]
            return filters.sortedByStructure
        } catch {
            problems.append(error)
            return []
        }
    }
}

/// The columns of the payload of an event.
private struct EventColumns {
    /// Their names.
    static let names = ["user_id", "client_id", "checkpoint"]

    private var expressions: [String: PlanExpression] = [:]

    /// Takes them from a column list, in which the last one of a name counts.
    init(_ columns: [OutputColumn]) {
        for column in columns {
            switch column {
            case .star, .legacyStar: for name in Self.names { expressions[name] = .column(name) }
            case .expression(let expression, let name): expressions[name] = expression
            }
        }
    }

    /// The names of those that are not there.
    var missing: [String] { Self.names.filter { expressions[$0] == nil } }

    /// The value of one; NULL for one that is not there.
    subscript(name: String) -> PlanExpression { expressions[name] ?? .literal(.null) }
}

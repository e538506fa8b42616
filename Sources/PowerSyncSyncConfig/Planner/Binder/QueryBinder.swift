/// Turns a syntax tree into canonical form: finds what names mean, inlines subqueries and common table expressions, and
/// turns `IN (SELECT …)` into joins (docs/sync-config.md "Compilation").
///
/// Problems are collected; a column or a condition that has one is left out.
struct QueryBinder {
    /// How the query is to be understood.
    let options: BindingOptions
    /// Where texts come from.
    let sources: SQLSources
    /// The common table expressions in scope, by folded name.
    var commonTables: [String: CommonTable]
    /// The result sets so far.
    var resultSets: [CanonicalQuery.ResultSet] = []
    /// The relations that can be referred to by name, innermost `SELECT` last.
    var scopes: [BindingScope] = []
    /// All findings.
    var problems: [SQLProblem] = []
    /// The names of common table expressions that the query refers to.
    var usedCommonTables: Set<String> = []
    /// How many findings there were when the query first mentioned a table that has errors.
    private var problemsBeforeBrokenTable: Int?
    /// How many parts the columns of subqueries stand for that the query mentions.
    private var derivedParts = 0
    /// Names that were already reported as folded.
    private var foldedNames: Set<Range<Int>> = []

    /// The most parts that the columns of subqueries may stand for, all that a query mentions together.
    ///
    /// Each mention is a copy: a column of `a || a` over a column of `a || a`, and so on, doubles with each level.
    static let maximumDerivedParts = 10_000

    /// Creates a binder for one query.
    init(options: BindingOptions, sources: SQLSources, commonTables: [String: CommonTable] = [:]) {
        self.options = options
        self.sources = sources
        self.commonTables = commonTables
    }

    /// Binds a query.
    ///
    /// - Parameters:
    ///   - select: The syntax tree.
    ///   - isComplete: Whether the tree has all columns of the query.
    /// - Returns: The canonical form; `nil` when there is a problem that leaves none.
    mutating func bind(_ select: SQLSelect, isComplete: Bool) -> CanonicalQuery? {
        var conditions = openScope(for: select)
        let (columns, output) = outputColumns(of: select)
        conditions += bindConditions(select.conditions)
        warnAboutOverwrittenColumns(select.columns)
        if output == nil, isComplete, !problems.contains(where: { $0.severity == .error }) {
            problems.append(
                SQLProblem(
                    code: .streamNoTableOutput,
                    message: "The query must select at least one column of a table.",
                    range: select.range
                )
            )
        }
        guard let output, case .table(let pattern, let alias) = resultSets[output.rawValue].kind else { return nil }
        let settled = conditions.map { $0.map(resultSets.settled) }
        if isComplete, !problems.contains(where: { $0.severity == .error }) {
            warnAboutUnusedRelations(conditions: settled, output: output)
        }
        warnAboutAlias(alias, pattern)
        return CanonicalQuery(
            resultSets: resultSets,
            output: output,
            columns: columns,
            outputName: alias?.text ?? (pattern.isWildcard ? nil : pattern.table),
            condition: .all(of: settled)
        )
    }

    /// Adds a finding.
    mutating func report(_ code: DiagnosticCode, _ message: String, hint: String? = nil, at range: Range<Int>) {
        problems.append(SQLProblem(code: code, message: message, hint: hint, range: range))
    }

    /// Says that a name was folded, in the editions where users may not expect it.
    mutating func noteFolding(of name: SQLName) {
        guard options.edition < 3, name.isFolded, foldedNames.insert(name.range).inserted else { return }
        report(
            .sqlCaseFolded,
            "The name is read as “\(name.text)”: names without quotes are folded to lower case.",
            hint: "Write \"\(sources.text(of: name.range))\" if the source spells it so, else \(name.text).",
            at: name.range
        )
    }

    /// Notes that a table is missing because of an error that is reported: names that mean it are no errors of their own.
    mutating func noteBrokenTable() {
        problemsBeforeBrokenTable = problemsBeforeBrokenTable ?? problems.count
    }

    /// Whether the query refers to a table that has errors.
    var usesBrokenTable: Bool { problemsBeforeBrokenTable != nil }

    /// All findings but those that only follow from a table with errors.
    var rootProblems: [SQLProblem] {
        guard let count = problemsBeforeBrokenTable else { return problems }
        return problems.prefix(count) + problems.dropFirst(count).filter { $0.code != .sqlUnknownTable }
    }

    /// Counts what a mentioned column of a subquery stands for.
    ///
    /// - Throws: `sql.syntax` when it is too much.
    mutating func count(_ column: Relation.DerivedColumn, at range: Range<Int>) throws(SQLProblem) {
        derivedParts += column.scalar.partCount
        guard derivedParts <= Self.maximumDerivedParts else {
            throw SQLProblem(
                code: .sqlSyntax,
                message: """
                    The columns of subqueries stand for more than \(Self.maximumDerivedParts) names and operators.
                    """,
                hint: "Each mention of a column is a copy of its expression.",
                range: range
            )
        }
    }

    /// Runs a part whose problem ends only that part.
    mutating func recovering<Part>(
        _ body: (inout QueryBinder) throws(SQLProblem) -> Part
    ) -> Part? {
        do throws(SQLProblem) {
            return try body(&self)
        } catch {
            problems.append(error)
            return nil
        }
    }
}

// MARK: - Warnings

extension QueryBinder {
    /// An alias of the table that is synced is the name of the table on clients, which SQL does not suggest.
    ///
    /// The alias of a wildcard has no other use.
    private mutating func warnAboutAlias(_ alias: SQLName?, _ pattern: TablePattern) {
        let tables = resultSets.count { set in
            if case .table = set.kind { true } else { false }
        }
        guard let alias, !alias.isQuoted, !alias.text.utf8.elementsEqual(pattern.table.utf8) else { return }
        guard !pattern.hasTableWildcard else {
            guard tables > 1 else { return }
            report(
                .tableAliasRenames,
                "Rows are synced to a table named “\(alias.text)”.",
                hint: "If that is intended, write the alias as \"\(alias.text)\".",
                at: alias.range
            )
            return
        }
        report(
            .tableAliasRenames,
            "Rows are synced to a table named “\(alias.text)”: “\(pattern.table)” stays empty on clients.",
            hint: """
                Write \(SQLVocabulary.written(pattern.table)) in place of the alias; if the name is intended, write the alias as \
                "\(alias.text)".
                """,
            at: alias.range
        )
    }

    /// Items after `FROM` that nothing uses do not take part at all, unlike in an SQL join.
    private mutating func warnAboutUnusedRelations(conditions: [Condition], output: ResultSetID) {
        var used: Set<ResultSetID> = [output]
        for use in conditions.flatMap(\.scalars).flatMap(\.uses) {
            if case .row(let set) = use.dependency { used.insert(set) }
        }
        for scalar in conditions.flatMap(\.scalars) {
            for function in scalar.expression.functionNumbers { used.insert(ResultSetID(rawValue: function)) }
        }
        let usedRanges = Set(used.map { resultSets[$0.rawValue].range })
        var reported: Set<Range<Int>> = []
        for (position, set) in resultSets.enumerated() where !used.contains(ResultSetID(rawValue: position)) {
            guard !usedRanges.contains(set.range), reported.insert(set.range).inserted else { continue }
            report(
                .fromUnused,
                "Nothing uses “\(sources.text(of: set.range))”: it has no effect.",
                hint: "Connect it with a condition, or leave it out.",
                at: set.range
            )
        }
    }
}

extension PlanExpression {
    /// The numbers of all table-valued functions that the expression reads.
    var functionNumbers: Set<Int> {
        if case .output(let function, _) = self { return [function] }
        return operands.reduce(into: []) { $0.formUnion($1.functionNumbers) }
    }
}

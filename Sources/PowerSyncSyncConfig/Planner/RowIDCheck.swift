/// Finds queries whose rows have no id, and are therefore never sent (docs/sync-config.md "Tables").
struct RowIDCheck {
    /// What stands between `SELECT` and `FROM`.
    private let select: SQLSelect
    private let sources: SQLSources
    private let query: CanonicalQuery

    /// Creates a check of a query that is bound.
    init(_ query: CanonicalQuery, from select: SQLSelect, in sources: SQLSources) {
        self.query = query
        self.select = select
        self.sources = sources
    }

    /// A query without an id.
    struct Finding {
        /// What is wrong.
        var message: String
        /// What to write.
        var hint: String
        /// Whether the column list alone says so, and not the columns of a table.
        var isList: Bool
    }

    /// What is wrong.
    ///
    /// - Parameter schema: What is known about the source: without it, `*` may have an id.
    /// - Returns: A finding; `nil` when rows have an id as far as is known.
    func finding(schema: SourceSchema?) -> Finding? {
        guard query.columns.contains(where: \.isStar) else {
            guard !query.columns.haveID(among: nil) else { return nil }
            return Finding(
                message: "The rows have no column “id”: they are not sent to clients.",
                hint: hint(listedColumns, prefix: ""),
                isList: true
            )
        }
        guard let schema, case .table(let pattern, _) = query[query.output].kind else { return nil }
        let nameless = schema.tables(matching: pattern).filter { !query.columns.haveID(among: Set($0.columns)) }
        guard let table = nameless.first else { return nil }
        let others = nameless.count > 1 ? " and \(nameless.count - 1) more" : ""
        return Finding(
            message: "“\(table.name.name)”\(others) has no column “id”: the rows are not sent to clients.",
            hint: hint(table.columns.map(SQLVocabulary.written), prefix: starPrefix),
            isList: false
        )
    }

    private func hint(_ columns: [String], prefix: String) -> String {
        let keys = columns.filter { $0.lowercased().filter { $0 != "\"" }.hasSuffix("id") }
        var parts = (keys.isEmpty ? columns : keys).prefix(2).map { prefix + $0 }
        if parts.isEmpty { parts = ["a", "b"] }
        let key = "“\(parts.joined(separator: " || '-' || ")) AS id”"
        let user =
            columns.first { $0.hasSuffix("user_id") || $0.hasSuffix("owner_id") }.map { prefix + $0 } ?? "user_id"
        return "Add what identifies a row to the columns, such as \(key); where each user has one row, “\(user) AS id”."
    }

    /// The columns of the list as they are written.
    private var listedColumns: [String] {
        select.columns.compactMap { column in
            guard case .expression(let expression, _) = column.kind, case .column = expression.kind else { return nil }
            return sources.text(of: expression.range)
        }
    }

    /// The name that `*` has, with its dot.
    private var starPrefix: String {
        for column in select.columns {
            if case .star(let name?) = column.kind { return "\(sources.text(of: name.range))." }
        }
        return ""
    }
}

extension OutputColumn {
    fileprivate var isStar: Bool {
        switch self {
        case .star, .legacyStar: true
        case .expression: false
        }
    }
}

extension [OutputColumn] {
    /// Whether rows of these columns have a member `id`.
    ///
    /// - Parameter names: The columns of the table; `nil` when they are not known.
    /// - Returns: `true` also when nothing is known to the contrary.
    func haveID(among names: Set<String>?) -> Bool {
        contains { column in
            switch column {
            case .star, .legacyStar: names?.contains("id") ?? true
            case .expression(.column(let source), let name): name == "id" && names?.contains(source) ?? true
            case .expression(_, let name): name == "id"
            }
        }
    }
}

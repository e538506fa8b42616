/// A query in canonical form: what it selects, the result sets that it joins, and a condition whose terms read one result
/// set or the request each, or compare two such sides (docs/sync-config.md "What a term may read").
struct CanonicalQuery {
    /// Something that has rows.
    struct ResultSet {
        /// What it is.
        var kind: Kind
        /// The place of the item after `FROM`.
        var range: Range<Int>
    }

    /// What a result set is.
    enum Kind {
        /// Rows of source tables, under an alias if there is one.
        case table(TablePattern, alias: SQLName?)
        /// Rows of a function of `argument`.
        case function(TableFunction.Kind, argument: Scalar, home: FunctionHome)
    }

    /// What the rows of a function belong to.
    enum FunctionHome: Hashable {
        /// A row of a table, each with its own rows of the function.
        case table(ResultSetID)
        /// The request.
        case request
        /// Nothing: the argument is a constant.
        case undecided
    }

    /// All result sets, by ``ResultSetID``.
    var resultSets: [ResultSet]
    /// The result set that the output columns come from; a table.
    var output: ResultSetID
    /// The output columns.
    var columns: [OutputColumn]
    /// The name of the output table on clients; `nil` for the name of the source table.
    var outputName: String?
    /// The condition, if there is one.
    var condition: Condition?

    /// A result set.
    subscript(id: ResultSetID) -> ResultSet { resultSets[id.rawValue] }
}

extension [CanonicalQuery.ResultSet] {
    /// The table that a result set belongs to: itself, or the home of a function; `nil` for functions without a table.
    func table(of id: ResultSetID) -> ResultSetID? {
        switch self[id.rawValue].kind {
        case .table: id
        case .function(_, _, .table(let table)): table
        case .function: nil
        }
    }

    /// The expression with the dependencies that it has once it is known where functions belong: those of a function
    /// that is part of a table are those of the table.
    func settled(_ scalar: Scalar) -> Scalar {
        var scalar = scalar
        scalar.uses = Scalar.unique(
            scalar.uses.map { use in
                guard case .row(let set) = use.dependency, let table = table(of: set) else { return use }
                return Scalar.Use(dependency: .row(table), range: use.range)
            }
        )
        return scalar
    }
}

/// A query in canonical form: what it selects, the tables that it joins, and a condition whose terms read one table or the
/// request each, or compare two such sides (docs/sync-config.md "What a term may read").
struct CanonicalQuery {
    /// A table that takes part.
    ///
    /// Two mentions of one table are two result sets.
    struct ResultSet {
        /// The source tables.
        var pattern: TablePattern
        /// The place in the query.
        var range: Range<Int>
    }

    /// All result sets; other parts refer to them by position.
    var resultSets: [ResultSet]
    /// The result set that the output columns come from.
    var output: Int
    /// The output columns.
    var columns: [OutputColumn]
    /// The name of the output table on clients; `nil` for the name of the source table.
    var outputName: String?
    /// The condition, if there is one.
    var condition: Condition?
}

/// What an expression reads besides constants.
enum Dependency: Hashable {
    /// Values of the request.
    case request
    /// Columns of the result set at this position.
    case row(Int)
}

/// An expression without subqueries, with what it reads and where.
struct Scalar {
    /// Something that an expression reads, where it does so first.
    struct Use {
        var dependency: Dependency
        var range: Range<Int>
    }

    /// The expression.
    ///
    /// Its columns belong to the one result set in ``uses``.
    var expression: PlanExpression
    /// What it reads, each dependency once, in the order of the text.
    var uses: [Use]
    /// Its place in the query.
    var range: Range<Int>
    /// The first value that a client can choose freely, for the warning about dangerous parameters.
    var clientChosenRange: Range<Int>?

    /// Whether the expression reads at most one thing.
    var hasSingleDependency: Bool { uses.count <= 1 }

    /// What the expression reads, if it has a single dependency; `nil` for constants.
    var dependency: Dependency? { uses.first?.dependency }

    /// The expression made of some operands.
    static func combining(
        _ operands: [Scalar],
        range: Range<Int>,
        as expression: ([PlanExpression]) -> PlanExpression
    ) -> Scalar {
        var uses: [Use] = []
        for use in operands.flatMap(\.uses) where !uses.contains(where: { $0.dependency == use.dependency }) {
            uses.append(use)
        }
        return Scalar(
            expression: expression(operands.map(\.expression)),
            uses: uses,
            range: range,
            clientChosenRange: operands.lazy.compactMap(\.clientChosenRange).first
        )
    }

    /// The negation.
    var negated: Scalar {
        var scalar = self
        scalar.expression = .not(expression)
        return scalar
    }
}

/// The top-level boolean structure of a `WHERE` clause, with subqueries already turned into joins.
indirect enum Condition {
    case and([Condition])
    case or([Condition])
    case not(Condition)
    /// Something that is true or not.
    case filter(Scalar)
    /// `a = b`, the one place where two dependencies may meet.
    case equal(Scalar, Scalar, range: Range<Int>)
}

/// A term of a conjunction.
enum Term {
    /// A condition on one result set or on the request, or a constant.
    case filter(Scalar)
    /// An equality of two sides with different dependencies.
    case match(Scalar, Scalar)
}

/// A conjunction of terms: one `OR` branch of a query.
typealias Variant = [Term]

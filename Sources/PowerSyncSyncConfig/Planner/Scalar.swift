/// Something after `FROM` that has rows: a table, or a function.
///
/// Two mentions of one table are two result sets.
struct ResultSetID: Hashable, Sendable {
    /// The position among the result sets of the query.
    let rawValue: Int
}

/// What an expression reads besides constants.
enum Dependency: Hashable {
    /// Values of the request.
    case request
    /// Columns of a result set.
    case row(ResultSetID)
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
    /// Its columns belong to the one result set in ``uses``. Table-valued functions are numbered by their result sets.
    var expression: PlanExpression
    /// What it reads, each dependency once, in the order of the text.
    var uses: [Use] = []
    /// Its place.
    var range: Range<Int>
    /// The first value that a client can choose freely, for the warning about dangerous parameters.
    var clientChosenRange: Range<Int>?
    /// The number of levels of its tree, as the parser counts them; columns of subqueries are what they stand for.
    var height = 1
    /// The number of operators, calls, names and literals in it, counted likewise.
    var partCount = 1

    /// Whether the expression reads at most one thing.
    var hasSingleDependency: Bool { uses.count <= 1 }

    /// What the expression reads, if it has a single dependency; `nil` for constants.
    var dependency: Dependency? { uses.first?.dependency }

    /// Whether the expression reads rows of a table-valued function.
    var usesFunction: Bool {
        expression.contains { part in
            if case .output = part { true } else { false }
        }
    }

    /// The expression made of some operands.
    static func combining(
        _ operands: [Scalar],
        range: Range<Int>,
        as expression: ([PlanExpression]) -> PlanExpression
    ) -> Scalar {
        Scalar(
            expression: expression(operands.map(\.expression)),
            uses: unique(operands.flatMap(\.uses)),
            range: range,
            clientChosenRange: operands.lazy.compactMap(\.clientChosenRange).first,
            height: (operands.lazy.map(\.height).max() ?? 0) + 1,
            partCount: operands.reduce(1) { $0 + $1.partCount }
        )
    }

    /// Each dependency once.
    static func unique(_ uses: [Use]) -> [Use] {
        var seen: Set<Dependency> = []
        return uses.filter { seen.insert($0.dependency).inserted }
    }

    /// The negation.
    var negated: Scalar {
        var scalar = self
        scalar.expression = .not(expression)
        return scalar
    }
}

/// The top-level boolean structure of a condition, with subqueries already turned into joins.
indirect enum Condition {
    case and([Condition])
    case or([Condition])
    case not(Condition)
    /// Something that is true or not.
    case filter(Scalar)
    /// `a = b`, the one place where two dependencies may meet.
    case equal(Scalar, Scalar, range: Range<Int>)

    /// The condition that holds when all of some conditions do.
    static func all(of conditions: [Condition]) -> Condition? {
        conditions.count > 1 ? .and(conditions) : conditions.first
    }

    /// The place.
    var range: Range<Int> {
        switch self {
        case .and(let terms), .or(let terms):
            (terms.first?.range.lowerBound ?? 0)..<max(
                terms.last?.range.upperBound ?? 0,
                terms.first?.range.lowerBound ?? 0
            )
        case .not(let operand): operand.range
        case .filter(let scalar): scalar.range
        case .equal(_, _, let range): range
        }
    }

    /// The condition with other expressions.
    func map(_ transform: (Scalar) -> Scalar) -> Condition {
        switch self {
        case .and(let terms): .and(terms.map { $0.map(transform) })
        case .or(let terms): .or(terms.map { $0.map(transform) })
        case .not(let operand): .not(operand.map(transform))
        case .filter(let scalar): .filter(transform(scalar))
        case .equal(let lhs, let rhs, let range): .equal(transform(lhs), transform(rhs), range: range)
        }
    }

    /// All expressions.
    var scalars: [Scalar] {
        switch self {
        case .and(let terms), .or(let terms): terms.flatMap(\.scalars)
        case .not(let operand): operand.scalars
        case .filter(let scalar): [scalar]
        case .equal(let lhs, let rhs, _): [lhs, rhs]
        }
    }
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

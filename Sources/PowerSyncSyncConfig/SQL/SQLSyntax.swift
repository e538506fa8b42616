/// A name in a query.
struct SQLName: Sendable, Hashable {
    /// The name; folded to lower case unless it was quoted.
    var text: String
    /// Whether it was written in double quotes.
    var isQuoted: Bool
    /// Whether folding changed its letters.
    var isFolded = false
    /// Its place.
    var range: Range<Int>
}

/// The syntax tree of a query.
struct SQLSelect: Sendable, Hashable {
    /// The column list, as far as it could be read.
    var columns: [SQLColumn] = []
    /// What stands after `FROM`.
    var sources: [SQLSource] = []
    /// The conditions after `ON` and `WHERE`, all of which must hold.
    var conditions: [SQLExpression] = []
    /// The place of `DISTINCT`, which has no effect.
    var distinct: Range<Int>?
    /// Its place.
    var range: Range<Int>

    /// The place of the column list.
    var columnRange: Range<Int> {
        guard let first = columns.first, let last = columns.last else { return range }
        return first.range.lowerBound..<last.range.upperBound
    }
}

/// One item after `FROM`.
struct SQLSource: Sendable, Hashable {
    /// What it is.
    indirect enum Kind: Sendable, Hashable {
        /// `t`, `s.t`
        case table(schema: SQLName?, name: SQLName)
        /// `json_each(x)`
        case function(SQLName, arguments: [SQLExpression])
        /// `(SELECT …)`, with the names of its columns if they are listed after the alias
        case query(SQLSelect, columns: [SQLName]?)
    }

    /// What it is.
    var kind: Kind
    /// The alias, if written.
    var alias: SQLName?
    /// Its place.
    var range: Range<Int>
}

/// One entry of a column list.
struct SQLColumn: Sendable, Hashable {
    /// What is selected.
    enum Kind: Sendable, Hashable {
        /// `*` or `t.*`
        case star(table: SQLName?)
        /// An expression with an optional alias.
        case expression(SQLExpression, alias: SQLName?)
    }

    /// What is selected.
    var kind: Kind
    /// Its place.
    var range: Range<Int>
}

/// The operators with two operands that compute a value.
enum SQLOperator: String, Sendable, Hashable {
    case equal = "="
    case unequal = "!="
    case less = "<"
    case greater = ">"
    case lessOrEqual = "<="
    case greaterOrEqual = ">="
    case add = "+"
    case subtract = "-"
    case multiply = "*"
    case divide = "/"
    case remainder = "%"
    case bitAnd = "&"
    case bitOr = "|"
    case shiftLeft = "<<"
    case shiftRight = ">>"
    case concatenate = "||"
    case member = "->"
    case memberValue = "->>"
}

/// The types that values can be cast to.
enum SQLType: String, Sendable, Hashable, CaseIterable {
    case text, numeric, integer, real, blob
}

/// An expression with its place.
struct SQLExpression: Sendable, Hashable {
    /// What `IS` tests for.
    enum Test: Sendable, Hashable {
        case null, `true`, `false`
    }

    /// One `WHEN … THEN …`.
    struct Branch: Sendable, Hashable {
        var condition: SQLExpression
        var result: SQLExpression
    }

    /// The right side of `IN` and `&&`.
    enum Collection: Sendable, Hashable {
        /// `(SELECT …)`
        case query(SQLSelect)
        /// The name of a common table expression, or JSON.
        case value(SQLExpression)
        /// `ARRAY[…]`, `ROW(…)`, `(…, …)`
        case list([SQLExpression])
    }

    /// The kinds of expressions.
    indirect enum Kind: Sendable, Hashable {
        /// A literal.
        case literal(SQLValue)
        /// `a`, `t.a`, `s.t.a`
        case column(schema: SQLName?, table: SQLName?, name: SQLName)
        /// `upper(a)`
        case call(SQLName, arguments: [SQLExpression])
        /// `auth.user_id()`, `t.schema()` and the like
        case qualifiedCall(qualifier: SQLName, name: SQLName, arguments: [SQLExpression])
        /// `NOT a`
        case not(SQLExpression)
        /// `a AND b AND …`
        case and([SQLExpression])
        /// `a OR b OR …`
        case or([SQLExpression])
        /// `a + b`
        case binary(SQLOperator, SQLExpression, SQLExpression)
        /// `a IS [NOT] NULL | TRUE | FALSE`
        case test(SQLExpression, Test, isNegated: Bool)
        /// `a [NOT] BETWEEN b AND c`
        case between(SQLExpression, SQLExpression, SQLExpression, isNegated: Bool)
        /// `CASE [a] WHEN b THEN c … [ELSE d] END`
        case choice(operand: SQLExpression?, branches: [Branch], otherwise: SQLExpression?)
        /// `CAST(a AS type)`, `a::type`
        case cast(SQLExpression, SQLType)
        /// `a [NOT] IN …`
        case membership(SQLExpression, in: Collection, isNegated: Bool)
        /// `a && …`
        case overlap(SQLExpression, Collection)
    }

    /// What the expression is.
    var kind: Kind
    /// Its place.
    var range: Range<Int>
    /// The number of levels of the tree; bounded by ``SQLParser/maximumHeight``.
    let height: Int

    /// Creates an expression.
    init(kind: Kind, range: Range<Int>) {
        self.kind = kind
        self.range = range
        height = (kind.operands.lazy.map(\.height).max() ?? 0) + 1
    }
}

extension SQLExpression.Kind {
    /// The expressions that the expression is made of, without those of subqueries.
    var operands: [SQLExpression] {
        switch self {
        case .literal, .column: []
        case .call(_, let arguments), .qualifiedCall(_, _, let arguments): arguments
        case .not(let operand), .test(let operand, _, _), .cast(let operand, _): [operand]
        case .and(let terms), .or(let terms): terms
        case .binary(_, let lhs, let rhs): [lhs, rhs]
        case .between(let value, let low, let high, _): [value, low, high]
        case .choice(let operand, let branches, let otherwise):
            [operand, otherwise].compactMap { $0 } + branches.flatMap { [$0.condition, $0.result] }
        case .membership(let value, let collection, _), .overlap(let value, let collection):
            switch collection {
            case .query: [value]
            case .value(let other): [value, other]
            case .list(let elements): [value] + elements
            }
        }
    }
}

/// A name in a query.
struct SQLName: Sendable, Hashable {
    /// The name; folded to lower case unless it was quoted.
    var text: String
    /// Whether it was written in double quotes.
    var isQuoted: Bool
    /// Its place in the query.
    var range: Range<Int>
}

/// The syntax tree of a query.
struct SQLSelect: Sendable, Hashable {
    /// The column list.
    var columns: [SQLColumn]
    /// The table after `FROM`.
    var table: SQLTable?
    /// The condition after `WHERE`.
    var condition: SQLExpression?
    /// Its place in the query.
    var range: Range<Int>
}

/// A table after `FROM`.
struct SQLTable: Sendable, Hashable {
    /// The schema, if written.
    var schema: SQLName?
    /// The name.
    var name: SQLName
    /// The alias, if written.
    var alias: SQLName?

    /// Its place in the query.
    var range: Range<Int> { (schema ?? name).range.lowerBound..<(alias ?? name).range.upperBound }
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
    /// Its place in the query.
    var range: Range<Int>
}

/// An expression with its place in the query.
struct SQLExpression: Sendable, Hashable {
    /// The kinds of expressions.
    indirect enum Kind: Sendable, Hashable {
        /// A literal.
        case literal(SQLiteValue)
        /// `a` or `t.a`
        case column(table: SQLName?, name: SQLName)
        /// `auth.user_id()` and the like
        case call(qualifier: SQLName, name: SQLName, arguments: [SQLExpression])
        /// `NOT a`
        case not(SQLExpression)
        /// `a AND b AND …`
        case and([SQLExpression])
        /// `a OR b OR …`
        case or([SQLExpression])
        /// `a = b`; `!=` and `<>` are its negation
        case equal(SQLExpression, SQLExpression, isNegated: Bool)
        /// `a IS NULL`, `a IS NOT NULL`
        case isNull(SQLExpression, isNegated: Bool)
        /// `a IN (SELECT …)`, `a NOT IN (SELECT …)`
        case inSelect(SQLExpression, SQLSelect, isNegated: Bool)
    }

    /// What the expression is.
    var kind: Kind
    /// Its place in the query.
    var range: Range<Int>
}

/// A token of a query, with its place in the text of the query.
struct SQLToken: Sendable, Hashable {
    /// What a token is.
    enum Kind: Sendable, Hashable {
        /// An identifier or keyword without quotes, folded to lower case.
        case word(String)
        /// An identifier in double quotes.
        case quotedName(String)
        /// A string literal.
        case string(String)
        /// An integer literal without sign.
        case integer(UInt64)
        /// A literal with `.` or exponent.
        case real(Double)
        /// Operators and punctuation.
        case symbol(String)
        /// The end of the query.
        case end
    }

    /// What the token is.
    var kind: Kind
    /// The bytes of the query that the token is made of.
    var range: Range<Int>
}

/// A problem in one query, with its place in the text of the query.
struct SQLProblem: Error, Sendable, Hashable {
    /// What kind of problem it is.
    var code: DiagnosticCode
    /// What is wrong and what to do.
    var message: String
    /// The bytes of the query that the problem is about.
    var range: Range<Int>
}

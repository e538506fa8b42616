/// A token of a query, with its place.
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
        /// Something that is no token; the parser reports it when it gets there.
        case invalid(SQLProblem)
        /// The end of the query.
        case end
    }

    /// What the token is.
    var kind: Kind
    /// The place of the token, in the coordinates of ``SQLSources``.
    var range: Range<Int>
    /// Whether folding changed the letters of a word.
    var isFolded = false
}

/// A problem in one query.
struct SQLProblem: Error, Sendable, Hashable {
    /// What kind of problem it is.
    var code: DiagnosticCode
    /// What is wrong.
    var message: String
    /// What to do about it.
    var hint: String?
    /// The place, in the coordinates of ``SQLSources``.
    var range: Range<Int>
    /// How serious it is: as the code says, unless something milder is known about the place.
    var severity: ConfigDiagnostic.Severity

    /// Creates a problem.
    init(code: DiagnosticCode, message: String, hint: String? = nil, range: Range<Int>) {
        self.code = code
        self.message = message
        self.hint = hint
        self.range = range
        severity = code.severity
    }
}

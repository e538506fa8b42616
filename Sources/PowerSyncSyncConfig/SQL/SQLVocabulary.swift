/// The words that the parser must know.
enum SQLVocabulary {
    /// PostgreSQL's reserved words: names only in double quotes.
    static let reserved: Set<String> = [
        "all", "analyse", "analyze", "and", "any", "array", "as", "asc", "asymmetric", "both", "case", "cast", "check",
        "collate", "column", "constraint", "create", "current_catalog", "current_date", "current_role",
        "current_time", "current_timestamp", "current_user", "default", "deferrable", "desc", "distinct", "do", "else",
        "end", "except", "false", "fetch", "for", "foreign", "from", "grant", "group", "having", "in", "initially",
        "intersect", "into", "lateral", "leading", "limit", "localtime", "localtimestamp", "not", "null", "offset",
        "on", "only", "or", "order", "placing", "primary", "references", "returning", "select", "session_user", "some",
        "symmetric", "system_user", "table", "then", "to", "trailing", "true", "union", "unique", "user", "using",
        "variadic", "when", "where", "window", "with",
    ]

    /// Words that may be names, but not aliases without `AS`: they begin what follows.
    static let noBareAlias: Set<String> = [
        "cross", "full", "glob", "ilike", "inner", "is", "isnull", "join", "left", "like", "match", "natural",
        "notnull", "outer", "overlaps", "regexp", "right", "similar", "between", "filter", "over", "tablesample",
    ]

    /// Clauses that a query cannot have.
    static let unsupportedClauses: Set<String> = [
        "group", "having", "order", "limit", "offset", "fetch", "for", "window", "intersect", "except", "into",
    ]

    /// Kinds of joins that a query cannot have.
    static let unsupportedJoins: Set<String> = ["left", "right", "full", "cross", "natural", "outer"]

    /// Operators written as words that the language does not have.
    static let unsupportedWordOperators: Set<String> = [
        "like", "ilike", "glob", "match", "regexp", "similar", "overlaps", "collate",
    ]

    /// Values that PostgreSQL writes without parentheses and that depend on the moment or the session.
    static let nondeterministicWords: Set<String> = [
        "current_catalog", "current_date", "current_role", "current_time", "current_timestamp", "current_user",
        "localtime", "localtimestamp", "session_user", "system_user",
    ]

    /// Operators of PostgreSQL that the language does not have.
    static let unsupportedOperators: Set<String> = ["~", "!~", "~~", "!~~", "^", "#", "@>", "<@", "["]

    /// A name as a query has to write it: in double quotes if it would be read as something else without.
    static func written(_ name: String) -> String {
        let isPlain =
            name.utf8.first.map { !(UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) } ?? false
            && name.utf8.allSatisfy { byte in
                (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte) || byte == UInt8(ascii: "_")
                    || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
            }
        return isPlain && !reserved.contains(name) ? name : "\"\(name.replacing("\"", with: "\"\""))\""
    }

    /// The words that begin a part of a query, where reading goes on after an error.
    static let clauses: Set<String> = unsupportedClauses.union(["from", "where", "union"])
}

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
        "cross", "full", "ilike", "inner", "is", "isnull", "join", "left", "like", "natural", "notnull", "outer",
        "overlaps", "right", "similar", "between", "filter", "over", "tablesample",
    ]

    /// Clauses that a stream query cannot have.
    static let unsupportedClauses: Set<String> = [
        "group", "having", "order", "limit", "offset", "fetch", "for", "window", "union", "intersect", "except", "into",
    ]

    /// Kinds of joins that a stream query cannot have.
    static let unsupportedJoins: Set<String> = ["left", "right", "full", "cross", "natural", "outer"]

    /// The functions of the language, and the additions that we plan.
    ///
    /// None is compiled yet.
    static let functions: Set<String> = [
        "upper", "lower", "length", "typeof", "hex", "base64", "uuid_blob", "json_keys", "json_valid", "substring",
        "instr", "ifnull", "iif", "json_extract", "json_array_length", "unixepoch", "datetime", "st_asgeojson",
        "st_astext", "st_x", "st_y", "json_each", "coalesce", "nullif", "abs", "round", "trim", "ltrim", "rtrim",
        "replace", "json_array", "json_object", "json_type", "cast",
    ]

    /// Functions whose result is not determined by the row: never allowed.
    static let nondeterministic: Set<String> = [
        "random", "randomblob", "now", "clock_timestamp", "statement_timestamp", "transaction_timestamp",
        "gen_random_uuid", "uuid_generate_v4", "uuid", "last_insert_rowid",
        "changes", "total_changes",
    ]

    /// Values that PostgreSQL writes without parentheses and that depend on the moment or the session.
    static let nondeterministicWords: Set<String> = [
        "current_catalog", "current_date", "current_role", "current_time", "current_timestamp", "current_user",
        "localtime", "localtimestamp", "session_user", "system_user",
    ]

    /// The parts of a request.
    static let requestParts: Set<String> = ["auth", "connection", "subscription"]

    /// Functions of a table, such as `t.table_suffix()`.
    static let metadata: Set<String> = ["schema", "table_name", "table_suffix"]

    /// Operators of the language that are not compiled yet.
    static let laterOperators: Set<String> = [
        "<", ">", "<=", ">=", "+", "-", "*", "/", "%", "&", "|", "<<", ">>", "||", "->", "->>", "&&", "::",
    ]

    /// Operators of PostgreSQL that the language does not have.
    static let unsupportedOperators: Set<String> = ["~", "!~", "~~", "!~~", "^", "#", "@>", "<@", "["]
}

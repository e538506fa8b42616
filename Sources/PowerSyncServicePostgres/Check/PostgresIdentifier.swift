import PowerSyncSyncConfig

/// Writes names in statements that people read, and run.
enum PostgresIdentifier {
    /// A name in quotes, if it needs them.
    static func quoted(_ name: String) -> String {
        let isPlain =
            !name.isEmpty
            && name.utf8.allSatisfy { byte in
                (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte) || byte == UInt8(ascii: "_")
                    || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
            } && !(UInt8(ascii: "0")...UInt8(ascii: "9")).contains(name.utf8.first ?? 0) && !reserved.contains(name)
        return isPlain ? name : PostgresText.identifier(name)
    }

    /// Schema and name, each in quotes if it needs them.
    static func quoted(_ name: SourceTableName) -> String { "\(quoted(name.schema)).\(quoted(name.name))" }

    /// The words that are often taken for names, and are none without quotes.
    private static let reserved: Set<String> = [
        "all", "analyse", "analyze", "and", "any", "array", "as", "asc", "asymmetric", "both", "case", "cast", "check",
        "collate", "column", "constraint", "create", "current_date", "current_role", "current_time",
        "current_timestamp", "current_user", "default", "deferrable", "desc", "distinct", "do", "else", "end",
        "except", "false", "fetch", "for", "foreign", "from", "grant", "group", "having", "in", "initially",
        "intersect", "into", "lateral", "leading", "limit", "localtime", "localtimestamp", "not", "null", "offset",
        "on", "only", "or", "order", "placing", "primary", "references", "returning", "select", "session_user", "some",
        "symmetric", "table", "then", "to", "trailing", "true", "union", "unique", "user", "using", "variadic", "when",
        "where", "window", "with",
    ]
}

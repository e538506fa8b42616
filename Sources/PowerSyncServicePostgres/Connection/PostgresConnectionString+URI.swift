import CLibPQ

/// The parts of a connection URI, as libpq splits it.
///
/// ```
/// postgresql://user:password@host:5432/database?name=value&name=value
/// ```
///
/// libpq takes what is before the first `@` for user and password, unless a `/` comes before it. A password that has one of these
/// characters unescaped is cut there, and its rest becomes a host or the name of a database, which messages show. So a URI is
/// refused that has another `@`, or one behind a `/`.
extension PostgresConnectionString {
    /// Parameters in URIs of other programs, as of autumn 2026: of Prisma, JDBC, SQLAlchemy, Doctrine, Supabase, node-postgres.
    ///
    /// The only place that knows them. libpq refuses a URI with a parameter that it does not know.
    static let parametersOfOthers: Set<String> = [
        "charset", "connection_limit", "currentSchema", "encoding", "max", "max_conns", "pgbouncer", "pool",
        "pool_max_conns",
        "pool_mode", "pool_recycle", "pool_size", "pool_timeout", "prepare", "prepareThreshold", "prepared_statements",
        "preparedStatementCacheQueries", "reWriteBatchedInserts", "schema", "serverVersion", "socketTimeout",
        "socket_timeout", "sslaccept", "statement_cache_size", "stringtype", "supa", "uselibpqcompat", "workaround",
    ]

    /// Parameters of ``parametersOfOthers`` that name a schema: one that is not the usual one would be missed.
    private static let schemaParameters: Set<String> = ["schema", "currentSchema"]

    /// Why a text is no connection string; says nothing of its user and password.
    package enum Problem: Sendable, Hashable {
        /// There is an `@` that is not the one before the host.
        case ambiguous
        /// It begins with another scheme.
        case scheme(String)
        /// A `%` is not followed by two hexadecimal digits.
        case escape
        /// libpq does not know a parameter.
        case parameter(String)
        /// A parameter names a schema that is not the usual one.
        case schema(String)
        /// It is something else.
        case unreadable
    }

    /// Why the text is no connection string; `nil` when it is one.
    package var problem: Problem? {
        if isAmbiguous { return .ambiguous }
        if let schema = foreignSchema { return .schema(schema) }
        guard keywords == nil else { return nil }
        guard let rest = Self.rest(of: text) else {
            let scheme = text.firstRange(of: "://").map { text[..<$0.lowerBound] } ?? ""
            let isName =
                !scheme.isEmpty && scheme.utf8.count <= 32 && scheme.allSatisfy { $0.isLetter || "+.:-".contains($0) }
            return isName ? .scheme(String(scheme)) : .unreadable
        }
        if Self.hasBadEscape(rest) { return .escape }
        let known = Self.knownParameters
        let unknown = Self.parameters(of: rest).map(\.name).first { !known.contains($0) }
        if let unknown, !unknown.isEmpty, unknown.allSatisfy({ $0.isASCII && ($0.isLetter || $0 == "_") }) {
            return .parameter(unknown)
        }
        return .unreadable
    }

    /// Whether it cannot be told where user and password end.
    var isAmbiguous: Bool {
        guard let rest = Self.rest(of: text) else { return false }
        let signs = rest.indices.filter { rest[$0] == "@" }
        guard let first = signs.first else { return false }
        return signs.count > 1 || rest.firstIndex(of: "/").map { $0 < first } == true
    }

    /// Takes parameters of other programs out of a text.
    ///
    /// - Parameter text: A URI, or keywords.
    /// - Returns: The text for libpq, the names that were taken out, and the schema that one of them names.
    static func withoutForeignParameters(_ text: String) -> (text: String, names: [String], schema: String?) {
        guard let rest = rest(of: text), let query = query(of: rest) else { return (text, [], nil) }
        let all = parameters(of: rest)
        let foreign = all.filter { parametersOfOthers.contains($0.name) }
        guard !foreign.isEmpty else { return (text, [], nil) }
        let kept = all.filter { !parametersOfOthers.contains($0.name) }.map(\.text).joined(separator: "&")
        let head = text[..<query.startIndex].dropLast()
        let schema = foreign.first { schemaParameters.contains($0.name) && !["", "public"].contains($0.value) }?.value
        return (kept.isEmpty ? String(head) : "\(head)?\(kept)", foreign.map(\.name), schema)
    }

    /// What follows the scheme; `nil` for what is no URI of libpq.
    private static func rest(of text: String) -> Substring? {
        ["postgresql://", "postgres://"].first { text.hasPrefix($0) }.map { text.dropFirst($0.count) }
    }

    /// What follows the `?`.
    private static func query(of rest: Substring) -> Substring? {
        let sign = rest.firstIndex { $0 == "@" || $0 == "/" }
        let start = sign.flatMap { rest[$0] == "@" ? rest.index(after: $0) : nil } ?? rest.startIndex
        return rest[start...].firstIndex(of: "?").map { rest[rest.index(after: $0)...] }
    }

    private static func parameters(of rest: Substring) -> [(name: String, value: String, text: Substring)] {
        (query(of: rest) ?? "").split(separator: "&").map { part in
            let end = part.firstIndex(of: "=") ?? part.endIndex
            return (name: String(part[..<end]), value: String(part[end...].dropFirst()), text: part)
        }
    }

    private static func hasBadEscape(_ rest: Substring) -> Bool {
        let bytes = Array(rest.utf8)
        return bytes.indices.contains { index in
            guard bytes[index] == UInt8(ascii: "%") else { return false }
            let digits = bytes[(index + 1)...].prefix(2)
            return digits.count < 2 || !digits.allSatisfy { Character(Unicode.Scalar($0)).isHexDigit }
                || digits.elementsEqual("00".utf8)
        }
    }

    /// The parameters that libpq knows.
    private static var knownParameters: Set<String> {
        guard let options = unsafe PQconninfoParse("", nil) else { return [] }
        defer { unsafe PQconninfoFree(options) }
        var names: Set<String> = []
        var option = unsafe options
        while let name = unsafe option.pointee.keyword {
            unsafe names.insert(String(cString: name))
            unsafe option += 1
        }
        return names
    }
}

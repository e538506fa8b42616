/// A value of the request under the name that another kind of query has for it, or a policy of the source's database, and what
/// has to be written in its place.
///
/// ```
/// streams                  parameter queries          data queries
/// auth.user_id()           request.user_id()          bucket.user_id, which a parameter query gives
/// auth.parameter('org')    request.jwt() ->> 'org'    bucket.org
/// ```
enum RequestHint {
    /// The meaning of the expression.
    private enum Value {
        case user
        case claims
        case claim(String)
        /// A member of the claim `parameters`.
        case tokenParameter(String)
        case connection
        case connectionMember(String)
        case subscription
        case subscriptionMember(String)
    }

    /// What to write for a column such as `token_parameters.user_id`; `nil` when it means nothing of the request.
    static func column(_ name: String, of table: String, in dialect: BindingOptions.Dialect) -> String? {
        if let value = value(ofColumn: name, of: table) { return hint(value, in: dialect) }
        switch (table, dialect) {
        case ("bucket", .stream):
            guard name != "user_id" else { return hint(.user, in: dialect) }
            return """
                Streams have no parameters of buckets: write the value itself, such as auth.user_id() or \
                \(text(of: .claim(name), in: dialect)).
                """
        case ("bucket", .parameterQuery):
            return """
                Parameters of buckets are made here, and read in data queries: write their value, such as request.user_id() or \
                \(text(of: .claim(name), in: dialect)).
                """
        default: return nil
        }
    }

    /// What to write for a call such as `auth.uid()`.
    ///
    /// - Parameters:
    ///   - name: The function.
    ///   - qualifier: What stands before it.
    ///   - argument: Its argument, if that is a text.
    ///   - dialect: The kind of query.
    /// - Returns: A hint; `nil` when the call means nothing of the request.
    static func call(
        _ name: String,
        of qualifier: String,
        _ argument: String?,
        in dialect: BindingOptions.Dialect
    ) -> String? {
        value(ofCall: name, of: qualifier, argument).map { hint($0, in: dialect) }
    }

    /// How streams write a call of a parameter query.
    static func streamValue(call name: String, of qualifier: String) -> String? {
        value(ofCall: name, of: qualifier, nil).map { text(of: $0, in: .stream) }
    }

    /// How streams write a column that stands for a value of the request in a parameter query.
    static func streamValue(column name: String, of table: String) -> String? {
        value(ofColumn: name, of: table).map { text(of: $0, in: .stream) }
    }

    private static func value(ofColumn name: String, of table: String) -> Value? {
        switch (table, name) {
        case ("token_parameters", "user_id"), ("request", "user_id"), ("auth", "user_id"), ("auth", "uid"): .user
        case ("token_parameters", let name): .tokenParameter(name)
        case ("request", "jwt"), ("auth", "jwt"), ("auth", "parameters"): .claims
        case ("request", "parameters"), ("connection", "parameters"): .connection
        case ("auth", let name): .claim(name)
        case ("user_parameters", let name), ("connection", let name): .connectionMember(name)
        case ("subscription", "parameters"): .subscription
        case ("subscription", let name): .subscriptionMember(name)
        default: nil
        }
    }

    private static func value(ofCall name: String, of qualifier: String, _ argument: String?) -> Value? {
        switch (qualifier, name, argument) {
        case ("request", "user_id", _), ("auth", "user_id", _), ("auth", "uid", _), ("connection", "user_id", _): .user
        case ("request", "jwt", _), ("auth", "jwt", _), ("auth", "parameters", _): .claims
        case ("auth", "parameter", let name?), ("request", "parameter", let name?): .claim(name)
        case ("auth", "role", _), ("auth", "email", _): .claim(name)
        case ("request", "parameters", _), ("connection", "parameters", _): .connection
        case ("connection", "parameter", let name?): .connectionMember(name)
        case ("subscription", "parameters", _): .subscription
        case ("subscription", "parameter", let name?): .subscriptionMember(name)
        default: nil
        }
    }

    /// What to write for the claims of the token, which policies read as a setting of the session.
    static func claims(in dialect: BindingOptions.Dialect) -> String { hint(.claims, in: dialect) }

    private static func hint(_ value: Value, in dialect: BindingOptions.Dialect) -> String {
        if dialect != .stream {
            switch value {
            case .subscription, .subscriptionMember: return "Only streams (edition 3) have subscriptions."
            default: break
            }
        }
        guard dialect == .dataQuery else { return "Write \(text(of: value, in: dialect))." }
        let name = name(of: value)
        let expression = text(of: value, in: .parameterQuery)
        return """
            Data queries compare with bucket.\(name); add “parameters: SELECT \(expression) AS \(name)” to the definition.
            """
    }

    private static func text(of value: Value, in dialect: BindingOptions.Dialect) -> String {
        switch (value, dialect == .stream) {
        case (.user, true): "auth.user_id()"
        case (.user, false): "request.user_id()"
        case (.claims, true): "auth.parameters()"
        case (.claims, false): "request.jwt()"
        case (.claim(let name), true): "auth.parameter(\(quoted(name)))"
        case (.claim(let name), false): "request.jwt() ->> \(quoted(name))"
        case (.tokenParameter(let name), true): "auth.parameter(\(quoted("$.parameters.\(name)")))"
        case (.tokenParameter(let name), false): "token_parameters.\(SQLVocabulary.written(name))"
        case (.connection, true): "connection.parameters()"
        case (.connection, false): "request.parameters()"
        case (.connectionMember(let name), true): "connection.parameter(\(quoted(name)))"
        case (.connectionMember(let name), false): "request.parameters() ->> \(quoted(name))"
        case (.subscription, _): "subscription.parameters()"
        case (.subscriptionMember(let name), _): "subscription.parameter(\(quoted(name)))"
        }
    }

    /// A name for the parameter of a bucket that has the value.
    private static func name(of value: Value) -> String {
        switch value {
        case .user: "user_id"
        case .claims, .connection, .subscription: "value"
        case .claim(let name), .tokenParameter(let name), .connectionMember(let name), .subscriptionMember(let name):
            SQLVocabulary.written(name)
        }
    }

    private static func quoted(_ text: String) -> String { "'\(text.replacing("'", with: "''"))'" }
}

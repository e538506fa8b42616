import PowerSyncSyncConfig
import Testing

/// Every hint is a promise: what it says to write compiles, and the finding is gone.
@Suite struct HintTests {
    struct Hint: Sendable, CustomTestStringConvertible {
        /// What is wrong.
        var config: String
        /// The code of the finding.
        var code: String
        /// What the hint says to write, word for word.
        var advice: String
        /// The config after that.
        var mended: String
        /// What the mended config has to say, if that is not the advice itself.
        var writes: String?
        var testDescription: String { config }

        /// A query of a stream.
        static func stream(
            _ query: String,
            _ code: String,
            _ advice: String,
            _ mended: String,
            writes: String? = nil
        ) -> Hint {
            func yaml(_ query: String) -> String {
                "config: {edition: 3}\nstreams: {s: {auto_subscribe: true, query: \(yamlQuoted(query))}}"
            }
            return Hint(config: yaml(query), code: code, advice: advice, mended: yaml(mended), writes: writes)
        }

        /// Parameter queries and data queries of a definition.
        static func definition(
            _ parameters: String,
            _ data: String,
            _ code: String,
            _ advice: String,
            _ mendedParameters: String,
            _ mendedData: String,
            writes: String? = nil
        ) -> Hint {
            Hint(
                config: BucketDefinitionTests.yaml(parameters.isEmpty ? [] : [parameters], [data]),
                code: code,
                advice: advice,
                mended: BucketDefinitionTests.yaml(mendedParameters.isEmpty ? [] : [mendedParameters], [mendedData]),
                writes: writes
            )
        }
    }

    @Test(arguments: values + calls + subqueries + types + names + definitions + files) func isKept(_ hint: Hint) {
        let findings = SyncConfig.parse(hint.config).diagnostics
        let finding = findings.first { $0.code == hint.code }
        #expect(finding != nil, "\(findings.map(\.code))")
        #expect(finding?.hint?.contains(hint.advice) == true, "\(finding?.hint ?? "no hint")")
        let written = (hint.writes ?? hint.advice).replacing("\"", with: "\\\"")
        #expect(hint.mended.contains(written) || hint.mended.contains(hint.writes ?? hint.advice))
        let rest = SyncConfig.parse(hint.mended).diagnostics.filter { $0.severity == .error || $0.code == hint.code }
        #expect(rest.map(\.description) == [])
    }

    // MARK: Values of the request

    static let values: [Hint] = [
        .stream(
            "SELECT * FROM notes WHERE owner_id = token_parameters.user_id",
            "sql.unknown_table",
            "auth.user_id()",
            "SELECT * FROM notes WHERE owner_id = auth.user_id()"
        ),
        .stream(
            "SELECT * FROM notes WHERE org = token_parameters.org",
            "sql.unknown_table",
            "auth.parameter('$.parameters.org')",
            "SELECT * FROM notes WHERE org = auth.parameter('$.parameters.org')"
        ),
        .stream(
            "SELECT * FROM notes WHERE page = user_parameters.page",
            "sql.unknown_table",
            "connection.parameter('page')",
            "SELECT * FROM notes WHERE page = connection.parameter('page')"
        ),
        .stream(
            "SELECT * FROM notes WHERE owner_id = bucket.user_id",
            "sql.unknown_table",
            "auth.user_id()",
            "SELECT * FROM notes WHERE owner_id = auth.user_id()"
        ),
        .stream(
            "SELECT * FROM notes WHERE org = bucket.org",
            "sql.unknown_table",
            "auth.parameter('org')",
            "SELECT * FROM notes WHERE org = auth.parameter('org')"
        ),
        .stream(
            "SELECT * FROM notes WHERE owner_id = auth.user_id",
            "sql.unknown_table",
            "auth.user_id()",
            "SELECT * FROM notes WHERE owner_id = auth.user_id()"
        ),
        .stream(
            "SELECT * FROM notes WHERE role = auth.role",
            "sql.unknown_table",
            "auth.parameter('role')",
            "SELECT * FROM notes WHERE role = auth.parameter('role')"
        ),
        .stream(
            "SELECT * FROM notes WHERE page = connection.page",
            "sql.unknown_table",
            "connection.parameter('page')",
            "SELECT * FROM notes WHERE page = connection.parameter('page')"
        ),
        .definition(
            "",
            "SELECT * FROM notes WHERE owner_id = token_parameters.user_id",
            "sql.unknown_table",
            "SELECT request.user_id() AS user_id",
            "SELECT request.user_id() AS user_id",
            "SELECT * FROM notes WHERE owner_id = bucket.user_id"
        ),
        .definition(
            "",
            "SELECT * FROM notes WHERE org = token_parameters.org",
            "sql.unknown_table",
            "SELECT token_parameters.org AS org",
            "SELECT token_parameters.org AS org",
            "SELECT * FROM notes WHERE org = bucket.org"
        ),
        .definition(
            "",
            "SELECT * FROM notes WHERE page = user_parameters.page",
            "sql.unknown_table",
            "SELECT request.parameters() ->> 'page' AS page",
            "SELECT request.parameters() ->> 'page' AS page",
            "SELECT * FROM notes WHERE page = bucket.page"
        ),
        .definition(
            "SELECT token_parameters.sub AS u",
            "SELECT * FROM notes WHERE owner_id = bucket.u",
            "legacy.token_claim",
            "token_parameters.user_id",
            "SELECT token_parameters.user_id AS u",
            "SELECT * FROM notes WHERE owner_id = bucket.u"
        ),
        .definition(
            "SELECT token_parameters.iss AS u",
            "SELECT * FROM notes WHERE issuer = bucket.u",
            "legacy.token_claim",
            "request.jwt() ->> 'iss'",
            "SELECT request.jwt() ->> 'iss' AS u",
            "SELECT * FROM notes WHERE issuer = bucket.u"
        ),
        .definition(
            "SELECT user_id AS user_id FROM token_parameters",
            "SELECT * FROM notes WHERE owner_id = bucket.user_id",
            "sql.unknown_table",
            "SELECT token_parameters.user_id AS user_id",
            "SELECT token_parameters.user_id AS user_id",
            "SELECT * FROM notes WHERE owner_id = bucket.user_id"
        ),
        .definition(
            "SELECT bucket.org AS org",
            "SELECT * FROM notes WHERE org = bucket.org",
            "sql.unknown_table",
            "request.jwt() ->> 'org'",
            "SELECT request.jwt() ->> 'org' AS org",
            "SELECT * FROM notes WHERE org = bucket.org"
        ),
    ]

    // MARK: Calls of other places

    static let calls: [Hint] = [
        .stream(
            "SELECT * FROM t WHERE user_id = auth.uid()",
            "sql.request_function",
            "auth.user_id()",
            "SELECT * FROM t WHERE user_id = auth.user_id()"
        ),
        .stream(
            "SELECT * FROM t WHERE org = auth.jwt() ->> 'org'",
            "sql.request_function",
            "auth.parameters()",
            "SELECT * FROM t WHERE org = auth.parameters() ->> 'org'"
        ),
        .stream(
            "SELECT * FROM t WHERE auth.role() = 'admin'",
            "sql.request_function",
            "auth.parameter('role')",
            "SELECT * FROM t WHERE auth.parameter('role') = 'admin'"
        ),
        .stream(
            "SELECT * FROM t WHERE user_id = request.user_id()",
            "sql.request_function",
            "auth.user_id()",
            "SELECT * FROM t WHERE user_id = auth.user_id()"
        ),
        .stream(
            "SELECT * FROM t WHERE org = request.jwt() ->> 'org'",
            "sql.request_function",
            "auth.parameters()",
            "SELECT * FROM t WHERE org = auth.parameters() ->> 'org'"
        ),
        .stream(
            "SELECT * FROM t WHERE org = request.parameters() ->> 'org'",
            "sql.request_function",
            "connection.parameters()",
            "SELECT * FROM t WHERE org = connection.parameters() ->> 'org'"
        ),
        .stream(
            "SELECT * FROM t WHERE org = current_setting('request.jwt.claims') ->> 'org'",
            "sql.unknown_function",
            "auth.parameters()",
            "SELECT * FROM t WHERE org = auth.parameters() ->> 'org'"
        ),
        .stream(
            "SELECT * FROM t WHERE a = auth.userid()",
            "sql.request_function",
            "user_id",
            "SELECT * FROM t WHERE a = auth.user_id()"
        ),
        .stream(
            "SELECT * FROM t WHERE auth.parameters('org') = 'x'",
            "sql.request_function",
            "auth.parameter('",
            "SELECT * FROM t WHERE auth.parameter('org') = 'x'"
        ),
        .definition(
            "SELECT auth.uid() AS u",
            "SELECT * FROM t WHERE a = bucket.u",
            "sql.request_function",
            "request.user_id()",
            "SELECT request.user_id() AS u",
            "SELECT * FROM t WHERE a = bucket.u"
        ),
        .definition(
            "SELECT auth.parameter('org') AS u",
            "SELECT * FROM t WHERE a = bucket.u",
            "sql.request_function",
            "request.jwt() ->> 'org'",
            "SELECT request.jwt() ->> 'org' AS u",
            "SELECT * FROM t WHERE a = bucket.u"
        ),
        .definition(
            "SELECT connection.parameter('org') AS u",
            "SELECT * FROM t WHERE a = bucket.u",
            "sql.request_function",
            "request.parameters() ->> 'org'",
            "SELECT request.parameters() ->> 'org' AS u",
            "SELECT * FROM t WHERE a = bucket.u"
        ),
        .definition(
            "SELECT current_setting('x') ->> 'org' AS u",
            "SELECT * FROM t WHERE a = bucket.u",
            "sql.unknown_function",
            "request.jwt()",
            "SELECT request.jwt() ->> 'org' AS u",
            "SELECT * FROM t WHERE a = bucket.u"
        ),
        .definition(
            "",
            "SELECT * FROM t WHERE user_id = request.user_id()",
            "sql.request_function",
            "SELECT request.user_id() AS user_id",
            "SELECT request.user_id() AS user_id",
            "SELECT * FROM t WHERE user_id = bucket.user_id"
        ),
        .definition(
            "",
            "SELECT * FROM t WHERE user_id = auth.uid()",
            "sql.request_function",
            "bucket.user_id",
            "SELECT request.user_id() AS user_id",
            "SELECT * FROM t WHERE user_id = bucket.user_id"
        ),
        .definition(
            "",
            "SELECT * FROM t WHERE org = auth.parameter('org')",
            "sql.request_function",
            "SELECT request.jwt() ->> 'org' AS org",
            "SELECT request.jwt() ->> 'org' AS org",
            "SELECT * FROM t WHERE org = bucket.org"
        ),
    ]
}

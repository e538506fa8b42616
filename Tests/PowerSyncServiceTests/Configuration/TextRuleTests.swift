import PowerSyncServiceCore
import PowerSyncServicePostgres
import ServiceTestSupport
import Testing

@testable import PowerSyncService

/// Secrets and names of a configuration file: nothing that a template leaves lets anybody in.
@Suite struct TextRuleTests {
    /// A key that has a secret or a name, in the smallest file that has it; `VALUE` is its value.
    struct Key: CustomTestStringConvertible, Sendable {
        var path: String
        var text: String
        var isToken = false
        var testDescription: String { path }
    }

    private static let source = "{type: embedded, path: source.db}"
    private static let server = "type: postgresql, hostname: h, username: u, database: d, sslmode: disable"

    private static func file(
        source: String = source,
        storage: String = "{type: sqlite, path: buckets.db}",
        _ more: String = ""
    ) -> String {
        """
        replication: {connections: [\(source)]}
        storage: \(storage)
        sync_config: {content: "streams: {}"}
        \(more)
        """
    }

    static let keys = [
        Key(path: "api.tokens", text: file("api: {tokens: [VALUE]}"), isToken: true),
        Key(path: "api.tokens", text: file("api: {tokens: [a-token-of-some-length, VALUE]}"), isToken: true),
        Key(path: "api.tokens", text: file("api: {tokens: VALUE}"), isToken: true),
        Key(path: "client_auth.audience", text: file("client_auth: {audience: [VALUE]}")),
        Key(path: "client_auth.audience", text: file("client_auth: {audience: VALUE}")),
        Key(path: "client_auth.jwks_uri", text: file("client_auth: {jwks_uri: [VALUE]}")),
        Key(
            path: "client_auth.supabase_jwt_secret",
            text: file("client_auth: {supabase: true, supabase_jwt_secret: VALUE}")
        ),
        Key(
            path: "client_auth.jwks.keys[0].k",
            text: file("client_auth: {jwks: {keys: [{kty: oct, alg: HS256, kid: a, k: VALUE}]}}")
        ),
        Key(
            path: "client_auth.jwks.keys[0].kid",
            text: file("client_auth: {jwks: {keys: [{kty: oct, alg: HS256, kid: VALUE, k: AQID}]}}")
        ),
        Key(path: "replication.connections[0].password", text: file(source: "{\(server), password: VALUE}")),
        Key(path: "replication.connections[0].publication", text: file(source: "{\(server), publication: VALUE}")),
        Key(
            path: "replication.connections[0].username",
            text: file(source: "{\(server.replacing("username: u", with: "username: VALUE"))}")
        ),
        Key(
            path: "replication.connections[0].database",
            text: file(source: "{\(server.replacing("database: d", with: "database: VALUE"))}")
        ),
        Key(
            path: "replication.connections[0].hostname",
            text: file(source: "{\(server.replacing("hostname: h", with: "hostname: VALUE"))}")
        ),
        Key(path: "replication.connections[0].uri", text: file(source: "{type: postgresql, uri: VALUE}")),
        Key(path: "storage.password", text: file(storage: "{\(server), password: VALUE}")),
        Key(path: "host", text: file("host: VALUE")),
        Key(
            path: "sync_config.version_label",
            text: file().replacing("{content:", with: "{version_label: VALUE, content:")
        ),
    ]

    private static func error(_ text: String, _ environment: [String: String] = [:]) -> ServiceError? {
        do {
            _ = try ServiceConfiguration(yaml: text, file: "service.yaml", environment: environment)
            return nil
        } catch {
            return error
        }
    }

    /// Whether one of the errors is at a key.
    private static func isRefused(_ key: Key, _ value: String, _ environment: [String: String] = [:]) -> Bool {
        guard let error = error(key.text.replacing("VALUE", with: value), environment) else { return false }
        return ([error] + error.others).contains { $0.key?.hasPrefix(key.path) == true }
    }

    @Test(arguments: keys)
    func whatTemplatesLeaveIsRefused(_ key: Key) {
        let values = [
            "null", "~", "Null", "NULL", "\"\"", "''", "\" \"", "\"null\"", "undefined", "\"undefined\"", "None", "nil",
            "\"<no value>\"", "\"${PS_SECRET}\"", "\"{{ secret }}\"", "\"[HIDDEN_PASSWORD]\"", "\"<your-secret>\"",
            "!env PS_EMPTY", "!env PS_NULL", "!env PS_BREAK", "!env PS_NOT_SET",
        ]
        let environment = ["PS_EMPTY": "", "PS_NULL": "null", "PS_BREAK": "\n"]
        for value in values { #expect(Self.isRefused(key, value, environment), "\(key.path): \(value)") }
    }

    @Test(arguments: keys.filter { $0.text.contains("[VALUE]") })
    func entriesThatAreNull(_ key: Key) {
        for value in ["a-name-of-some-length, null", "null, a-name-of-some-length", "~", ""] where !value.isEmpty {
            #expect(Self.isRefused(key, value), "\(value)")
        }
    }

    @Test(arguments: keys.filter(\.isToken))
    func aTokenThatCanBeGuessedOrThatNoRequestCanSendIsRefused(_ key: Key) {
        for value in ["x", "1", "true", "short", "1234567", "\"a token of words\"", "\"a-token\\nof-lines\""] {
            #expect(Self.isRefused(key, value), "\(value)")
        }
        for value in ["admin-secret", "12345678", "\"use_a_better_token_in_production\"", "!env PS_TOKEN"] {
            #expect(!Self.isRefused(key, value, ["PS_TOKEN": "a-token-of-the-environment\n"]), "\(value)")
        }
    }

    @Test func secretsAreNotInErrors() throws {
        for value in ["hunt2", "\"hunt2 hunt2\"", "!env PS_SECRET"] {
            for key in Self.keys {
                let error = Self.error(key.text.replacing("VALUE", with: value), ["PS_SECRET": "hunt2 @/%"])
                // Names are shown where they are no names of this service.
                guard !["host", "client_auth.jwks_uri"].contains(key.path), let error else { continue }
                #expect(!"\(error)".contains("hunt2"), "\(error)")
            }
        }
    }

    @Test func aLineBreakAtTheEndOfAValueDoesNotCount() throws {
        let yaml = Self.file(
            source: "{type: postgresql, uri: !env PS_URI}",
            """
            port: !env PS_PORT
            api: {tokens: [!env PS_TOKEN]}
            client_auth:
              audience:
                - |
                  app
            """
        )
        let environment = [
            "PS_URI": "postgresql://u:p@localhost/app?sslmode=disable\n", "PS_PORT": "9000\r\n",
            "PS_TOKEN": "a-token-of-some-length\n\n",
        ]
        let configuration = try ServiceConfiguration(yaml: yaml, file: "service.yaml", environment: environment)
        #expect(configuration.port == 9000)
        #expect(configuration.admin.tokens == ["a-token-of-some-length"])
        #expect(configuration.authentication.audience == ["app"])
        #expect((configuration.source.module as? PostgresSourceModule)?.settings.keywords?["dbname"] == "app")
    }
}

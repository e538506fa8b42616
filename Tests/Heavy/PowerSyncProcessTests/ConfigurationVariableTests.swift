import Foundation
import TestSupport
import Testing

/// A service configuration that commands take from the environment.
@Suite(.timeLimit(.minutes(3))) struct ConfigurationVariableTests {
    private static let configuration = """
        replication: {connections: [{type: embedded, path: source.db, tables: [CREATE TABLE lists (id TEXT PRIMARY KEY)]}]}
        storage: {type: sqlite, path: buckets.db}
        sync_config: {content: "{config: {edition: 3}, streams: {s: {query: SELECT * FROM lists}}}"}
        client_auth: {audience: [a], jwks: {keys: [{kty: oct, alg: HS256, kid: k, k: c2VjcmV0LXNlY3JldC1zZWNyZXQtc2VjcmV0LTMy}]}}
        host: 127.0.0.1
        port: 1024
        """

    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
    }

    private static func base64(_ text: String) -> String { Data(text.utf8).base64EncodedString() }

    /// Every command that has the option `--config`.
    private static let commands = [
        ["serve"], ["dev"], ["status"], ["doctor"], ["test-connection"], ["slots"], ["migrate"], ["compact"],
        ["teardown"], ["token", "--user", "u"], ["generate", "swift"],
    ]

    @Test(arguments: commands) func everyCommandReadsTheVariables(_ command: [String]) async throws {
        let path = ["POWERSYNC_CONFIG_PATH": "nowhere.yaml"]
        let named = try await CommandRun(command, in: folder, environment: path)
        #expect(named.status == 1, "\(named)")
        #expect((named.text + named.errors).contains("which POWERSYNC_CONFIG_PATH names, does not exist"), "\(named)")
        let text = path.merging(["POWERSYNC_CONFIG_B64": "?"]) { $1 }
        let encoded = try await CommandRun(command, in: folder, environment: text)
        #expect(encoded.status == 1, "\(encoded)")
        #expect((encoded.text + encoded.errors).contains("POWERSYNC_CONFIG_B64: not base64"), "\(encoded)")
        let argument = try await CommandRun(command + ["--config", "other.yaml"], in: folder, environment: text)
        #expect((argument.text + argument.errors).contains("other.yaml: the service configuration does not exist"))
    }

    @Test func aConfigurationInBase64IsAsGoodAsAFile() async throws {
        let variables = ["POWERSYNC_CONFIG_B64": Self.base64(Self.configuration)]
        let token = try await CommandRun(["token", "--user", "u"], in: folder, environment: variables)
        #expect(token.status == 0 && token.text.split(separator: ".").count == 3, "\(token)")
        let migrated = try await CommandRun(["migrate"], in: folder, environment: variables)
        #expect(migrated.status == 0, "\(migrated)")
        // Paths in it begin at the folder of the process.
        #expect(FileManager.default.fileExists(atPath: folder.path("buckets.db")))
        let code = try await CommandRun(["generate", "swift"], in: folder, environment: variables)
        #expect(code.text.hasPrefix("// Generated from POWERSYNC_CONFIG_B64. Do not edit"), "\(code)")
    }

    @Test func theSyncConfigOfTheEnvironmentIsWhatAServiceWouldServe() async throws {
        let variables = [
            "POWERSYNC_CONFIG_B64": Self.base64(Self.configuration),
            "POWERSYNC_SYNC_CONFIG_B64": Self.base64("config: {edition: 3}\nstreams: {s: {query: SELEC}}"),
        ]
        let refused = try await CommandRun(["serve"], in: folder, environment: variables)
        #expect(refused.status == 1, "\(refused)")
        #expect(refused.errors.contains("POWERSYNC_SYNC_CONFIG_B64:2:"), "\(refused)")
    }
}

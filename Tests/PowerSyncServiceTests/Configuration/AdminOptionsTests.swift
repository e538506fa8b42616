import Testing

@testable import PowerSyncService

/// Tokens of operators, and where the sync config comes from.
@Suite struct AdminOptionsTests {
    private func configuration(_ rest: String) throws -> ServiceConfiguration {
        let yaml = """
            replication: {connections: [{type: embedded, path: source.db}]}
            storage: {type: sqlite, path: buckets.db}
            \(rest)
            """
        return try ServiceConfiguration(yaml: yaml, file: "powersync.yaml", environment: ["PS_ADMIN": "from-env"])
    }

    @Test func tokensComeFromTheFileAndTheEnvironment() throws {
        let configuration = try configuration("api: {tokens: [token-one, !env PS_ADMIN]}")
        #expect(configuration.admin.tokens == ["token-one", "from-env"])
        #expect(!configuration.warnings.contains { $0.contains("api") })
    }

    @Test func withTokensTheSyncConfigMayBeLeftOut() throws {
        #expect(try configuration("api: {tokens: [token-one]}").syncConfig == .deployed)
        #expect(try configuration("api: {tokens: token-one}\nsync_config: {content: a}").syncConfig == .content("a"))
    }

    @Test(arguments: ["", "api: {}", "api: {tokens: []}"])
    func withoutTokensItMayNot(_ rest: String) {
        #expect {
            try configuration(rest)
        } throws: { error in
            (error as? ServiceError)?.key == "sync_config"
        }
    }

    @Test func anEmptyTokenIsRefused() {
        #expect {
            try configuration("api: {tokens: [token-one, \"\"]}")
        } throws: { error in
            (error as? ServiceError)?.key == "api.tokens"
        }
    }
}

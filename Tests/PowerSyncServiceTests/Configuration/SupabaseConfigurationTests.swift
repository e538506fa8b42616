import Foundation
import PowerSyncAuth
import Testing

@testable import PowerSyncService
@testable import PowerSyncServiceCore

/// Which Supabase project a service takes tokens of (docs/service.md "Authentication").
@Suite struct SupabaseConfigurationTests {
    private static let database = "uri: postgresql://u@db.abc_1.supabase.co:5432/postgres"
    private static let keySet = "https://abc_1.supabase.co/auth/v1/.well-known/jwks.json"
    private static let rules = TokenRules(audience: ["authenticated"], maximumLifetime: 606_000)

    private static func read(source: String, _ authentication: String) throws -> ServiceConfiguration {
        let yaml = """
            replication: {connections: [{type: postgresql, \(source)}]}
            storage: {type: sqlite, path: buckets.db}
            sync_config: {content: "streams: {}"}
            client_auth: {\(authentication)}
            """
        return try ServiceConfiguration(yaml: yaml, file: "service.yaml", environment: [:])
    }

    @Test(arguments: [database, "hostname: db.abc_1.supabase.co, username: u, database: postgres"])
    func theHostOfTheSourceNamesTheProject(_ source: String) throws {
        let configuration = try Self.read(source: source, "supabase: true")
        #expect(configuration.authentication.supabaseProject == "abc_1")
        #expect(configuration.authentication.supabaseSecret == nil)
        let clients = configuration.authentication.keySetClients(clock: ContinuousClock())
        #expect(clients.map { $0.client.url.absoluteString } == [Self.keySet])
        #expect(clients.map { $0.rules } == [Self.rules])
        // The audience is that of the project.
        #expect(configuration.warnings.isEmpty)
    }

    @Test func theKeySetOfTheProjectIsTheLastSource() throws {
        let authentication = try Self.read(
            source: Self.database,
            """
            supabase: true, supabase_jwt_secret: "a secret of thirty-two bytes, yes", jwks_uri: https://a.example/keys,
              block_local_jwks: true, audience: [app]
            """
        ).authentication
        let clients = authentication.keySetClients(clock: ContinuousClock())
        #expect(clients.map { $0.client.url.absoluteString } == ["https://a.example/keys", Self.keySet])
        #expect(clients.map { $0.rules } == [TokenRules(), Self.rules])
        #expect(clients.allSatisfy { $0.client.rejectsIPv6 && !$0.client.rejectedAddresses.isEmpty })
        let sources = authentication.keySources(clock: ContinuousClock())
        #expect(sources.all.count == 4 && sources.remote.count == 2)
    }

    @Test func theKeySetOfTheProjectBesideItself() throws {
        let written = "supabase: true, jwks_uri: \"\(Self.keySet)\", audience: [authenticated]"
        let authentication = try Self.read(source: Self.database, written).authentication
        let clients = authentication.keySetClients(clock: ContinuousClock())
        #expect(clients.map { $0.client.url.absoluteString } == [Self.keySet])
        #expect(clients.map { $0.rules } == [Self.rules])
    }

    @Test func aSecretAloneIsAWarning() throws {
        let secret = "supabase_jwt_secret: \"a secret of thirty-two bytes, yes\", audience: [app]"
        let configuration = try Self.read(source: Self.database, secret)
        #expect(!configuration.authentication.hasKeys)
        #expect(
            configuration.warnings.contains(
                "service.yaml:4: client_auth.supabase_jwt_secret: no effect without supabase: true"
            )
        )
    }

    @Test func withoutTheKeyNothingIsDerived() throws {
        for more in ["", ", supabase: false"] {
            let authentication = try Self.read(source: Self.database, "audience: [app]\(more)").authentication
            #expect(authentication.supabaseProject == nil)
            #expect(!authentication.hasKeys)
        }
    }

    @Test(
        arguments: [
            "db.example.com", "aws-0-eu-west-1.pooler.supabase.com", "db.abc.supabase.co.example.com",
            "db.a-b.supabase.co", "db.a.b.supabase.co", "db.supabase.co", "db..supabase.co", "abc.supabase.co",
            "xdb.abc.supabase.co", "db.abc.supabase.com", "DB.abc.supabase.co",
        ]
    )
    func anotherHostIsAnError(_ host: String) throws {
        let source = "uri: postgresql://u@\(host)/postgres"
        let error = #expect(throws: ServiceError.self) { try Self.read(source: source, "supabase: true") }
        #expect(error?.code == .invalidConfiguration)
        #expect(error?.key == "client_auth.supabase")
        #expect(error?.line == 4)
        for text in [
            "db.<reference>.supabase.co", "https://<reference>.supabase.co/auth/v1/.well-known/jwks.json",
            "audience: [authenticated]", "supabase_jwt_secret",
        ] {
            #expect(error?.message.contains(text) == true)
        }
        let secret = "supabase: true, supabase_jwt_secret: \"a secret of thirty-two bytes, yes\""
        let authentication = try Self.read(source: source, secret).authentication
        #expect(authentication.supabaseProject == nil)
        #expect(authentication.hasKeys)
    }

    @Test func besideAKeySetTheKeyIsAWarning() throws {
        let configuration = try Self.read(
            source: "uri: postgresql://u@db.example.com/postgres",
            "supabase: true, jwks_uri: https://a.example/keys, audience: [app]"
        )
        #expect(
            configuration.warnings == [
                "service.yaml:4: client_auth.supabase: no effect: the host of the source is not db.<reference>.supabase.co"
            ]
        )
    }

    @Test(arguments: ["abc/..", "abc.example.com#", "ä", ""])
    func aReferenceCannotBeAnything(_ reference: String) throws {
        var authentication = ClientAuthentication()
        authentication.supabaseProject = reference
        let error = #expect(throws: ServiceError.self) { try authentication.checkKeySources() }
        #expect(error?.code == .invalidConfiguration)
        #expect(error?.key == "client_auth.supabase")
    }
}

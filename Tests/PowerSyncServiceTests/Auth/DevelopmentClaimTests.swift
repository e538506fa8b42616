import Foundation
import PowerSyncAuth
import PowerSyncProtocol
import ServiceTestSupport
import Testing

@testable import PowerSyncService

/// Tokens that `powersync token` signs: the service takes them, with all their claims.
@Suite struct DevelopmentClaimTests {
    private static let now = Date(timeIntervalSince1970: 1_767_225_600)
    private static let secret = "a secret of thirty-two bytes, yes"

    private static func configuration(_ change: (inout ClientAuthentication) -> Void) -> ServiceConfiguration {
        var configuration = ServiceConfiguration(
            source: .embedded(path: "source.db", statements: []),
            storage: .sqlite(path: "buckets.db"),
            syncConfig: .deployed
        )
        change(&configuration.authentication)
        return configuration
    }

    private static let withKey = configuration { authentication in
        authentication.keys = [.hs256(secret: Array(secret.utf8), id: "k")]
        authentication.audience = ["app"]
    }
    private static let withSupabase = configuration { $0.supabaseSecret = secret }

    private static func payload(
        of configuration: ServiceConfiguration,
        _ claims: JSONObject
    ) async throws -> JSONObject {
        let token = try configuration.makeDevelopmentToken(
            userID: "u1",
            claims: claims,
            lifetime: .seconds(3600),
            now: now
        )
        let authentication = configuration.authentication
        let verifier = TokenVerifier(
            sources: authentication.keySources(clock: ContinuousClock()).all,
            audience: authentication.audience
        )
        return try await verifier.verify(authorization: "Bearer \(token)", now: now.timeIntervalSince1970).payload
    }

    @Test(arguments: [0, 1])
    func claimsAreWhatTheyAre(_ index: Int) async throws {
        let claims: JSONObject = [
            "org_id": .integer(7), "name": .string("Ünïcødé"), "roles": .array([.string("a"), .null]),
            "nested": .object(["is": .bool(true)]), "nothing": .null,
        ]
        let payload = try await Self.payload(of: [Self.withKey, Self.withSupabase][index], claims)
        for (name, value) in claims.members.map({ ($0.name, $0.value) }) { #expect(payload[name] == value, "\(name)") }
        #expect(payload["sub"] == .string("u1"))
        #expect(payload["aud"] == .string(["app", "authenticated"][index]))
    }

    @Test(arguments: ["sub", "aud", "iss", "iat", "exp", "nbf"])
    func claimsOfEveryTokenCannotBeReplaced(_ name: String) async throws {
        await #expect(throws: ServiceError.self) {
            try await Self.payload(of: Self.withKey, [name: .string("x")])
        }
    }

    @Test func withoutASecretNothingIsSigned() async throws {
        let error = await #expect(throws: ServiceError.self) {
            try await Self.payload(of: Self.configuration { $0.audience = ["app"] }, [:])
        }
        #expect(error?.code == .missingKey)
        #expect(error?.message.contains("supabase_jwt_secret") == true)
    }
}

import Foundation
import PowerSyncAuth
import PowerSyncProtocol
import ServiceTestSupport
import Testing

@testable import PowerSyncService
@testable import PowerSyncServiceCore

/// Tokens for development.
@Suite struct DevelopmentTokenTests {
    private func configuration() -> ServiceConfiguration {
        ServiceConfiguration(
            source: .embedded(path: "source.db", statements: []),
            storage: .sqlite(path: "buckets.db"),
            syncConfig: .content("")
        )
    }

    @Test(arguments: ["dev", nil])
    func signedTokensAreAccepted(_ id: String?) async throws {
        var configuration = configuration()
        configuration.authentication.keys = [.hs256(secret: TestVerifier.secret, id: id)]
        configuration.authentication.audience = ["a", "b"]
        let token = try configuration.makeDevelopmentToken(
            userID: "u \"1\"",
            lifetime: .seconds(60),
            now: Date(timeIntervalSince1970: 1000)
        )

        let verifier = TokenVerifier(keys: configuration.authentication.keys.map(\.key), audience: ["a"])
        let verified = try await verifier.verify(token, now: 1001)
        #expect(verified.userID == "u \"1\"")
        #expect(verified.expiresAt == 1060)
    }

    @Test func aSharedSecretIsNeeded() throws {
        var configuration = configuration()
        configuration.authentication.audience = ["a"]
        #expect {
            try configuration.makeDevelopmentToken(userID: "u1")
        } throws: { ($0 as? ServiceError)?.code == .missingKey }
    }

    @Test(arguments: [Duration.zero, .seconds(86_401)])
    func impossibleLifetimesAreRefused(_ lifetime: Duration) throws {
        var configuration = configuration()
        configuration.authentication.keys = [.hs256(secret: TestVerifier.secret, id: nil)]
        configuration.authentication.audience = ["a"]
        #expect {
            try configuration.makeDevelopmentToken(userID: "u1", lifetime: lifetime)
        } throws: { ($0 as? ServiceError)?.code == .invalidConfiguration }
    }
}

import NIOConcurrencyHelpers
import PowerSyncProtocol
import ServiceTestSupport
import Testing

@testable import PowerSyncAuth

/// Which key a token is verified with.
extension TokenVerifierTests {
    /// A server that is asked.
    private struct AskedServer: KeySource {
        let questions = NIOLockedValueBox(0)

        func knownKeys() -> CurrentKeys? { nil }

        func currentKeys() async -> CurrentKeys {
            questions.withLockedValue { $0 += 1 }
            return CurrentKeys([], failure: .keySetRequest("it does not answer"))
        }

        func keyWasMissing() {}
    }

    @Test(arguments: ["test-1", nil])
    func configuredKeysComeFirst(id: String?) async throws {
        let key = JSONWebKey(id: id, algorithm: .hs256, material: .symmetric(TestVerifier.secret))
        let server = AskedServer()
        let verifier = TokenVerifier(sources: [StaticKeys([key]), server], audience: ["powersync-dev"])
        #expect(await TestVerifier.failure(TestToken().signed(with: key), verifier) == nil)
        #expect(server.questions.withLockedValue(\.self) == 0)
        // Another one may be of a key that only the server has.
        let other = TestToken(header: ["alg": "HS256", "kid": "other"]).signed { _ in [1] }
        #expect(await TestVerifier.failure(other, verifier)?.code == .keySetRequest)
        #expect(server.questions.withLockedValue(\.self) == 1)
    }

    /// A server that has answered.
    private struct AnsweredServer: KeySource {
        var current: CurrentKeys
        let missing = NIOLockedValueBox(0)

        func knownKeys() -> CurrentKeys? { current }

        func currentKeys() async -> CurrentKeys { current }

        func keyWasMissing() { missing.withLockedValue { $0 += 1 } }
    }

    @Test(arguments: ["test-1", nil])
    func knownKeysComeBeforeAwaitedOnes(id: String?) async throws {
        let key = JSONWebKey(id: id, algorithm: .hs256, material: .symmetric(TestVerifier.secret))
        let server = AskedServer()
        let known = AnsweredServer(current: CurrentKeys([VerifyingKey(key)]))
        let verifier = TokenVerifier(sources: [server, known], audience: ["powersync-dev"])
        #expect(await TestVerifier.failure(TestToken().signed(with: key), verifier) == nil)
        #expect(server.questions.withLockedValue(\.self) == 0)
        #expect(known.missing.withLockedValue(\.self) == 0)
    }

    @Test func aRefusalWaitsForWhatCountsMore() async throws {
        let wrong = JSONWebKey(id: "test-1", algorithm: .hs256, material: .symmetric(Array("another secret".utf8)))
        let server = AskedServer()
        let known = AnsweredServer(current: CurrentKeys([VerifyingKey(wrong)]))
        let verifier = TokenVerifier(sources: [server, known], audience: ["powersync-dev"])
        let failure = await TestVerifier.failure(TestToken().signed(with: TestVerifier.key), verifier)
        #expect(failure == AuthorizationError(.authentication, "signature verification failed"))
        #expect(server.questions.withLockedValue(\.self) == 1)
    }

    @Test func allServersAreAskedForAMissingKey() async {
        let down = AnsweredServer(current: CurrentKeys([], failure: .keySetRequest("it is down")))
        let rotated = AnsweredServer(current: CurrentKeys([VerifyingKey(TestVerifier.key)]))
        let orders: [[any KeySource]] = [[rotated, down], [down, rotated], [AskedServer(), rotated]]
        for sources in orders {
            let before = rotated.missing.withLockedValue(\.self)
            let verifier = TokenVerifier(sources: sources, audience: ["powersync-dev"])
            let token = TestToken(header: ["alg": "HS256", "kid": "new"]).signed { _ in [1] }
            #expect(await TestVerifier.failure(token, verifier)?.code == .keySetRequest)
            #expect(rotated.missing.withLockedValue(\.self) == before + 1)
        }
    }

    @Test func aNamedKeyIsFinal() async {
        let other = JSONWebKey(id: "test-1", algorithm: .hs256, material: .symmetric(Array("another secret".utf8)))
        let wildcard = JSONWebKey(id: nil, algorithm: .hs256, material: .symmetric(TestVerifier.secret))
        let token = TestToken().signed(with: TestVerifier.key)
        let failure = await TestVerifier.failure(token, TestVerifier.verifier([other, wildcard]))
        #expect(failure == AuthorizationError(.authentication, "signature verification failed"))
    }

    @Test(arguments: [nil, "unknown"])
    func aWildcardKeyVerifiesTokensWithAndWithoutKid(_ keyID: String?) async throws {
        var header: JSONObject = ["alg": "HS256"]
        header["kid"] = keyID.map { .string($0) }
        let wrong = JSONWebKey(id: nil, algorithm: .hs256, material: .symmetric(Array("another secret".utf8)))
        let wildcard = JSONWebKey(id: nil, algorithm: .hs256, material: .symmetric(TestVerifier.secret))
        let token = TestToken(header: header).signed(with: wildcard)
        let verified = try await TestVerifier.verifier([TestVerifier.key, wrong, wildcard]).verify(
            token,
            now: TestVerifier.now
        )
        #expect(verified.userID == "u1")
    }

    @Test func anUnknownKeyIDIsNotFound() async {
        let token = TestToken(header: ["alg": "HS256", "kid": "other"]).signed(with: TestVerifier.key)
        let failure = await TestVerifier.failure(token)
        #expect(failure?.description.hasPrefix("Could not find an appropriate key in the keystore.") == true)
        #expect(failure?.logDetails?.contains("token kid: other") == true)
    }

    @Test func aPublicKeyIsNoSharedSecret() async throws {
        let pair = try await TestKeyPair(.rs256, id: "rsa-1")
        let token = TestToken(header: ["alg": "HS256", "kid": "rsa-1"]).signed(with: TestVerifier.key)
        let failure = await TestVerifier.failure(token, TestVerifier.verifier([pair.key.withoutAlgorithm]))
        #expect(failure == AuthorizationError(.authentication, "Unexpected token algorithm HS256"))
    }

    @Test func shortRSAKeysAreRejectedWhenUsed() async throws {
        let modulus = Base64URL.encode([0x80] + Array(repeating: UInt8(1), count: 127))
        let key = try JSONWebKey(members: ["kty": "RSA", "kid": "short", "n": modulus, "e": "AQAB"])
        try await key.checkMaterial()
        let token = TestToken(header: ["alg": "RS256", "kid": "short"]).signed { _ in Array(repeating: 1, count: 128) }
        #expect(await TestVerifier.failure(token, TestVerifier.verifier([key]))?.code.rawValue == "PSYNC_S2101")
    }

    @Test(arguments: [(0, false), (31, false), (32, true), (64, true)])
    func shortSecretsAreRefusedAtStart(_ count: Int, _ isAccepted: Bool) async {
        let key = JSONWebKey(id: "a", algorithm: .hs256, material: .symmetric(Array(repeating: 7, count: count)))
        do {
            try await key.checkMaterial()
            #expect(isAccepted)
        } catch {
            #expect(!isAccepted && error.member == "k")
        }
    }
}

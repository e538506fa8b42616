import NIOConcurrencyHelpers
import PowerSyncProtocol
import ServiceTestSupport
import Testing

@testable import PowerSyncAuth

/// All keys that have a token's `kid` are tried, wherever they are.
@Suite struct KeySearchTests {
    /// Where the right key is, and where the others with its id are.
    enum Layout: String, CaseIterable {
        case first, last, middle, sourceBefore, sourceAfter, awaitedBefore, awaitedAfter, withoutID

        /// Sources with the right key and others.
        func sources(_ key: JSONWebKey, _ others: [JSONWebKey]) -> [any KeySource] {
            let half = others.count / 2
            return switch self {
            case .first: [StaticKeys([key] + others)]
            case .last: [StaticKeys(others + [key])]
            case .middle: [StaticKeys(others[..<half] + [key] + others[half...])]
            case .sourceBefore: [StaticKeys([key]), StaticKeys(others)]
            case .sourceAfter: [StaticKeys(others), StaticKeys([key])]
            case .awaitedBefore: [Awaited(keys: [key]), StaticKeys(others)]
            case .awaitedAfter: [StaticKeys(others), Awaited(keys: others), Awaited(keys: [key])]
            // A key set without ids is not locked out by one with them.
            case .withoutID: [StaticKeys(others), StaticKeys([key.wildcard])]
            }
        }
    }

    /// A source that is waited for.
    private struct Awaited: KeySource {
        let keys: [JSONWebKey]

        func knownKeys() -> CurrentKeys? { nil }
        func currentKeys() async -> CurrentKeys { CurrentKeys(keys.map { VerifyingKey($0) }) }
        func keyWasMissing() {}
    }

    /// Keys of every type with an id, none of which is the one of a pair.
    private static func others(than pair: TestKeyPair, id: String) async throws -> [JSONWebKey] {
        var modulus = [UInt8](repeating: 0x5A, count: 256)
        (modulus[0], modulus[255]) = (0xC1, 0x01)
        var others = [
            JSONWebKey(id: id, algorithm: nil, material: .symmetric(Array("a secret of somebody else, 32 bytes".utf8))),
            try JSONWebKey(members: ["kty": "RSA", "kid": id, "n": Base64URL.encode(modulus), "e": "AQAB"]),
        ]
        for algorithm in [SigningAlgorithm.es256, .es384, .es512, .eddsa] {
            others.append(try await TestKeyPair(algorithm, id: id).key)
        }
        if pair.key.type != .rsa { others.append(try await TestKeyPair(.rs256, id: id).key) }
        return others
    }

    private static func verifier(_ sources: [any KeySource]) -> TokenVerifier {
        TokenVerifier(sources: sources, audience: ["powersync-dev"])
    }

    @Test(arguments: SigningAlgorithm.allCases, Layout.allCases)
    func theRightKeyIsFound(_ algorithm: SigningAlgorithm, _ layout: Layout) async throws {
        let pair = try await TestKeyPair(algorithm, id: "k")
        let others = try await Self.others(than: pair, id: "k")
        let token = try TestToken(header: pair.header).signed(by: pair.sign)
        #expect(await TestVerifier.failure(token, Self.verifier(layout.sources(pair.key, others))) == nil)
        let refused = await TestVerifier.failure(token, Self.verifier([StaticKeys(others)]))
        #expect(refused == AuthorizationError(.authentication, "signature verification failed"))
    }

    @Test func theRulesAreThoseOfTheKeyThatHasSigned() async throws {
        let pair = try await TestKeyPair(.es256, id: "k")
        let others = try await Self.others(than: pair, id: "k")
        let rules = TokenRules(audience: ["of the others"])
        let verifier = Self.verifier([StaticKeys(others, rules: rules), StaticKeys([pair.key])])
        #expect(
            await TestVerifier.failure(try TestToken(header: pair.header).signed(by: pair.sign), verifier) == nil
        )
    }

    @Test(arguments: EqualTexts.pairs)
    func idsAreTheirBytes(_ ids: EqualTexts) async throws {
        let pair = try await TestKeyPair(.es256, id: ids.first)
        let token = try TestToken(header: pair.header).signed(by: pair.sign)
        var other = pair.key
        other.id = ids.second
        #expect(await TestVerifier.failure(token, Self.verifier([StaticKeys([pair.key])])) == nil)
        let failure = await TestVerifier.failure(token, Self.verifier([StaticKeys([other])]))
        #expect(failure?.description.hasPrefix("Could not find an appropriate key") == true)
    }

    /// A source that counts how often a key was missing.
    private struct Counting: KeySource {
        let current: CurrentKeys
        let missing = NIOLockedValueBox(0)

        func knownKeys() -> CurrentKeys? { current }
        func currentKeys() async -> CurrentKeys { current }
        func keyWasMissing() { missing.withLockedValue { $0 += 1 } }
    }

    @Test func aWrongSignatureAsksOnce() async throws {
        let pair = try await TestKeyPair(.es256, id: "k")
        let source = Counting(current: CurrentKeys([VerifyingKey(pair.key)]))
        let verifier = Self.verifier([StaticKeys([]), source])
        let forged = TestToken(header: pair.header).signed { _ in [UInt8](repeating: 1, count: 64) }
        #expect(await TestVerifier.failure(forged, verifier)?.description == "signature verification failed")
        #expect(source.missing.withLockedValue(\.self) == 1)
        #expect(
            await TestVerifier.failure(try TestToken(header: pair.header).signed(by: pair.sign), verifier) == nil
        )
        #expect(source.missing.withLockedValue(\.self) == 1)
    }

    @Test func aKeyThatIsNotUsedIsNamed() async throws {
        let document = try KeySetDocument(
            json: #"{"keys":[{"kid":"k","kty":"EC","crv":"secp256k1","alg":"ES256K","x":"AA","y":"AA"}]}"#
        )
        let source = Counting(current: CurrentKeys([], leftOut: document.leftOut))
        let token = TestToken(header: ["alg": "ES256", "kid": "k"]).signed { _ in [UInt8](repeating: 1, count: 64) }
        let failure = await TestVerifier.failure(token, Self.verifier([source]))
        #expect(failure?.description.contains("The key that the token names is not used: k (ES256K): ") == true)
        let other = TestToken(header: ["alg": "ES256", "kid": "o"]).signed { _ in [UInt8](repeating: 1, count: 64) }
        let missing = await TestVerifier.failure(other, Self.verifier([source]))
        #expect(missing?.logDetails?.contains("not used: k (ES256K)") == true)
    }
}

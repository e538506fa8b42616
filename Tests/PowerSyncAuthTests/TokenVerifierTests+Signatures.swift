import JWTKit
import PowerSyncProtocol
import ServiceTestSupport
import Testing

@testable import PowerSyncAuth

/// Signatures of every kind.
extension TokenVerifierTests {
    private static let wrongSignature = AuthorizationError(.authentication, "signature verification failed")

    @Test(arguments: SigningAlgorithm.allCases)
    func aTokenThatItsKeyHasSignedIsAcceptedAndNoneThatDiffersInABit(_ algorithm: SigningAlgorithm) async throws {
        let pair = try await TestKeyPair(algorithm, id: "k")
        try await pair.key.checkMaterial()
        let verifier = TestVerifier.verifier([pair.key])
        let token = TestToken(header: pair.header)
        var signature: [UInt8] = []
        let signed = try token.signed { input in
            signature = try pair.sign(input)
            return signature
        }
        #expect(await TestVerifier.failure(signed, verifier) == nil)

        var another = token
        another.payload["sub"] = "u2"
        let stolen = another.signed { _ in signature }
        #expect(await TestVerifier.failure(stolen, verifier) == Self.wrongSignature)
        for index in [0, signature.count / 2, signature.count - 1] {
            var changed = signature
            changed[index] ^= 1
            let failure = await TestVerifier.failure(token.signed { _ in changed }, verifier)
            #expect(failure == Self.wrongSignature, "byte \(index)")
        }
        let others: [[UInt8]] = [
            [], Array(signature.dropLast()), signature + [0], Array(repeating: 0, count: signature.count),
        ]
        for other in others {
            let failure = await TestVerifier.failure(token.signed { _ in other }, verifier)
            #expect(failure == Self.wrongSignature, "\(other.count) bytes")
        }
    }

    @Test(arguments: SigningAlgorithm.allCases)
    func aWildcardKeyChecksSignatures(_ algorithm: SigningAlgorithm) async throws {
        let pair = try await TestKeyPair(algorithm, id: "k")
        let verifier = TestVerifier.verifier([pair.key.wildcard])
        var token = TestToken(header: pair.header)
        var signature: [UInt8] = []
        let signed = try token.signed { input in
            signature = try pair.sign(input)
            return signature
        }
        #expect(await TestVerifier.failure(signed, verifier) == nil)
        token.payload["sub"] = "u2"
        let failure = await TestVerifier.failure(token.signed { _ in signature }, verifier)
        #expect(failure?.code == .authentication)
        #expect(failure?.description.hasPrefix("Could not find an appropriate key in the keystore.") == true)
    }

    @Test func curvesAreNotMixed() async throws {
        let short = try await TestKeyPair(.es256, id: "k")
        let long = try await TestKeyPair(.es384, id: "k")
        let token = try TestToken(header: long.header).signed(by: short.sign)
        #expect(
            await TestVerifier.failure(token, TestVerifier.verifier([short.key]))
                == AuthorizationError(.authentication, "Unexpected token algorithm ES384")
        )
        #expect(await TestVerifier.failure(token, TestVerifier.verifier([long.key])) == Self.wrongSignature)
        let failure = await TestVerifier.failure(token, TestVerifier.verifier([short.key.wildcard, long.key.wildcard]))
        #expect(failure?.description.hasPrefix("Could not find an appropriate key in the keystore.") == true)
    }

    @Test func hashesAreNotMixed() async throws {
        let short = try await TestKeyPair(.rs256, id: "k")
        let long = try await TestKeyPair(.rs384, id: "k")
        let token = try TestToken(header: long.header).signed(by: short.sign)
        #expect(
            await TestVerifier.failure(token, TestVerifier.verifier([short.key.withoutAlgorithm]))
                == Self.wrongSignature
        )
        #expect(
            await TestVerifier.failure(token, TestVerifier.verifier([short.key]))
                == AuthorizationError(.authentication, "Unexpected token algorithm RS384")
        )
    }

    @Test func paddingsAreNotMixed() async throws {
        let (plain, salted) = (try await TestKeyPair(.rs256, id: "k"), try await TestKeyPair(.ps256, id: "k"))
        for (header, sign) in [(salted.header, plain.sign), (plain.header, salted.sign)] {
            let token = try TestToken(header: header).signed(by: sign)
            #expect(
                await TestVerifier.failure(token, TestVerifier.verifier([plain.key.withoutAlgorithm]))
                    == Self.wrongSignature
            )
        }
    }

    @Test(arguments: ["EdDSA", "Ed25519"], ["EdDSA", "Ed25519"])
    func namesOfEdDSA(_ nameInToken: String, _ nameInKey: String) async throws {
        let pair = try await TestKeyPair(.eddsa, id: "k")
        guard case .asymmetric(let jwk, _, _) = pair.key.material else { return }
        let key = try JSONWebKey(members: [
            "kty": "OKP", "crv": "Ed25519", "kid": "k", "alg": nameInKey, "x": try #require(jwk.x),
        ])
        let token = try TestToken(header: ["alg": .string(nameInToken), "kid": "k"]).signed(by: pair.sign)
        #expect(await TestVerifier.failure(token, TestVerifier.verifier([key])) == nil)
    }

    @Test func spareBitsOfSignatures() async throws {
        let token = TestToken().signed(with: TestVerifier.key)
        #expect(await TestVerifier.failure(token) == nil)
        // 32 bytes leave two bits of the last character, which is the first one of four with the same bytes.
        let last = try #require(token.utf8.last)
        let sameBytes = String(token.dropLast()) + String(decoding: [last + 1], as: UTF8.self)
        #expect(await TestVerifier.failure(sameBytes) == .malformedToken)
    }

    @Test(arguments: [SigningAlgorithm.rs256, .rs384, .rs512, .ps256, .ps384, .ps512])
    func rsaKeysWithoutAlgorithmVerifyTheWholeFamily(_ algorithm: SigningAlgorithm) async throws {
        let pair = try await TestKeyPair(algorithm, id: "k")
        let verifier = TestVerifier.verifier([pair.key.withoutAlgorithm])
        let token = try TestToken(header: pair.header).signed(by: pair.sign)
        #expect(await TestVerifier.failure(token, verifier) == nil)
        let other = try await TestKeyPair(.rs256, id: "k")
        let otherToken = try TestToken(header: other.header).signed(by: other.sign)
        #expect(await TestVerifier.failure(otherToken, verifier) == nil)
    }
}

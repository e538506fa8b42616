import Crypto
import JWTKit
import PowerSyncProtocol
import Testing

@testable import PowerSyncTokens

/// Which key a token is verified with, and every kind of key.
extension TokenVerifierTests {
    @Test("the key that a token names is the only one that counts")
    func aNamedKeyIsFinal() async {
        let other = JSONWebKey(id: "test-1", algorithm: .hs256, material: .symmetric(Array("another secret".utf8)))
        let wildcard = JSONWebKey(id: nil, algorithm: .hs256, material: .symmetric(Self.secret))
        let token = TestToken().signed(with: Self.interopKey)
        let failure = await Self.failure(token, Self.verifier([other, wildcard]))
        #expect(failure == AuthorizationError(.authentication, "signature verification failed"))
    }

    @Test("a wildcard key verifies tokens with and without kid", arguments: [nil, "unknown"])
    func wildcardsAreTried(_ keyID: String?) async throws {
        var header: JSONObject = ["alg": "HS256"]
        header["kid"] = keyID.map { .string($0) }
        let wrong = JSONWebKey(id: nil, algorithm: .hs256, material: .symmetric(Array("another secret".utf8)))
        let wildcard = JSONWebKey(id: nil, algorithm: .hs256, material: .symmetric(Self.secret))
        let token = TestToken(header: header).signed(with: wildcard)
        let verified = try await Self.verifier([Self.interopKey, wrong, wildcard]).verify(token, now: Self.now)
        #expect(verified.userID == "u1")
    }

    @Test func anUnknownKeyIDIsNotFound() async {
        let token = TestToken(header: ["alg": "HS256", "kid": "other"]).signed(with: Self.interopKey)
        let failure = await Self.failure(token)
        #expect(failure?.description.hasPrefix("Could not find an appropriate key in the keystore.") == true)
        #expect(failure?.logDetails?.contains("token kid: other") == true)
    }

    @Test func aPublicKeyIsNoSharedSecret() async throws {
        let key = try Self.rsaKey(alg: nil)
        let token = TestToken(header: ["alg": "HS256", "kid": "rsa-1"]).signed(with: Self.interopKey)
        let failure = await Self.failure(token, Self.verifier([key]))
        #expect(failure == AuthorizationError(.authentication, "Unexpected token algorithm HS256"))
    }

    @Test(arguments: [SigningAlgorithm.hs384, .hs512])
    func longerHashesWork(_ algorithm: SigningAlgorithm) async throws {
        let key = JSONWebKey(id: "k", algorithm: algorithm, material: .symmetric(Self.secret))
        let token = TestToken(header: ["alg": .string(algorithm.rawValue), "kid": "k"]).signed(with: key)
        #expect(await Self.failure(token, Self.verifier([key])) == nil)
        #expect(await Self.failure(token + "A", Self.verifier([key])) != nil)
    }

    @Test func ellipticCurveKeysVerify() async throws {
        let privateKey = P256.Signing.PrivateKey()
        let point = privateKey.publicKey.rawRepresentation
        let key = try JSONWebKey(members: [
            "kty": "EC", "crv": "P-256", "alg": "ES256", "kid": "ec-1",
            "x": Base64URL.encode(point.prefix(32)), "y": Base64URL.encode(point.suffix(32)),
        ])
        try await key.checkMaterial()
        let token = try TestToken(header: ["alg": "ES256", "kid": "ec-1"]).signed { input in
            Array(try privateKey.signature(for: input).rawRepresentation)
        }
        #expect(await Self.failure(token, Self.verifier([key])) == nil)
        let forged = TestToken(header: ["alg": "ES256", "kid": "ec-1"]).signed { _ in Array(repeating: 1, count: 64) }
        #expect(await Self.failure(forged, Self.verifier([key]))?.description == "signature verification failed")
        let short = TestToken(header: ["alg": "ES256", "kid": "ec-1"]).signed { _ in [1, 2, 3] }
        #expect(await Self.failure(short, Self.verifier([key]))?.description == "signature verification failed")
    }

    @Test func edwardsCurveKeysVerify() async throws {
        let privateKey = Curve25519.Signing.PrivateKey()
        let key = try JSONWebKey(members: [
            "kty": "OKP", "crv": "Ed25519", "alg": "EdDSA", "kid": "ed-1",
            "x": Base64URL.encode(privateKey.publicKey.rawRepresentation),
        ])
        try await key.checkMaterial()
        let token = try TestToken(header: ["alg": "EdDSA", "kid": "ed-1"]).signed { input in
            Array(try privateKey.signature(for: input))
        }
        #expect(await Self.failure(token, Self.verifier([key])) == nil)
    }

    @Test(arguments: ["RS256", "RS384", "RS512"])
    func rsaKeysWithoutAlgorithmVerifyTheWholeFamily(_ algorithm: String) async throws {
        let key = try Self.rsaKey(alg: nil)
        let token = try await Self.rsaToken(algorithm)
        let verifier = Self.verifier([key])
        #expect(await Self.failure(token, verifier) == nil)
        #expect(await Self.failure(try await Self.rsaToken("RS256"), verifier) == nil)
    }

    @Test func shortRSAKeysAreRejectedWhenUsed() async throws {
        let modulus = Base64URL.encode([0x80] + Array(repeating: UInt8(1), count: 127))
        let key = try JSONWebKey(members: ["kty": "RSA", "kid": "short", "n": modulus, "e": "AQAB"])
        try await key.checkMaterial()
        let token = TestToken(header: ["alg": "RS256", "kid": "short"]).signed { _ in Array(repeating: 1, count: 128) }
        #expect(await Self.failure(token, Self.verifier([key]))?.code.rawValue == "PSYNC_S2101")
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

    // MARK: RSA

    /// A key pair made for this test with `openssl genrsa 2048`.
    private static func rsaPrivateKey() throws -> JWTKit.Insecure.RSA.PrivateKey {
        try JWTKit.Insecure.RSA.PrivateKey(pem: RSATestKey.pem)
    }

    private static func rsaKey(alg: String?) throws -> JSONWebKey {
        let (modulus, exponent) = try rsaPrivateKey().publicKey.getKeyPrimitives()
        var members = ["kty": "RSA", "kid": "rsa-1", "n": Base64URL.encode(modulus), "e": Base64URL.encode(exponent)]
        members["alg"] = alg
        return try JSONWebKey(members: members)
    }

    private static func rsaToken(_ algorithm: String) async throws -> String {
        let keys = JWTKeyCollection()
        let digests: [String: DigestAlgorithm] = ["RS256": .sha256, "RS384": .sha384, "RS512": .sha512]
        await keys.add(
            rsa: try rsaPrivateKey(),
            digestAlgorithm: try #require(digests[algorithm]),
            kid: JWKIdentifier(string: "rsa-1")
        )
        let signer = try await keys.getKey(for: JWKIdentifier(string: "rsa-1"), alg: algorithm)
        return try TestToken(header: ["alg": .string(algorithm), "kid": "rsa-1"]).signed { try signer.sign($0) }
    }
}

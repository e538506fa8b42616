import Crypto
import CryptoExtras
import Foundation
import PowerSyncBackend
import PowerSyncAuth

/// What the token of a request costs on one core when its key is known.
enum TokenBenchmarks {
    private static let count = 20_000

    /// Runs all cases.
    static func run() async throws {
        for (name, key) in [
            ("hs256", try SigningKey.hs256(secret: Array("0123456789abcdef0123456789abcdef".utf8), id: "key")),
            ("es256", .es256(id: "key")), ("eddsa", .eddsa(id: "key")),
        ] {
            let signer = SyncTokenSigner(key: key, audience: audience)
            let token = try signer.token(userID: "u1", claims: ["role": .string("member")]).text
            try await checks("tokens.\(name)", token, try key.verifying)
        }
        let (token, key) = try rsa()
        try await checks("tokens.rs256", token, key)
    }

    private static let audience = "benchmark"

    /// A token that an identity provider signed with a key of 2,048 bits, and the key.
    private static func rsa() throws -> (token: String, key: JSONWebKey) {
        let key = try _RSA.Signing.PrivateKey(keySize: .bits2048)
        let numbers = try key.publicKey.getKeyPrimitives()
        let jwk = try JSONWebKey(members: [
            "kty": "RSA", "kid": "key", "n": Base64URL.encode(numbers.modulus),
            "e": Base64URL.encode(numbers.publicExponent),
        ])
        let now = Int(Date().timeIntervalSince1970)
        let claims = #"{"sub":"u1","aud":"\#(audience)","iat":\#(now),"exp":\#(now + 300),"role":"member"}"#
        let input = [#"{"alg":"RS256","typ":"JWT","kid":"key"}"#, claims].map { Base64URL.encode($0.utf8) }
            .joined(separator: ".")
        let signature = try key.signature(for: SHA256.hash(data: Data(input.utf8)), padding: .insecurePKCS1v1_5)
        return ("\(input).\(Base64URL.encode(signature.rawRepresentation))", jwk)
    }

    /// Checks a second, one after the other, as `POST /sync/stream` checks them.
    private static func checks(_ name: String, _ token: String, _ key: JSONWebKey) async throws {
        let header = "Token \(token)"
        let verifier = TokenVerifier(keys: [key], audience: [audience])
        let now = Date().timeIntervalSince1970
        var best = Duration.seconds(1_000_000)
        for _ in 0..<3 {
            let start = ContinuousClock.now
            for _ in 0..<count { _ = try await verifier.verify(authorization: header, now: now) }
            best = min(best, ContinuousClock.now - start)
        }
        Report.line(name, ours: Measurement(best: best).rate(of: count), floors: [])
    }
}

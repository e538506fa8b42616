import Crypto
import Foundation
import JWTKit
package import PowerSyncAuth
package import PowerSyncProtocol

/// A key pair of a test, for one algorithm; for HMAC, a secret.
///
/// Those of RSA are all the same one: making one takes a while.
package struct TestKeyPair {
    /// What verifies, with its algorithm.
    package let key: JSONWebKey
    /// The header of tokens.
    package let header: JSONObject
    /// Signs the first two parts of a token.
    package let sign: ([UInt8]) throws -> [UInt8]

    /// Makes a pair.
    package init(_ algorithm: SigningAlgorithm, id: String) async throws {
        var members: [String: String]
        switch algorithm {
        case .hs256, .hs384, .hs512:
            let secret = JSONWebKey(id: id, algorithm: algorithm, material: .symmetric(TestVerifier.secret))
            members = ["kty": "oct", "k": Base64URL.encode(TestVerifier.secret)]
            sign = { secret.sign($0)?.signature ?? [] }
        case .rs256, .rs384, .rs512, .ps256, .ps384, .ps512:
            let privateKey = try JWTKit.Insecure.RSA.PrivateKey(pem: RSATestKey.pem)
            let (modulus, exponent) = try privateKey.publicKey.getKeyPrimitives()
            members = ["kty": "RSA", "n": Base64URL.encode(modulus), "e": Base64URL.encode(exponent)]
            let digest: DigestAlgorithm =
                switch algorithm {
                case .rs384, .ps384: .sha384
                case .rs512, .ps512: .sha512
                default: .sha256
                }
            let keys = JWTKeyCollection()
            if [.ps256, .ps384, .ps512].contains(algorithm) {
                await keys.add(pss: privateKey, digestAlgorithm: digest, kid: JWKIdentifier(string: id))
            } else {
                await keys.add(rsa: privateKey, digestAlgorithm: digest, kid: JWKIdentifier(string: id))
            }
            let signer = try await keys.getKey(for: JWKIdentifier(string: id), alg: algorithm.rawValue)
            sign = { try signer.sign($0) }
        case .es256:
            let privateKey = P256.Signing.PrivateKey()
            members = Self.members(of: "P-256", privateKey.publicKey.rawRepresentation)
            sign = { Array(try privateKey.signature(for: $0).rawRepresentation) }
        case .es384:
            let privateKey = P384.Signing.PrivateKey()
            members = Self.members(of: "P-384", privateKey.publicKey.rawRepresentation)
            sign = { Array(try privateKey.signature(for: $0).rawRepresentation) }
        case .es512:
            let privateKey = P521.Signing.PrivateKey()
            members = Self.members(of: "P-521", privateKey.publicKey.rawRepresentation)
            sign = { Array(try privateKey.signature(for: $0).rawRepresentation) }
        case .eddsa:
            let privateKey = Curve25519.Signing.PrivateKey()
            let x = Base64URL.encode(privateKey.publicKey.rawRepresentation)
            members = ["kty": "OKP", "crv": "Ed25519", "x": x]
            sign = { Array(try privateKey.signature(for: $0)) }
        }
        members["alg"] = algorithm.rawValue
        members["kid"] = id
        key = try JSONWebKey(members: members)
        header = ["alg": .string(algorithm.rawValue), "kid": .string(id)]
    }

    /// The members of a key of an elliptic curve: the point is x, then y.
    private static func members(of curve: String, _ point: Data) -> [String: String] {
        let length = point.count / 2
        return [
            "kty": "EC", "crv": curve, "x": Base64URL.encode(point.prefix(length)),
            "y": Base64URL.encode(point.suffix(length)),
        ]
    }
}

extension JSONWebKey {
    /// The key for every algorithm of its type.
    package var withoutAlgorithm: JSONWebKey {
        var key = self
        key.algorithm = nil
        return key
    }

    /// The key for tokens with any `kid`.
    package var wildcard: JSONWebKey {
        var key = self
        key.id = nil
        return key
    }
}

import Crypto
import JWTKit
import PowerSyncProtocol

extension JSONWebKey {
    /// The shortest RSA modulus that is accepted, in bits.
    package static let minimumModulusBits = 2048
    /// The shortest secret, in bytes: what the shortest of the hashes yields (RFC 7518, 3.2).
    package static let minimumSecretBytes = 32

    /// Checks that the numbers of a public key make a key.
    package func checkMaterial() async throws(JSONWebKeyError) {
        if case .symmetric(let secret) = material, secret.count < Self.minimumSecretBytes {
            throw JSONWebKeyError(
                member: "k",
                message:
                    "the secret has \(secret.count.counted("byte")); with fewer than \(Self.minimumSecretBytes) it can be guessed"
            )
        }
        guard case .asymmetric(let jwk, let type, _) = material else { return }
        // Short keys are rejected when used, not at start.
        if tooShortModulus != nil { return }
        let algorithm = algorithm ?? (type == .rsa ? .rs256 : .eddsa)
        do {
            _ = try await Self.verifier(jwk, algorithm)
        } catch {
            throw JSONWebKeyError(member: "kty", message: "not a valid key of type \(type.rawValue)")
        }
    }

    /// The bits of an RSA key that is too short; `nil` for every other key.
    package var tooShortModulus: Int? {
        guard case .asymmetric(_, _, let bits?) = material, bits < Self.minimumModulusBits else { return nil }
        return bits
    }

    /// A collection remembers the first algorithm of a key without `alg`, so each verifier gets its own.
    static func verifier(_ jwk: JWK, _ algorithm: SigningAlgorithm) async throws -> any JWTAlgorithm {
        let keys = JWTKeyCollection()
        try await keys.add(jwk: jwk)
        return try await keys.getKey(for: jwk.keyIdentifier, alg: algorithm.rawValue)
    }

    /// Signs with a shared secret.
    ///
    /// - Returns: `nil` for a public key, which cannot sign.
    package func sign(_ input: [UInt8]) -> (algorithm: SigningAlgorithm, signature: [UInt8])? {
        guard case .symmetric(let secret) = material else { return nil }
        let key = SymmetricKey(data: secret)
        let algorithm = algorithm ?? .hs256
        switch algorithm {
        case .hs384: return (algorithm, Array(HMAC<SHA384>.authenticationCode(for: input, using: key)))
        case .hs512: return (algorithm, Array(HMAC<SHA512>.authenticationCode(for: input, using: key)))
        default: return (.hs256, Array(HMAC<SHA256>.authenticationCode(for: input, using: key)))
        }
    }
}

import Crypto
import JWTKit
import PowerSyncProtocol

extension JSONWebKey {
    /// The shortest RSA modulus that is accepted, in bits.
    static let minimumModulusBits = 2048
    /// The shortest secret, in bytes: what the shortest of the hashes yields (RFC 7518, 3.2).
    package static let minimumSecretBytes = 32

    /// Whether a signature was made with this key.
    ///
    /// - Parameters:
    ///   - signature: The bytes of the signature.
    ///   - input: What was signed: the first two parts of the token with the dot between.
    ///   - algorithm: An algorithm that ``matches(_:)`` this key.
    /// - Returns: `false` also for a signature of the wrong length, and for a key that must not be used.
    func isValid(_ signature: [UInt8], for input: [UInt8], algorithm: SigningAlgorithm) async -> Bool {
        switch material {
        case .symmetric(let secret):
            // Not through JWTKit, which asserts that a secret is as long as the hash; ours comes from a file.
            let key = SymmetricKey(data: secret)
            switch algorithm {
            case .hs256: return HMAC<SHA256>.isValidAuthenticationCode(signature, authenticating: input, using: key)
            case .hs384: return HMAC<SHA384>.isValidAuthenticationCode(signature, authenticating: input, using: key)
            case .hs512: return HMAC<SHA512>.isValidAuthenticationCode(signature, authenticating: input, using: key)
            case .rs256, .rs384, .rs512, .es256, .es384, .es512, .eddsa: return false
            }
        case .asymmetric(let jwk, _, let modulusBits):
            if let modulusBits, modulusBits < Self.minimumModulusBits { return false }
            guard let verifier = try? await Self.verifier(jwk, algorithm) else { return false }
            // A signature of the wrong length is an error for some algorithms, and simply not valid for us.
            return (try? verifier.verify(signature, signs: input)) ?? false
        }
    }

    /// Checks that the numbers of a public key make a key.
    package func checkMaterial() async throws(JSONWebKeyError) {
        if case .symmetric(let secret) = material, secret.count < Self.minimumSecretBytes {
            throw JSONWebKeyError(
                member: "k",
                message:
                    "the secret has \(secret.count) bytes; with fewer than \(Self.minimumSecretBytes) it can be guessed"
            )
        }
        guard case .asymmetric(let jwk, let type, let modulusBits) = material else { return }
        // Short keys are rejected when used, not at start.
        if let modulusBits, modulusBits < Self.minimumModulusBits { return }
        let algorithm = algorithm ?? (type == .rsa ? .rs256 : .eddsa)
        do {
            _ = try await Self.verifier(jwk, algorithm)
        } catch {
            throw JSONWebKeyError(member: "kty", message: "not a valid key of type \(type.rawValue)")
        }
    }

    /// A collection remembers the first algorithm of a key without `alg`, so each verification gets its own.
    private static func verifier(_ jwk: JWK, _ algorithm: SigningAlgorithm) async throws -> any JWTAlgorithm {
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

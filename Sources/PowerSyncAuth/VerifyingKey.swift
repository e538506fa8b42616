import Crypto
import JWTKit
import NIOConcurrencyHelpers

/// A key with what checking signatures with it needs.
///
/// A public key is read once for each algorithm: reading one takes longer than a check.
package struct VerifyingKey: Sendable {
    package let key: JSONWebKey
    /// What holds for tokens that are signed with it.
    package let rules: TokenRules
    /// `nil` for a key that cannot be read.
    private let verifiers = NIOLockedValueBox<[SigningAlgorithm: (any JWTAlgorithm)?]>([:])
    private let read: @Sendable (JWK, SigningAlgorithm) async throws -> any JWTAlgorithm

    /// Creates a key.
    package init(_ key: JSONWebKey, rules: TokenRules = TokenRules()) {
        self.init(key, rules: rules) { try await JSONWebKey.verifier($0, $1) }
    }

    /// Creates a key.
    ///
    /// - Parameters:
    ///   - key: The key.
    ///   - rules: What holds for tokens that are signed with it.
    ///   - read: Reads a public key for an algorithm.
    init(
        _ key: JSONWebKey,
        rules: TokenRules = TokenRules(),
        read: @escaping @Sendable (JWK, SigningAlgorithm) async throws -> any JWTAlgorithm
    ) {
        self.key = key
        self.rules = rules
        self.read = read
    }

    /// Whether a signature was made with this key.
    ///
    /// - Parameters:
    ///   - signature: The bytes of the signature.
    ///   - input: What was signed: the first two parts of the token with the dot between.
    ///   - algorithm: An algorithm that ``JSONWebKey/matches(_:)`` this key.
    /// - Returns: `false` also for a signature of the wrong length, and for a key that must not be used.
    func isValid(_ signature: [UInt8], for input: [UInt8], algorithm: SigningAlgorithm) async -> Bool {
        switch key.material {
        case .symmetric(let secret):
            // Not through JWTKit, which asserts that a secret is as long as the hash; ours comes from a file.
            let key = SymmetricKey(data: secret)
            switch algorithm {
            case .hs256: return HMAC<SHA256>.isValidAuthenticationCode(signature, authenticating: input, using: key)
            case .hs384: return HMAC<SHA384>.isValidAuthenticationCode(signature, authenticating: input, using: key)
            case .hs512: return HMAC<SHA512>.isValidAuthenticationCode(signature, authenticating: input, using: key)
            case .rs256, .rs384, .rs512, .ps256, .ps384, .ps512, .es256, .es384, .es512, .eddsa: return false
            }
        case .asymmetric(let jwk, _, let modulusBits):
            if let modulusBits, modulusBits < JSONWebKey.minimumModulusBits { return false }
            // A signature of the wrong length is an error for some algorithms, and simply not valid for us.
            return (try? await verifier(jwk, algorithm)?.verify(signature, signs: input)) ?? false
        }
    }

    private func verifier(_ jwk: JWK, _ algorithm: SigningAlgorithm) async -> (any JWTAlgorithm)? {
        if let known = verifiers.withLockedValue({ $0[algorithm] }) { return known }
        let verifier = try? await read(jwk, algorithm)
        // Two may have read it at the same time, and have got the same.
        verifiers.withLockedValue { $0[algorithm] = .some(verifier) }
        return verifier
    }
}

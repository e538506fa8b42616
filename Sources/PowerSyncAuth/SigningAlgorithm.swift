/// The accepted values of a token's `alg`.
///
/// `none` is not among them.
package enum SigningAlgorithm: String, Sendable, CaseIterable {
    case hs256 = "HS256"
    case hs384 = "HS384"
    case hs512 = "HS512"
    case rs256 = "RS256"
    case rs384 = "RS384"
    case rs512 = "RS512"
    case ps256 = "PS256"
    case ps384 = "PS384"
    case ps512 = "PS512"
    case es256 = "ES256"
    case es384 = "ES384"
    case es512 = "ES512"
    case eddsa = "EdDSA"

    /// The algorithm that a token or a key names.
    ///
    /// - Parameter name: The value of `alg`: a raw value, or `Ed25519`, what RFC 9864 calls EdDSA with keys of that curve.
    package init?(name: String) {
        self.init(rawValue: name == "Ed25519" ? Self.eddsa.rawValue : name)
    }

    /// The type of the keys that can be used, as in a JWK's `kty`.
    var keyType: JSONWebKey.KeyType {
        switch self {
        case .hs256, .hs384, .hs512: .symmetric
        case .rs256, .rs384, .rs512, .ps256, .ps384, .ps512: .rsa
        case .es256, .es384, .es512: .ellipticCurve
        case .eddsa: .octetKeyPair
        }
    }

    /// The names of all, for messages.
    static let names = allCases.map { $0 == .eddsa ? "EdDSA (Ed25519)" : $0.rawValue }.joined(separator: ", ")

    /// Why an algorithm is not among the accepted ones.
    ///
    /// - Parameter name: The value of `alg`, or the curve of a key, which has one algorithm.
    /// - Returns: A reason; `nil` when the name is not known at all.
    static func refusal(of name: String) -> String? {
        switch name {
        case "ES256K", "secp256k1": "no library that checks signatures here has the curve secp256k1"
        case "Ed448": "no library that checks signatures here has the curve Ed448"
        case "none": "it is no signature"
        case "RSA1_5", "RSA-OAEP", "RSA-OAEP-256", "RSA-OAEP-384", "RSA-OAEP-512", "ECDH-ES", "ECDH-ES+A128KW",
            "ECDH-ES+A192KW", "ECDH-ES+A256KW", "X25519", "X448":
            "it is for encryption"
        default: nil
        }
    }
}

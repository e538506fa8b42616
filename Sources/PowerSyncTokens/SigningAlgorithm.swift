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
    case es256 = "ES256"
    case es384 = "ES384"
    case es512 = "ES512"
    case eddsa = "EdDSA"

    /// The type of the keys that can be used, as in a JWK's `kty`.
    var keyType: JSONWebKey.KeyType {
        switch self {
        case .hs256, .hs384, .hs512: .symmetric
        case .rs256, .rs384, .rs512: .rsa
        case .es256, .es384, .es512: .ellipticCurve
        case .eddsa: .octetKeyPair
        }
    }
}

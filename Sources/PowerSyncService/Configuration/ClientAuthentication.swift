import PowerSyncServiceCore
import PowerSyncTokens
/// How clients' tokens are checked.
public struct ClientAuthentication: Sendable {
    /// The keys, in the order in which they are tried.
    public var keys: [ClientKey] = []
    /// The audiences that tokens may have.
    ///
    /// With none, every token is rejected.
    public var audience: [String] = []

    /// Creates an authentication without keys, which rejects every token.
    public init() {}
}

/// A key that verifies clients' tokens.
public struct ClientKey: Sendable {
    let key: JSONWebKey

    /// A shared secret for HS256.
    ///
    /// - Parameters:
    ///   - secret: The bytes of the secret, at least 32 for real use.
    ///   - id: The key id (`kid`). A key without one is tried for every HS256 token whose own `kid` is unknown.
    /// - Returns: The key.
    public static func hs256(secret: [UInt8], id: String?) -> ClientKey {
        ClientKey(key: JSONWebKey(id: id, algorithm: .hs256, material: .symmetric(secret)))
    }

    /// A JSON Web Key (RFC 7517) of type `oct`, `RSA`, `EC` or `OKP`; all but `RSA` need `alg`, and `RSA` needs `kid`.
    ///
    /// - Parameter json: The key as JSON text.
    /// - Returns: The key.
    /// - Throws: `ServiceError` with code `invalidConfiguration` when a member is missing or wrong, `unsupported` for
    ///   the curve Ed448.
    public static func jwk(json: String) throws(ServiceError) -> ClientKey {
        do {
            return ClientKey(key: try JSONWebKey(json: json))
        } catch {
            throw ServiceError(
                error.isUnsupported ? .unsupported : .invalidConfiguration,
                error.message,
                key: error.member
            )
        }
    }
}

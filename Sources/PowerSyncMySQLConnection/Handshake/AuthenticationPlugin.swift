import Crypto
import _CryptoExtras

/// How an account proves that it knows its password.
enum AuthenticationPlugin: String {
    /// `SHA1(password) XOR SHA1(seed + SHA1(SHA1(password)))`.
    case native = "mysql_native_password"
    /// `SHA256(password) XOR SHA256(SHA256(SHA256(password)) + seed)`; the password itself when the server has forgotten its digest.
    case cachingSHA2 = "caching_sha2_password"

    /// The answer to a seed.
    ///
    /// - Parameters:
    ///   - seed: Twenty bytes.
    ///   - password: The password.
    /// - Returns: 20 or 32 bytes; none for an empty password.
    func response(to seed: [UInt8], password: String) -> [UInt8] {
        guard !password.isEmpty else { return [] }
        switch self {
        case .native:
            let once = Insecure.SHA1.hash(data: Array(password.utf8))
            let twice = Insecure.SHA1.hash(data: Array(once))
            return zip(once, Insecure.SHA1.hash(data: seed + Array(twice))).map { $0 ^ $1 }
        case .cachingSHA2:
            let once = SHA256.hash(data: Array(password.utf8))
            let twice = SHA256.hash(data: Array(once))
            return zip(once, SHA256.hash(data: Array(twice) + seed)).map { $0 ^ $1 }
        }
    }

    /// The password under a server's public key, as `caching_sha2_password` wants it without TLS.
    ///
    /// - Parameters:
    ///   - password: The password.
    ///   - seed: Twenty bytes.
    ///   - key: PEM.
    /// - Returns: As many bytes as the key has.
    /// - Throws: For a text that is no key.
    static func encrypted(_ password: String, seed: [UInt8], key: String) throws -> [UInt8] {
        let bytes = (Array(password.utf8) + [0]).enumerated().map { $0.element ^ seed[$0.offset % seed.count] }
        return Array(try _RSA.Encryption.PublicKey(pemRepresentation: key).encrypt(bytes, padding: .PKCS1_OAEP))
    }
}

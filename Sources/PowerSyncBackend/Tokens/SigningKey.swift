import Crypto
import Foundation
import PowerSyncProtocol
package import PowerSyncAuth

/// A key that signs tokens for the sync service.
///
/// ```swift
/// let key = try SigningKey(jwk: environment["SYNC_TOKEN_KEY"])  // made once, with SigningKey.es256(id:).jwk
/// ```
///
/// With ``es256(id:)`` and ``eddsa(id:)`` the sync service has the public half, and cannot make tokens itself. A secret for
/// ``hs256(secret:id:)`` is at both ends.
public struct SigningKey: Sendable {
    private enum Material: Sendable {
        case hmac(secret: [UInt8], SigningAlgorithm)
        case p256(P256.Signing.PrivateKey)
        case ed25519(Curve25519.Signing.PrivateKey)
    }

    /// What the key is called in tokens and in the key set: `kid`.
    public let id: String?
    private let material: Material

    private init(id: String?, _ material: Material) {
        self.id = id
        self.material = material
    }

    /// A shared secret for HS256.
    ///
    /// - Parameters:
    ///   - secret: At least 32 random bytes.
    ///   - id: The `kid`.
    /// - Returns: The key.
    /// - Throws: ``TokenError`` with code ``TokenError/Code/key`` when the secret is too short.
    public static func hs256(secret: some Sequence<UInt8>, id: String) throws(TokenError) -> SigningKey {
        SigningKey(id: id, .hmac(secret: try checked(secret: Array(secret)), .hs256))
    }

    private static func checked(secret: [UInt8]) throws(TokenError) -> [UInt8] {
        guard secret.count >= JSONWebKey.minimumSecretBytes else {
            throw TokenError(
                .key,
                "the secret has \(secret.count.counted("byte")); with fewer than \(JSONWebKey.minimumSecretBytes) it can be guessed"
            )
        }
        return secret
    }

    /// A new random key for ES256, on the curve P-256.
    ///
    /// - Parameter id: The `kid`, which no other key may have.
    /// - Returns: The key; keep its ``jwk``.
    public static func es256(id: String) -> SigningKey {
        SigningKey(id: id, .p256(P256.Signing.PrivateKey()))
    }

    /// A key for ES256.
    ///
    /// - Parameters:
    ///   - pem: A private key on the curve P-256, between its `BEGIN` and `END` lines.
    ///   - id: The `kid`.
    /// - Returns: The key.
    /// - Throws: ``TokenError`` with code ``TokenError/Code/key`` when it is something else.
    public static func es256(pem: String, id: String) throws(TokenError) -> SigningKey {
        do {
            return SigningKey(id: id, .p256(try P256.Signing.PrivateKey(pemRepresentation: pem)))
        } catch {
            throw TokenError(.key, "the text is not a private key of the curve P-256 in PEM form")
        }
    }

    /// A new random key for EdDSA, on the curve Ed25519.
    ///
    /// - Parameter id: The `kid`, which no other key may have.
    /// - Returns: The key; keep its ``jwk``.
    public static func eddsa(id: String) -> SigningKey {
        SigningKey(id: id, .ed25519(Curve25519.Signing.PrivateKey()))
    }

    /// A key with a shared secret that the service's configuration has.
    ///
    /// - Returns: `nil` for a public key.
    package init?(_ key: JSONWebKey) {
        guard case .symmetric(let secret) = key.material else { return nil }
        self.init(id: key.id, .hmac(secret: secret, key.algorithm ?? .hs256))
    }
}

// MARK: - JSON Web Keys

extension SigningKey {
    /// Reads a private key from a JSON Web Key (RFC 7517), as ``jwk`` writes it.
    ///
    /// - Parameter jwk: JSON text with `kty` `oct`, `EC` (P-256) or `OKP` (Ed25519), `kid`, and `k` or `d`, which may end with
    ///   the `=` of padded base64. A secret is for HS256 if `alg` names no other algorithm.
    /// - Throws: ``TokenError`` with code ``TokenError/Code/key``, without any of the key in its message.
    public init(jwk: String) throws(TokenError) {
        guard let object = try? JSONObject(parsing: jwk) else { throw TokenError(.key, "the key is not a JSON object") }
        func member(_ name: String) throws(TokenError) -> String {
            guard case .string(let text) = object[name], !text.isEmpty else {
                throw TokenError(.key, "the key needs a text as \"\(name)\"")
            }
            return text
        }
        func bytes(_ name: String) throws(TokenError) -> [UInt8] {
            guard let bytes = Base64URL.decode(try member(name).trimmingPadding(), spareBits: .ignored) else {
                throw TokenError(.key, "\"\(name)\" of the key is not base64url")
            }
            return bytes
        }
        /// The algorithm that the key names, or the first one that it can be for.
        func algorithm(_ suitable: SigningAlgorithm...) throws(TokenError) -> SigningAlgorithm {
            guard object["alg"] != nil, object["alg"] != .null else { return suitable[0] }
            let name = try member("alg")
            guard let named = suitable.first(where: { $0.rawValue == name }) else {
                throw TokenError(
                    .key,
                    "\"alg\" of the key is none that goes with it: \(suitable.map(\.rawValue).joined(separator: ", "))"
                )
            }
            return named
        }
        let id = try member("kid")
        switch (try member("kty"), try? member("crv")) {
        case ("oct", _):
            let algorithm = try algorithm(.hs256, .hs384, .hs512)
            self.init(id: id, .hmac(secret: try Self.checked(secret: try bytes("k")), algorithm))
        case ("EC", "P-256"):
            _ = try algorithm(.es256)
            guard let key = try? P256.Signing.PrivateKey(rawRepresentation: try bytes("d")) else {
                throw TokenError(.key, "\"d\" of the key is no private key of the curve P-256")
            }
            self.init(id: id, .p256(key))
        case ("OKP", "Ed25519"):
            // RFC 9864 has another name for it.
            if object["alg"] != "Ed25519" { _ = try algorithm(.eddsa) }
            guard let key = try? Curve25519.Signing.PrivateKey(rawRepresentation: try bytes("d")) else {
                throw TokenError(.key, "\"d\" of the key is no private key of the curve Ed25519")
            }
            self.init(id: id, .ed25519(key))
        case (let type, let curve):
            throw TokenError(
                .key,
                "a key of type \(type)\(curve.map { " on the curve \($0)" } ?? "") cannot sign; use oct, EC on P-256, or OKP on Ed25519"
            )
        }
    }

    /// The key with its private half as a JSON Web Key: a secret, to be kept where the backend finds it at its next start.
    public var jwk: String {
        var members = publicMembers
        switch material {
        case .hmac(let secret, _): members["k"] = .string(Base64URL.encode(secret))
        case .p256(let key): members["d"] = .string(Base64URL.encode(key.rawRepresentation))
        case .ed25519(let key): members["d"] = .string(Base64URL.encode(key.rawRepresentation))
        }
        return members.text
    }

    /// The public half as a JSON Web Key, for the configuration of the sync service; `nil` for a shared secret.
    public var publicJWK: String? {
        if case .hmac = material { return nil }
        return publicMembers.text
    }

    /// The members without the private half.
    private var publicMembers: JSONObject {
        var members = JSONObject()
        switch material {
        case .hmac:
            members = ["kty": "oct"]
        case .p256(let key):
            let point = key.publicKey.rawRepresentation
            members = [
                "kty": "EC", "crv": "P-256", "x": .string(Base64URL.encode(point.prefix(32))),
                "y": .string(Base64URL.encode(point.suffix(32))),
            ]
        case .ed25519(let key):
            members = ["kty": "OKP", "crv": "Ed25519", "x": .string(Base64URL.encode(key.publicKey.rawRepresentation))]
        }
        if let id { members["kid"] = .string(id) }
        members["alg"] = .string(algorithm.rawValue)
        members["use"] = "sig"
        return members
    }

    /// What the key verifies with.
    package var verifying: JSONWebKey {
        get throws(TokenError) {
            if case .hmac(let secret, let algorithm) = material {
                return JSONWebKey(id: id, algorithm: algorithm, material: .symmetric(secret))
            }
            do {
                return try JSONWebKey(json: publicMembers.text)
            } catch {
                throw TokenError(.key, error.message)
            }
        }
    }
}

// MARK: - Signing

extension SigningKey {
    /// The algorithm of the signatures.
    var algorithm: SigningAlgorithm {
        switch material {
        case .hmac(_, let algorithm): algorithm
        case .p256: .es256
        case .ed25519: .eddsa
        }
    }

    /// Signs the first two parts of a token.
    func sign(_ input: [UInt8]) throws(TokenError) -> [UInt8] {
        do {
            switch material {
            case .hmac(let secret, let algorithm):
                let key = JSONWebKey(id: id, algorithm: algorithm, material: .symmetric(secret))
                return key.sign(input)?.signature ?? []
            case .p256(let key): return Array(try key.signature(for: input).rawRepresentation)
            case .ed25519(let key): return Array(try key.signature(for: input))
            }
        } catch {
            throw TokenError(.key, "the key cannot sign: \(error)")
        }
    }
}

extension SigningKey: CustomStringConvertible, CustomDebugStringConvertible {
    /// The id and the algorithm, and nothing of the key.
    public var description: String { "SigningKey(id: \(id ?? "none"), \(algorithm.rawValue))" }

    /// The same as ``description``.
    public var debugDescription: String { description }
}

extension SigningKey: CustomReflectable {
    /// Shows the id only, so that a dump has nothing of the key.
    public var customMirror: Mirror { Mirror(self, children: ["id": id as Any]) }
}

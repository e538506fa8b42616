package import JWTKit
import PowerSyncProtocol

/// A key that verifies tokens (docs/service.md "Authentication").
package struct JSONWebKey: Sendable {
    /// The values of `kty`.
    package enum KeyType: String, Sendable {
        case symmetric = "oct"
        case rsa = "RSA"
        case ellipticCurve = "EC"
        case octetKeyPair = "OKP"
    }

    /// The key itself.
    package enum Material: Sendable {
        /// The bytes of a shared secret.
        case symmetric([UInt8])
        /// A public key.
        case asymmetric(JWK, KeyType, modulusBits: Int?)
    }

    /// The `kid`; a key without one is a wildcard.
    package var id: String?
    /// The only algorithm that the key is for.
    ///
    /// Without one, the type of the key decides.
    package var algorithm: SigningAlgorithm?
    /// The key itself.
    package var material: Material

    /// Creates a key.
    ///
    /// - Parameters:
    ///   - id: The `kid`.
    ///   - algorithm: The only algorithm that the key is for.
    ///   - material: The key itself.
    package init(id: String?, algorithm: SigningAlgorithm?, material: Material) {
        self.id = id
        self.algorithm = algorithm
        self.material = material
    }

    /// The type of the key.
    package var type: KeyType {
        switch material {
        case .symmetric: .symmetric
        case .asymmetric(_, let type, _): type
        }
    }

    /// Whether tokens signed with an algorithm may be verified with this key.
    package func matches(_ algorithm: SigningAlgorithm) -> Bool {
        if let own = self.algorithm { return own == algorithm }
        return algorithm.keyType == type
    }
}

/// What is wrong with a configured key.
package struct JSONWebKeyError: Error {
    /// The member of the JWK.
    package var member: String
    /// What to change.
    ///
    /// Never contains key material.
    package var message: String
    /// Whether the key is valid, but of a kind that this version does not support.
    package var isUnsupported = false
}

extension JSONWebKey {
    /// Reads a JWK from JSON text.
    package init(json: String) throws(JSONWebKeyError) {
        let object: JSONObject
        do {
            object = try JSONObject(parsing: json)
        } catch {
            throw JSONWebKeyError(member: "jwk", message: "not a JSON object: \(error)")
        }
        var members: [String: String] = [:]
        for member in object.members {
            if case .string(let text) = member.value { members[member.name] = text }
        }
        try self.init(members: members)
    }

    /// Reads a JWK from its members with text values; others are not needed.
    ///
    /// - Parameters:
    ///   - members: The members.
    ///   - requiresID: Whether an RSA key has to have a `kid`.
    /// - Throws: ``JSONWebKeyError``, which names the member.
    package init(members: [String: String], requiresID: Bool = true) throws(JSONWebKeyError) {
        func required(_ name: String) throws(JSONWebKeyError) -> String {
            guard let value = members[name], !value.isEmpty else {
                throw JSONWebKeyError(member: name, message: "a key of type \(members["kty"] ?? "?") needs \"\(name)\"")
            }
            return value
        }
        guard let type = KeyType(rawValue: try required("kty")) else {
            throw JSONWebKeyError(member: "kty", message: "\"\(members["kty"] ?? "")\" is not one of oct, RSA, EC, OKP")
        }
        id = members["kid"]
        // What a curve is not supported for is said first: such a key may be without an algorithm, or with one that is as little known.
        for name in [members["crv"], members["alg"]].compactMap(\.self) where type != .symmetric {
            guard let reason = SigningAlgorithm.refusal(of: name) else { continue }
            let member = name == members["crv"] ? "crv" : "alg"
            throw JSONWebKeyError(member: member, message: "\(name) is not supported: \(reason)", isUnsupported: true)
        }
        switch members["alg"] {
        case nil where type == .rsa: algorithm = nil
        case nil: throw JSONWebKeyError(member: "alg", message: "a key of type \(type.rawValue) needs \"alg\"")
        case .some(let name):
            guard let known = SigningAlgorithm(name: name) else {
                throw JSONWebKeyError(
                    member: "alg",
                    message:
                        "\"\(name)\" is not an algorithm for signatures that is known here: \(SigningAlgorithm.names)"
                )
            }
            guard known.keyType == type else {
                throw JSONWebKeyError(
                    member: "alg",
                    message: "\"\(name)\" is not an algorithm for keys of type \(type.rawValue)"
                )
            }
            algorithm = known
        }

        switch type {
        case .symmetric:
            guard let secret = Base64URL.decode(try required("k").trimmingPadding(), spareBits: .ignored),
                !secret.isEmpty
            else {
                throw JSONWebKeyError(member: "k", message: "the secret is not base64url")
            }
            material = .symmetric(secret)
        case .rsa:
            if requiresID, id == nil {
                throw JSONWebKeyError(member: "kid", message: "a key of type RSA needs \"kid\"")
            }
            let modulus = try required("n")
            guard let bytes = Base64URL.decode(modulus.trimmingPadding()) else {
                throw JSONWebKeyError(member: "n", message: "the modulus is not base64url")
            }
            let jwk = JWK.rsa(
                nil,
                identifier: JWKIdentifier(string: id ?? ""),
                modulus: modulus,
                exponent: try required("e")
            )
            material = .asymmetric(jwk, type, modulusBits: bytes.significantBits)
        case .ellipticCurve:
            let curve = try required("crv")
            guard let known = Self.curves[curve] else {
                throw JSONWebKeyError(member: "crv", message: "\"\(curve)\" is not one of P-256, P-384, P-521")
            }
            if let algorithm, algorithm != known.algorithm {
                throw JSONWebKeyError(
                    member: "alg",
                    message: "\(algorithm.rawValue) does not go with the curve \(curve)"
                )
            }
            let jwk = JWK.ecdsa(
                nil,
                identifier: JWKIdentifier(string: id ?? ""),
                x: try required("x"),
                y: try required("y"),
                curve: known.curve
            )
            material = .asymmetric(jwk, type, modulusBits: nil)
        case .octetKeyPair:
            let curve = try required("crv")
            guard curve == "Ed25519" else {
                throw JSONWebKeyError(member: "crv", message: "\"\(curve)\" is not Ed25519")
            }
            let jwk = JWK.octetKeyPair(
                nil,
                identifier: JWKIdentifier(string: id ?? ""),
                x: try required("x"),
                y: nil,
                curve: .ed25519
            )
            material = .asymmetric(jwk, type, modulusBits: nil)
        }
    }

    private static let curves: [String: (curve: ECDSACurve, algorithm: SigningAlgorithm)] = [
        "P-256": (.p256, .es256), "P-384": (.p384, .es384), "P-521": (.p521, .es512),
    ]
}

extension String {
    /// The text without the `=` that padded base64 ends with.
    package func trimmingPadding() -> Substring {
        var text = self[...]
        while text.last == "=" { text.removeLast() }
        return text
    }
}

extension [UInt8] {
    /// The number of bits of a big-endian integer, without leading zeros.
    fileprivate var significantBits: Int {
        guard let first = firstIndex(where: { $0 != 0 }) else { return 0 }
        return (count - first) * 8 - self[first].leadingZeroBitCount
    }
}

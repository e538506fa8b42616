import PowerSyncProtocol

/// A JSON Web Key Set (RFC 7517, 5), as servers of identity providers answer with one.
///
/// Used are the public keys that can verify tokens. Secrets are not, since every reader of the document would know them, and neither are
/// keys for encryption, and those that are broken or of a kind that is not supported. A key of an elliptic curve does not have to name
/// its algorithm here.
package struct KeySetDocument: Sendable {
    /// The most keys of a set that are used: each token with the `kid` of all of them is checked with all of them.
    package static let maximumKeys = 100

    /// The keys in their order.
    package var keys: [JSONWebKey] = []
    /// The other ones.
    package var leftOut: [LeftOutKey] = []

    /// A set with these keys.
    package init(keys: [JSONWebKey]) {
        self.keys = keys
    }

    /// Reads a document.
    ///
    /// - Parameter json: The document.
    /// - Throws: An ``AuthorizationError`` with `PSYNC_S2204` when it is no key set.
    package init(json: String) throws(AuthorizationError) {
        let invalid = AuthorizationError(.keySetRequest, "Invalid JWKS response")
        guard let document = try? JSONObject(parsing: json), case .array(let entries) = document["keys"] else {
            throw invalid
        }
        for entry in entries {
            guard case .object(let entry) = entry else { throw invalid }
            do throws(JSONWebKeyError) {
                if let reason = Self.otherUse(of: entry) { throw JSONWebKeyError(member: "use", message: reason) }
                let key = try JSONWebKey(members: Self.members(of: entry), requiresID: false)
                guard keys.count < Self.maximumKeys else {
                    throw JSONWebKeyError(member: "keys", message: "the set has more than \(Self.maximumKeys) keys")
                }
                keys.append(key)
            } catch {
                leftOut.append(LeftOutKey(Self.members(of: entry), reason: error.message))
            }
        }
    }

    /// For what else a key is than for verifying tokens; `nil` when it is for that.
    private static func otherUse(of key: JSONObject) -> String? {
        if key["kty"] == "oct" { return "secrets in a key set are known to whoever reads it" }
        switch key["use"] {
        case nil, .string("sig"): break
        case .string("enc"): return "it is for encryption"
        case .some: return "\"use\" is not sig"
        }
        switch key["key_ops"] {
        case nil: return nil
        case .array(let operations) where operations.contains(.string("verify")): return nil
        case .some: return "\"key_ops\" does not have verify"
        }
    }

    private static func members(of key: JSONObject) -> [String: String] {
        var members: [String: String] = [:]
        for member in key.members {
            if case .string(let text) = member.value { members[member.name] = text }
        }
        let algorithms = ["P-256": "ES256", "P-384": "ES384", "P-521": "ES512", "Ed25519": "EdDSA"]
        if members["alg"] == nil, members["kty"] != "RSA" { members["alg"] = members["crv"].flatMap { algorithms[$0] } }
        return members
    }
}

/// A key of a set that no token is checked with.
package struct LeftOutKey: Sendable, Hashable, CustomStringConvertible {
    /// How much of a text of the key is shown, in Unicode scalars.
    private static let shownLength = 60

    /// The `kid`.
    package var id: String?
    /// What it is for: the algorithm, else the curve, else the type.
    package var kind: String
    /// Why it is left out.
    package var reason: String

    fileprivate init(_ members: [String: String], reason: String) {
        id = members["kid"]
        kind = members["alg"] ?? members["crv"] ?? members["kty"] ?? "?"
        self.reason = reason
    }

    /// Id, kind and reason: `2026 (ES256K): no library …`.
    package var description: String {
        "\(Self.shown(id ?? "*")) (\(Self.shown(kind))): \(reason)"
    }

    private static func shown(_ text: String) -> String { String(text.unicodeScalars.prefix(shownLength)) }
}

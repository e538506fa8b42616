import PowerSyncProtocol

/// A JSON Web Key Set (RFC 7517, 5), as servers of identity providers answer with one.
package enum KeySetDocument {
    /// Reads the keys that can verify tokens.
    ///
    /// Secrets are left out, since whoever can read the document would know them, and so are keys for encryption, and those that are
    /// broken or of a kind that is not supported. A key of an elliptic curve does not have to name its algorithm here.
    ///
    /// - Parameter json: The document.
    /// - Returns: The keys in their order.
    /// - Throws: An ``AuthorizationError`` with `PSYNC_S2204` when it is no key set.
    package static func keys(of json: String) throws(AuthorizationError) -> [JSONWebKey] {
        let invalid = AuthorizationError(.keySetRequest, "Invalid JWKS response")
        guard let document = try? JSONObject(parsing: json), case .array(let entries) = document["keys"] else {
            throw invalid
        }
        var keys: [JSONWebKey] = []
        for entry in entries {
            guard case .object(let key) = entry else { throw invalid }
            guard isForVerifying(key) else { continue }
            if let key = try? JSONWebKey(members: members(of: key), requiresID: false) { keys.append(key) }
        }
        return keys
    }

    private static func isForVerifying(_ key: JSONObject) -> Bool {
        guard case .string(let type) = key["kty"], ["RSA", "EC", "OKP"].contains(type) else { return false }
        switch key["use"] {
        case nil, .string("sig"): break
        default: return false
        }
        switch key["key_ops"] {
        case nil: return true
        case .array(let operations): return operations.contains(.string("verify"))
        default: return false
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

package import PowerSyncAuth
package import PowerSyncProtocol

/// A token made by a test, valid 100 s after 1767225600 unless changed.
package struct TestToken {
    package var header: JSONObject
    package var payload: JSONObject

    /// Makes a token of a header and a payload.
    package init(
        header: JSONObject = ["alg": "HS256", "kid": "test-1"],
        payload: JSONObject = ["sub": "u1", "aud": "powersync-dev", "iat": 1_767_225_600, "exp": 1_767_229_200]
    ) {
        self.header = header
        self.payload = payload
    }

    /// The token in compact form.
    package func signed(by sign: ([UInt8]) throws -> [UInt8]) rethrows -> String {
        let input = "\(Base64URL.encode(Array(header.text.utf8))).\(Base64URL.encode(Array(payload.text.utf8)))"
        return "\(input).\(Base64URL.encode(try sign(Array(input.utf8))))"
    }

    /// The token in compact form, signed with a shared secret.
    package func signed(with key: JSONWebKey) -> String {
        signed { key.sign($0)?.signature ?? [] }
    }
}

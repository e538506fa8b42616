package import PowerSyncAuth

/// What checks the tokens of tests, at the time that they are made for.
package enum TestVerifier {
    /// 100 s after `iat` of ``TestToken``.
    package static let now = 1_767_225_700.0
    package static let secret = Array("interop-test-key-0123456789abcdef".utf8)
    package static let key = JSONWebKey(id: "test-1", algorithm: .hs256, material: .symmetric(secret))

    /// A verifier with keys that are known from the beginning.
    package static func verifier(_ keys: [JSONWebKey] = [key]) -> TokenVerifier {
        TokenVerifier(keys: keys, audience: ["powersync-dev"])
    }

    /// The error for a token; `nil` when it is accepted.
    package static func failure(_ token: String, _ verifier: TokenVerifier = verifier()) async -> AuthorizationError? {
        do {
            _ = try await verifier.verify(token, now: now)
            return nil
        } catch {
            return error
        }
    }
}

import Foundation
import PowerSyncProtocol

/// Checks tokens (docs/service.md "Authentication").
///
/// Each check fails with its own code, in this order: form, algorithm, key, signature, claims.
package struct TokenVerifier: Sendable {
    /// How far clocks may differ, in seconds.
    package static let clockTolerance = 60.0
    /// The longest lifetime of a token, in seconds.
    package static let maximumLifetime = 86_400.0

    private let sources: [any KeySource]
    private let audience: [String]

    /// Creates a verifier.
    ///
    /// - Parameters:
    ///   - sources: Where keys come from, in the order in which wildcards are tried.
    ///   - audience: The accepted audiences.
    package init(sources: [any KeySource], audience: [String]) {
        self.sources = sources
        self.audience = audience
    }

    /// Creates a verifier with static keys.
    ///
    /// - Parameters:
    ///   - keys: The keys, in the order in which wildcards are tried.
    ///   - audience: The accepted audiences.
    package init(keys: [JSONWebKey], audience: [String]) {
        self.init(sources: [StaticKeys(keys)], audience: audience)
    }

    /// Checks the value of an `Authorization` header.
    ///
    /// - Parameters:
    ///   - header: The value; `nil` when the request has none.
    ///   - now: The time in seconds since 1970.
    /// - Returns: What the token says.
    /// - Throws: The failure of the first check that does not pass.
    package func verify(authorization header: String?, now: Double) async throws(AuthorizationError) -> VerifiedToken {
        guard let header, let token = Self.token(in: header) else { throw .missingToken }
        return try await verify(token, now: now)
    }

    /// The token in `Token …` or `Bearer …`: the scheme as written here, one space, nothing after the token.
    private static func token(in header: String) -> Substring? {
        for scheme in ["Token ", "Bearer "] where header.hasPrefix(scheme) {
            let token = header.dropFirst(scheme.count)
            guard !token.isEmpty, !token.contains(where: \.isWhitespace) else { return nil }
            return token
        }
        return nil
    }

    /// Checks a token.
    ///
    /// - Parameters:
    ///   - token: A JWT in compact form.
    ///   - now: The time in seconds since 1970.
    /// - Returns: What the token says.
    /// - Throws: The failure of the first check that does not pass.
    package func verify(_ token: some StringProtocol, now: Double) async throws(AuthorizationError) -> VerifiedToken {
        let parts = token.split(separator: ".", omittingEmptySubsequences: false)
        guard
            parts.count == 3, let header = Self.object(parts[0]), let payload = Self.object(parts[1]),
            let signature = Base64URL.decode(parts[2])
        else { throw .malformedToken }

        guard case .string(let name) = header["alg"], let algorithm = SigningAlgorithm(rawValue: name) else {
            throw AuthorizationError(.authentication, "\"alg\" (Algorithm) Header Parameter not allowed")
        }
        // What it lists must be understood, and nothing of it is.
        guard header["crit"] == nil else {
            throw AuthorizationError(.authentication, "\"crit\" (Critical) Header Parameter not allowed")
        }
        var keyID: String?
        if case .string(let id) = header["kid"] { keyID = id }
        let rules = try await checkSignature(
            signature,
            of: Array("\(parts[0]).\(parts[1])".utf8),
            algorithm: algorithm,
            keyID: keyID
        )
        return try checkClaims(payload, rules, now: now)
    }

    private static func object(_ part: some StringProtocol) -> JSONObject? {
        guard
            let bytes = Base64URL.decode(part), let text = String(bytes: bytes, encoding: .utf8)
        else { return nil }
        return try? JSONObject(parsing: text, hugeNumbers: .infinite)
    }

    // MARK: Keys

    /// Checks that a key has signed the token, and says what holds for those that it signs.
    private func checkSignature(
        _ signature: [UInt8],
        of input: [UInt8],
        algorithm: SigningAlgorithm,
        keyID: String?
    ) async throws(AuthorizationError) -> TokenRules {
        var keys: [VerifyingKey] = []
        var failure: AuthorizationError?
        var refusal: AuthorizationError?
        var awaited: [any KeySource] = []
        // What is known first, one source after the other: who has signed with such a key waits for no server.
        for source in sources {
            guard let known = source.knownKeys() else {
                awaited.append(source)
                continue
            }
            do throws(AuthorizationError) {
                let rules = try await rules(of: known.keys, for: signature, of: input, algorithm, keyID)
                if let rules { return rules }
            } catch {
                guard !awaited.isEmpty else { throw error }
                // A source before this one may have a key of the same name, which counts more.
                refusal = error
                break
            }
            keys += known.keys
            failure = failure ?? known.failure
        }
        for source in awaited {
            let current = await source.currentKeys()
            let rules = try await rules(of: current.keys, for: signature, of: input, algorithm, keyID)
            if let rules { return rules }
            keys += current.keys
            failure = failure ?? current.failure
        }
        if let refusal { throw refusal }
        // All of them, also when one could not be asked: another may have the key since it was asked last.
        for source in sources { source.keyWasMissing() }
        // A key that is missing because a source could not be asked may be the right one.
        throw failure ?? Self.missingKey(keyID, algorithm, known: keys)
    }

    private static func missingKey(
        _ keyID: String?,
        _ algorithm: SigningAlgorithm,
        known keys: [VerifyingKey]
    ) -> AuthorizationError {
        AuthorizationError(
            .authentication,
            "Could not find an appropriate key in the keystore. The key is missing or no key matched the token KID",
            // Whoever is not known may send as much as he likes.
            logDetails: "token kid: \(keyID.map { Substring($0.unicodeScalars.prefix(200)) } ?? "none"), "
                + "alg: \(algorithm.rawValue), known keys: "
                + keys.prefix(20).map(\.key).map { "\($0.id ?? "*") (\($0.algorithm?.rawValue ?? $0.type.rawValue))" }
                .joined(separator: ", ") + (keys.count > 20 ? " and \(keys.count - 20) more" : "")
        )
    }

    /// What holds for a token that one of these keys has signed; `nil` when none of them has to do with it.
    private func rules(
        of keys: [VerifyingKey],
        for signature: [UInt8],
        of input: [UInt8],
        _ algorithm: SigningAlgorithm,
        _ keyID: String?
    ) async throws(AuthorizationError) -> TokenRules? {
        if let keyID, let key = keys.first(where: { $0.key.id == keyID }) {
            // The key that the token names is the only one that counts. Comparing algorithms first is what prevents a
            // public RSA key from being used as the secret of an HMAC.
            guard key.key.matches(algorithm) else {
                throw AuthorizationError(.authentication, "Unexpected token algorithm \(algorithm.rawValue)")
            }
            guard await key.isValid(signature, for: input, algorithm: algorithm) else {
                throw AuthorizationError(.authentication, "signature verification failed")
            }
            return key.rules
        }
        for key in keys where key.key.id == nil && key.key.matches(algorithm) {
            if await key.isValid(signature, for: input, algorithm: algorithm) { return key.rules }
        }
        return nil
    }

    // MARK: Claims

    private func checkClaims(
        _ payload: JSONObject,
        _ rules: TokenRules,
        now: Double
    ) throws(AuthorizationError) -> VerifiedToken {
        for claim in ["exp", "iat", "sub"] where payload[claim] == nil {
            throw .missingClaim(claim)
        }
        // The reference reports a claim of the wrong type, and `nbf` in the future, as a missing one.
        guard let issuedAt = payload["iat"]?.number else { throw .missingClaim("iat") }
        guard let expiresAt = payload["exp"]?.number else { throw .missingClaim("exp") }
        if let notBefore = payload["nbf"] {
            guard let notBefore = notBefore.number, notBefore <= now.rounded(.down) + Self.clockTolerance else {
                throw .missingClaim("nbf")
            }
        }
        guard expiresAt > now.rounded(.down) - Self.clockTolerance else {
            throw AuthorizationError(.tokenExpired, "JWT has expired")
        }

        guard let claim = payload["aud"] else { throw .missingClaim("aud", code: .tokenAudience) }
        let audience = rules.audience ?? audience
        let values: [JSONValue] = if case .array(let values) = claim { values } else { [claim] }
        guard values.contains(where: { value in audience.contains { value == .string($0) } }) else {
            throw AuthorizationError(
                .tokenAudience,
                "Unexpected \"aud\" claim value: \(claim.text)",
                logDetails: "accepted audiences: \(audience.joined(separator: ", "))"
            )
        }

        // A token that claims to be from the future lives from now on.
        let lifetime = expiresAt - min(issuedAt, now + Self.clockTolerance)
        let maximum = rules.maximumLifetime ?? Self.maximumLifetime
        guard lifetime <= maximum else {
            throw AuthorizationError(
                .tokenLifetime,
                "Token must expire in a maximum of \(Self.seconds(maximum)) seconds, "
                    + "got \(Self.seconds(lifetime))s"
            )
        }
        switch payload["parameters"] {
        case nil, .null, .object: break
        default: throw AuthorizationError(.authentication, "Payload parameters must be an object")
        }
        return VerifiedToken(payload: payload, expiresAt: expiresAt)
    }

    private static func seconds(_ value: Double) -> String {
        Int64(exactly: value).map(String.init) ?? "\(value)"
    }
}

extension JSONValue {
    /// The value as a number, if it is one.
    fileprivate var number: Double? {
        switch self {
        case .integer(let value): Double(value)
        case .double(let value): value
        default: nil
        }
    }
}

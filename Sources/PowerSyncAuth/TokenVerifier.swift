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
    let audience: [String]

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
        guard let header, let token = AuthorizationHeader.credentials(header), !token.contains(where: \.isWhitespace)
        else { throw .missingToken }
        return try await verify(token, now: now)
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
            parts.count == 3, let header = try Self.object(parts[0], halfPairs: .refused),
            let payload = try Self.object(parts[1], halfPairs: .replacedExceptIn(["sub", "aud"])),
            let signature = Base64URL.decode(parts[2])
        else { throw .malformedToken }

        guard case .string(let name) = header["alg"], let algorithm = SigningAlgorithm(name: name) else {
            throw Self.refusal(ofAlgorithm: header["alg"])
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

    /// The object of a part; `nil` when it is none.
    ///
    /// - Throws: An error for halves of surrogate pairs where they are refused: where a text identifies.
    private static func object(
        _ part: some StringProtocol,
        halfPairs: JSONScanner.HalfPairs
    ) throws(AuthorizationError) -> JSONObject? {
        guard
            let bytes = Base64URL.decode(part), let text = String(bytes: bytes, encoding: .utf8)
        else { return nil }
        do throws(JSONError) {
            return try JSONObject(parsing: text, hugeNumbers: .infinite, halfPairs: halfPairs)
        } catch {
            guard error.reason == .halfSurrogatePair else { return nil }
            throw AuthorizationError(
                .authentication,
                "The token has half a surrogate pair in its header, in \"sub\", in \"aud\" or in the name of a claim: a text was cut in "
                    + "the middle of a character, and cannot say who or what is meant"
            )
        }
    }

    private static func refusal(ofAlgorithm value: ExactJSON?) -> AuthorizationError {
        let seen =
            switch value {
            case .string(let name):
                "\"\(String(name.unicodeScalars.prefix(40)))\""
                    + (SigningAlgorithm.refusal(of: name).map { ": \($0)" } ?? "")
            case .some(let value): value.kind
            case nil: "missing"
            }
        return AuthorizationError(
            .authentication,
            "\"alg\" (Algorithm) Header Parameter not allowed: \(seen); accepted are \(SigningAlgorithm.names)"
        )
    }

    // MARK: Keys

    /// Checks that a key has signed the token, and says what holds for those that it signs.
    private func checkSignature(
        _ signature: [UInt8],
        of input: [UInt8],
        algorithm: SigningAlgorithm,
        keyID: String?
    ) async throws(AuthorizationError) -> TokenRules {
        var search = KeySearch(signature, of: input, algorithm, keyID: keyID)
        var awaited: [any KeySource] = []
        // What is known first, one source after the other: a token of such a key waits for no server.
        for source in sources {
            guard let known = source.knownKeys() else {
                awaited.append(source)
                continue
            }
            if let rules = await search.rules(of: known) { return rules }
        }
        for source in awaited {
            if let rules = await search.rules(of: await source.currentKeys()) { return rules }
        }
        // All of them, also when one could not be asked: another may have the key since it was asked last, or another one of that name.
        for source in sources { source.keyWasMissing() }
        throw search.error
    }
}

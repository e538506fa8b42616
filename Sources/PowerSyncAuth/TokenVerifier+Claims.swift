import PowerSyncProtocol

/// What a token says (docs/service.md "Authentication").
extension TokenVerifier {
    /// Checks the claims of a token that a key has signed.
    ///
    /// - Parameters:
    ///   - payload: The claims.
    ///   - rules: What holds for tokens of the key.
    ///   - now: The time in seconds since 1970.
    /// - Returns: What the token says.
    /// - Throws: The failure of the first check that does not pass.
    func checkClaims(
        _ payload: JSONObject,
        _ rules: TokenRules,
        now: Double
    ) throws(AuthorizationError) -> VerifiedToken {
        for claim in ["exp", "iat", "sub"] where payload[claim] == nil { throw .missingClaim(claim) }
        let issuedAt = try Self.time("iat", in: payload) ?? 0
        let expiresAt = try Self.time("exp", in: payload) ?? 0
        if let notBefore = try Self.time("nbf", in: payload), notBefore > now.rounded(.down) + Self.clockTolerance {
            throw AuthorizationError(
                .authentication,
                "JWT is not valid yet: \"nbf\" is \(Self.seconds(notBefore)), and the clock of the service is at "
                    + Self.seconds(now.rounded(.down)) + Self.unitHint("nbf", notBefore)
            )
        }
        guard expiresAt > now.rounded(.down) - Self.clockTolerance else {
            throw AuthorizationError(
                .tokenExpired,
                "JWT has expired",
                logDetails: "exp: \(Self.seconds(expiresAt)), clock of the service: \(Self.seconds(now.rounded(.down)))"
            )
        }
        try Self.checkSubject(payload["sub"])
        try checkAudience(payload["aud"], rules)

        // A token that claims to be from the future lives from now on.
        let lifetime = expiresAt - min(issuedAt, now + Self.clockTolerance)
        let maximum = rules.maximumLifetime ?? Self.maximumLifetime
        guard lifetime <= maximum else {
            throw AuthorizationError(
                .tokenLifetime,
                "Token must expire in a maximum of \(Self.seconds(maximum)) seconds, "
                    + "got \(Self.seconds(lifetime))s\(Self.unitHint("exp", expiresAt))"
            )
        }
        switch payload["parameters"] {
        case nil, .null, .object: break
        case .some(let value):
            throw AuthorizationError(.authentication, "Payload parameters must be an object, and are \(value.kind)")
        }
        return VerifiedToken(payload: payload, expiresAt: expiresAt)
    }

    /// A time in seconds since 1970; `nil` when the claim is missing.
    private static func time(_ claim: String, in payload: JSONObject) throws(AuthorizationError) -> Double? {
        switch payload[claim] {
        case nil: return nil
        case .integer(let value): return Double(value)
        case .double(let value): return value
        case .some(let value):
            throw AuthorizationError(
                .authentication,
                "JWT claim \"\(claim)\" is \(value.kind), and has to be a number: seconds since 1970"
            )
        }
    }

    /// Checks that a subject is one user, and each user one subject: a text, or a number with all its digits.
    private static func checkSubject(_ subject: ExactJSON?) throws(AuthorizationError) {
        let seen: String
        switch subject {
        case .string, .integer: return
        case .double: seen = "a number that is no integer of 64 bits, which several users could have"
        case .some(let value): seen = value.kind
        case nil: return
        }
        throw AuthorizationError(
            .authentication,
            "JWT claim \"sub\" is \(seen); it has to be a text, or an integer of 64 bits"
        )
    }

    private func checkAudience(_ claim: ExactJSON?, _ rules: TokenRules) throws(AuthorizationError) {
        guard let claim else { throw .missingClaim("aud", code: .tokenAudience) }
        let accepted = rules.audience ?? audience
        let values: [ExactJSON] = if case .array(let values) = claim { values } else { [claim] }
        guard values.contains(where: { value in accepted.contains { value == .string($0) } }) else {
            throw AuthorizationError(
                .tokenAudience,
                "Unexpected \"aud\" claim value: \(claim.text)",
                logDetails: "accepted audiences: \(accepted.joined(separator: ", "))"
            )
        }
    }

    private static func seconds(_ value: Double) -> String {
        Int64(exactly: value).map(String.init) ?? "\(value)"
    }

    /// What is probably wrong with a time that is thousands of years ahead.
    private static func unitHint(_ claim: String, _ value: Double) -> String {
        let unit: String? =
            switch value {
            case 1e11..<1e14: "milliseconds"
            case 1e14..<1e17: "microseconds"
            case 1e17..<1e20: "nanoseconds"
            default: nil
            }
        return unit.map { "; \"\(claim)\" seems to be in \($0), and has to be in seconds since 1970" } ?? ""
    }
}

extension ExactJSON {
    /// What kind of value it is, for messages that must not have the value.
    var kind: String {
        switch self {
        case .null: "null"
        case .bool: "true or false"
        case .integer, .double: "a number"
        case .string: "a text"
        case .array: "a list"
        case .object: "an object"
        }
    }
}

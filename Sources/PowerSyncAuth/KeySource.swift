/// Where keys come from that verify tokens.
package protocol KeySource: Sendable {
    /// The keys that are known without waiting, old ones included; it asks for new ones when it is time.
    ///
    /// `nil` when none are known and an answer is on its way, which ``currentKeys()`` waits for.
    func knownKeys() -> CurrentKeys?
    /// The keys as they are now, for which it waits when none are known.
    func currentKeys() async -> CurrentKeys
    /// Called when no key of any source has signed a token: there may be new ones, also under an id that is known.
    func keyWasMissing()
}

/// The keys of a source, at one moment.
package struct CurrentKeys: Sendable {
    /// The keys, in the order in which they are tried.
    package var keys: [VerifyingKey]
    /// Keys that no token is checked with, for messages.
    package var leftOut: [LeftOutKey]
    /// Why there may be fewer than there should be.
    package var failure: AuthorizationError?

    /// Creates an answer.
    package init(_ keys: [VerifyingKey], leftOut: [LeftOutKey] = [], failure: AuthorizationError? = nil) {
        self.keys = keys
        self.leftOut = leftOut
        self.failure = failure
    }
}

/// Keys that are known when the process starts.
package struct StaticKeys: KeySource {
    private let current: CurrentKeys

    /// Creates a source.
    ///
    /// - Parameters:
    ///   - keys: The keys, in the order in which they are tried.
    ///   - rules: What holds for tokens that are signed with them.
    package init(_ keys: [JSONWebKey], rules: TokenRules = TokenRules()) {
        current = CurrentKeys(keys.map { VerifyingKey($0, rules: rules) })
    }

    package func knownKeys() -> CurrentKeys? { current }

    package func currentKeys() async -> CurrentKeys { current }

    package func keyWasMissing() {}
}

/// What holds for tokens that are signed with a key, where it is not what holds for all.
package struct TokenRules: Sendable, Hashable {
    /// The accepted audiences, instead of those of the verifier.
    package var audience: [String]?
    /// The longest lifetime in seconds, instead of ``TokenVerifier/maximumLifetime``.
    package var maximumLifetime: Double?

    /// Creates rules; without any, what holds for all tokens holds.
    package init(audience: [String]? = nil, maximumLifetime: Double? = nil) {
        self.audience = audience
        self.maximumLifetime = maximumLifetime
    }

    /// What Supabase signs: tokens for `authenticated` that live for a week, and twenty minutes for clocks.
    package static let supabase = TokenRules(audience: ["authenticated"], maximumLifetime: 606_000)
}

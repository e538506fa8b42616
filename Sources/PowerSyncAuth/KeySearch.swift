import PowerSyncProtocol

/// The search for the key that has signed a token, through one source of keys after the other.
///
/// A `kid` is a hint, as the publisher of keys chooses it: two key sets may have the same one, and so may two keys of one set while they
/// are exchanged. In each source, all keys that have it are tried; where none has, those without an id are.
struct KeySearch {
    /// How much of what a stranger has sent is shown, in Unicode scalars.
    private static let shownLength = 200
    /// How many keys are shown.
    private static let shownKeys = 20

    private let signature: [UInt8]
    private let input: [UInt8]
    private let algorithm: SigningAlgorithm
    private let keyID: String?
    private var keys: [VerifyingKey] = []
    private var leftOut: [LeftOutKey] = []
    /// Why a source may have fewer keys than it should.
    private var failure: AuthorizationError?
    /// Why no key of the token's `kid` has signed it, if there are any.
    private var refusal: AuthorizationError?

    /// Begins a search.
    ///
    /// - Parameters:
    ///   - signature: The signature of the token.
    ///   - input: What was signed.
    ///   - algorithm: The `alg` of the token.
    ///   - keyID: The `kid` of the token.
    init(_ signature: [UInt8], of input: [UInt8], _ algorithm: SigningAlgorithm, keyID: String?) {
        self.signature = signature
        self.input = input
        self.algorithm = algorithm
        self.keyID = keyID
    }

    /// Tries the keys of a source.
    ///
    /// Comparing algorithms first is what prevents a public RSA key from being used as the secret of an HMAC.
    ///
    /// - Returns: What holds for the token; `nil` when none of the keys has signed it.
    mutating func rules(of current: CurrentKeys) async -> TokenRules? {
        keys += current.keys
        leftOut += current.leftOut
        failure = failure ?? current.failure
        let named = current.keys.filter { isNamed($0.key.id) }
        let candidates = (named.isEmpty ? current.keys.filter { $0.key.id == nil } : named)
            .filter { $0.key.matches(algorithm) }
        for key in candidates {
            if await key.isValid(signature, for: input, algorithm: algorithm) { return key.rules }
        }
        if !named.isEmpty {
            if !candidates.isEmpty {
                refusal = AuthorizationError(.authentication, "signature verification failed")
            } else if refusal == nil {
                refusal = AuthorizationError(.authentication, "Unexpected token algorithm \(algorithm.rawValue)")
            }
        }
        return nil
    }

    /// Why no key has signed the token, when all sources have been searched.
    var error: AuthorizationError {
        if let refusal { return refusal }
        if let unused = leftOut.first(where: { isNamed($0.id) }) {
            return missingKey("The key that the token names is not used: \(unused)")
        }
        // A key that is missing because a source could not be asked may be the right one.
        return failure ?? missingKey("The key is missing or no key matched the token KID")
    }

    private func isNamed(_ id: String?) -> Bool {
        guard let id, let keyID else { return false }
        return id.utf8.elementsEqual(keyID.utf8)
    }

    private func missingKey(_ reason: String) -> AuthorizationError {
        let known = keys.map { "\($0.key.id ?? "*") (\($0.key.algorithm?.rawValue ?? $0.key.type.rawValue))" }
        let unused = leftOut.map(\.description)
        return AuthorizationError(
            .authentication,
            "Could not find an appropriate key in the keystore. \(reason)",
            // A client that is not known may send any number of tokens.
            logDetails: "token kid: \(keyID.map { Substring($0.unicodeScalars.prefix(Self.shownLength)) } ?? "none"), "
                + "alg: \(algorithm.rawValue), known keys: \(Self.list(known))"
                + (unused.isEmpty ? "" : "; not used: \(Self.list(unused))")
        )
    }

    private static func list(_ items: [String]) -> String {
        items.prefix(shownKeys).joined(separator: ", ")
            + (items.count > shownKeys ? " and \(items.count - shownKeys) more" : "")
    }
}

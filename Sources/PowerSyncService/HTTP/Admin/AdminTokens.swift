import Crypto
import Foundation
import PowerSyncProtocol
import PowerSyncAuth

/// The tokens of the admin API.
///
/// Digests are compared instead of texts, and all of them whatever the first one says: how long it takes tells nothing
/// about the tokens, not even their lengths.
struct AdminTokens: Sendable {
    private let digests: [[UInt8]]

    /// Accepts the tokens of a list; no request when the list is empty, and none without a token.
    init(_ tokens: [String]) {
        digests = tokens.filter { !$0.isEmpty }.map(Self.digest)
    }

    /// Checks the header of a request: `Token …` or `Bearer …`.
    ///
    /// - Throws: ``AuthorizationError`` with `PSYNC_S2101`, whatever is wrong.
    func authorize(_ header: String?) throws(AuthorizationError) {
        let presented = header.flatMap(AuthorizationHeader.credentials).map(String.init)
        let digest = Self.digest(presented ?? "")
        var isKnown = false
        for known in digests {
            let difference = zip(known, digest).reduce(UInt8(0)) { $0 | ($1.0 ^ $1.1) }
            if difference == 0 { isKnown = true }
        }
        guard presented != nil, isKnown else {
            throw AuthorizationError(
                .authentication,
                "Authorization failed",
                logDetails: digests.isEmpty ? "api.tokens is empty: the admin API is off" : "not one of api.tokens"
            )
        }
    }

    private static func digest(_ token: String) -> [UInt8] {
        Array(SHA256.hash(data: Array(token.utf8)))
    }
}

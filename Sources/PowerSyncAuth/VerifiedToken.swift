package import PowerSyncProtocol

/// What a token says that passed all checks.
package struct VerifiedToken: Sendable, Equatable {
    /// The whole payload; the sync config sees it as `auth.*`.
    package var payload: JSONObject
    /// The `exp` claim, in seconds since 1970.
    package var expiresAt: Double

    /// Creates a token that passed.
    package init(payload: JSONObject, expiresAt: Double) {
        self.payload = payload
        self.expiresAt = expiresAt
    }

    /// The `sub` claim as text: a number has its digits.
    ///
    /// A token that passed has no other subject than a text or an integer.
    package var userID: String {
        if case .string(let text) = payload["sub"] { text } else { payload["sub"]?.text ?? "null" }
    }

    /// The key of this user's write checkpoints.
    ///
    /// All routes use this one function; if they differed, a client's write checkpoints would never arrive.
    ///
    /// - Parameter clientID: The client id of the request, if it has one.
    /// - Returns: `user_id/client_id`, or `user_id`. A slash in the user id is written as `%2F`, and a percent sign as
    ///   `%25`: user `a` with client `b/c` is not user `a/b` with client `c`.
    package func writeCheckpointKey(clientID: String?) -> String {
        var user = ""
        for character in userID.unicodeScalars {
            switch character {
            case "/": user += "%2F"
            case "%": user += "%25"
            default: user.unicodeScalars.append(character)
            }
        }
        return clientID.map { "\(user)/\($0)" } ?? user
    }
}

package import PowerSyncProtocol

/// What a token says that passed all checks.
package struct VerifiedToken: Sendable, Equatable {
    /// The whole payload; the sync config sees it as `auth.*`.
    package var payload: JSONObject
    /// The `exp` claim, in seconds since 1970.
    package var expiresAt: Double

    /// The `sub` claim as text: `null` for null, `1` and `0` for booleans, JSON text for objects and arrays.
    package var userID: String {
        switch payload["sub"] {
        case .string(let text): text
        case .bool(let value): value ? "1" : "0"
        case .some(let value): value.text
        case nil: "null"
        }
    }

    /// The key of this user's write checkpoints.
    ///
    /// All routes use this one function; if they differed, a client's write checkpoints would never arrive.
    ///
    /// - Parameter clientID: The client id of the request, if it has one.
    /// - Returns: `user_id/client_id`, or `user_id`.
    package func writeCheckpointKey(clientID: String?) -> String {
        clientID.map { "\(userID)/\($0)" } ?? userID
    }
}

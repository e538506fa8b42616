public import PowerSyncUpload

/// Who sends a request, as its credentials say.
///
/// ```swift
/// let user = BackendUser(id: session.userID)
/// let response = try await applier.apply(request, for: user)
/// ```
public struct BackendUser: Sendable, Hashable {
    /// The id of the user, the `sub` claim of their tokens.
    public var id: String
    /// The other claims of the token, or what else the backend knows.
    public var claims: JsonParam

    /// Creates a user.
    ///
    /// - Parameters:
    ///   - id: The id of the user.
    ///   - claims: What else the backend knows.
    public init(id: String, claims: JsonParam = [:]) {
        self.id = id
        self.claims = claims
    }
}

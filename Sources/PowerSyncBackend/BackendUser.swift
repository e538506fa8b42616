import PowerSyncSQLite
public import PowerSyncUpload

/// Who sends a request, as its credentials say.
///
/// ```swift
/// let user = BackendUser(id: session.userID)
/// let response = try await applier.apply(request, for: user)
/// ```
///
/// Users are the same when their ids have the same bytes.
public struct BackendUser: Sendable, Hashable {
    /// The id of the user, the `sub` claim of their tokens.
    ///
    /// Compare it with ``hasID(_:)``: `==` of Swift takes canonically equivalent texts for equal.
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

    /// Whether an id is the user's, byte by byte.
    ///
    /// - Parameter id: An id, for example of the owner of a row; `nil` is nobody's.
    /// - Returns: Whether the user has it.
    public func hasID(_ id: String?) -> Bool {
        id.map { ExactText($0) == ExactText(self.id) } ?? false
    }

    /// Whether two users are the same, with the same claims.
    public static func == (lhs: BackendUser, rhs: BackendUser) -> Bool {
        lhs.hasID(rhs.id) && lhs.claims == rhs.claims
    }

    /// Hashes the bytes of the id, and the claims.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(ExactText(id))
        hasher.combine(claims)
    }
}

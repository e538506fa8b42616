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

extension BackendUser {
    /// Whether an id is this user's, byte for byte.
    ///
    /// ```swift
    /// guard write.user.hasID(list["owner_id"]) else { return .reject("The list belongs to somebody else.") }
    /// ```
    ///
    /// Use it wherever an id decides who may do something. Swift's `==` takes texts for equal that Unicode calls canonically equivalent:
    /// the user “Kevin” with a Kelvin sign (U+212A) in place of the letter K, whom an identity provider may well let in, would pass for
    /// “Kevin”. SQL compares bytes, and so does the sync service.
    ///
    /// - Parameter id: The id to compare; `nil` is nobody's.
    /// - Returns: Whether its bytes are those of ``id``.
    public func hasID(_ id: String?) -> Bool {
        id.map { $0.utf8.elementsEqual(self.id.utf8) } ?? false
    }

    /// Whether two users have the same id, byte for byte, and the same claims.
    public static func == (lhs: BackendUser, rhs: BackendUser) -> Bool {
        lhs.hasID(rhs.id) && lhs.claims == rhs.claims
    }
}

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
}

extension BackendUser {
    /// Whether an id is this user's, byte by byte.
    ///
    /// Use it wherever an id decides who may do something. Swift's `==` takes texts for equal that Unicode calls canonically equivalent:
    /// the user “Kevin” with a Kelvin sign (U+212A) in place of the letter K, whom an identity provider may well let in, would pass for
    /// “Kevin”. SQL compares bytes, and so does the sync service. Whose a row is, `UploadedWrite.belongsToUser(by:values:_:)`
    /// says.
    ///
    /// - Parameter id: The id to compare; `nil` is nobody's.
    /// - Returns: Whether its bytes are those of ``id``.
    public func hasID(_ id: String?) -> Bool {
        id.map { $0.utf8.elementsEqual(self.id.utf8) } ?? false
    }

    /// Whether two users have the same id, byte by byte, and the same claims.
    public static func == (lhs: BackendUser, rhs: BackendUser) -> Bool {
        lhs.hasID(rhs.id) && lhs.claims == rhs.claims
    }

    /// Hashes the bytes of the id, and the claims.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(ExactText(id))
        hasher.combine(claims)
    }
}

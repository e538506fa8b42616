public import Foundation

/// What a sign-in gives; keep it where secrets are kept, such as the keychain.
public struct SupabaseSession: Sendable, Hashable, Codable {
    /// The token of requests, and of the sync service.
    public let accessToken: String
    /// What a new session is got with; good for one time.
    public let refreshToken: String
    /// When the token ends.
    public let expiresAt: Date
    /// The id of the user.
    public let userID: String

    /// Creates a session, of what was kept.
    ///
    /// - Parameters:
    ///   - accessToken: The token of requests.
    ///   - refreshToken: What a new session is got with.
    ///   - expiresAt: When the token ends.
    ///   - userID: The id of the user.
    public init(accessToken: String, refreshToken: String, expiresAt: Date, userID: String) {
        self.accessToken = accessToken
        self.refreshToken = refreshToken
        self.expiresAt = expiresAt
        self.userID = userID
    }
}

extension SupabaseSession: CustomStringConvertible {
    /// The user and the end; the tokens are left out.
    public var description: String { "SupabaseSession(userID: \(userID), expiresAt: \(expiresAt))" }
}

/// The session as GoTrue answers; `nil` fields when the user has to confirm an address first.
struct SupabaseSessionAnswer: Decodable {
    struct User: Decodable {
        var id: String
    }

    var accessToken: String?
    var refreshToken: String?
    /// Seconds from now on.
    var expiresIn: Double?
    var user: User?

    enum CodingKeys: String, CodingKey {
        case user
        case accessToken = "access_token"
        case refreshToken = "refresh_token"
        case expiresIn = "expires_in"
    }

    /// The session, if there is one.
    func session(now: Date) -> SupabaseSession? {
        guard let accessToken, let refreshToken, let user else { return nil }
        return SupabaseSession(
            accessToken: accessToken,
            refreshToken: refreshToken,
            expiresAt: now.addingTimeInterval(expiresIn ?? 3600),
            userID: user.id
        )
    }
}

import Foundation
import PowerSync

/// Signs users in with a project of Supabase, and keeps their session fresh.
///
/// ```swift
/// let auth = SupabaseAuth(project, session: keychain.session) { session in keychain.session = session }
/// try await auth.signIn(email: email, password: password)
/// ```
///
/// For other ways of signing in, use what Supabase has for them and call ``use(_:)`` with the session.
public actor SupabaseAuth {
    /// How long before its end a token is not used any more, in seconds: a minute.
    private static let margin: TimeInterval = 60
    /// How often a token is renewed at most because the sync service asks again, in seconds: five minutes.
    private static let syncRenewalInterval: TimeInterval = 300

    /// The project.
    public nonisolated let project: SupabaseProject
    /// The session; `nil` when no user is signed in.
    public private(set) var session: SupabaseSession?
    private let now: @Sendable () -> Date
    private let changed: @Sendable (SupabaseSession?) async -> Void
    /// The renewal that is going on.
    ///
    /// A refresh token is good for one time, so all wait for it. It is not cancelled with one of them.
    private var renewal: Task<SupabaseSession, any Error>?
    /// The last call of `changed`, which waits for those before: the session of a user who has signed out must not be kept after `nil`.
    private var keeping: Task<Void, Never>?
    /// Whether `changed` is what calls.
    @TaskLocal private static var isKeeping = false
    /// The token that the sync service got.
    private var syncToken: String?
    /// When a token was renewed because the sync service did not want it.
    private var syncRenewal = Date.distantPast

    /// Begins with a session that was kept.
    ///
    /// - Parameters:
    ///   - project: The project.
    ///   - session: The session that was kept; `nil` when there is none.
    ///   - changed: Called with each new session, and with `nil` when it has ended, one call at a time and in their order: keep it.
    public init(
        _ project: SupabaseProject,
        session: SupabaseSession? = nil,
        changed: @escaping @Sendable (SupabaseSession?) async -> Void = { _ in }
    ) {
        self.init(project, session: session, now: { Date() }, changed: changed)
    }

    init(
        _ project: SupabaseProject,
        session: SupabaseSession?,
        now: @escaping @Sendable () -> Date,
        changed: @escaping @Sendable (SupabaseSession?) async -> Void
    ) {
        self.project = project
        self.session = session
        self.now = now
        self.changed = changed
    }

    /// Signs a user in.
    ///
    /// - Throws: ``SupabaseError``, with the status 400 when the password is wrong
    @discardableResult
    public func signIn(email: String, password: String) async throws -> SupabaseSession {
        let session = try await ask("grant_type=password", ["email": email, "password": password])
        await use(session)
        return session
    }

    /// Creates a user.
    ///
    /// - Returns: The session; `nil` when the user has to confirm the address first.
    /// - Throws: ``SupabaseError``
    @discardableResult
    public func signUp(email: String, password: String) async throws -> SupabaseSession? {
        let session = try await answer("signup", "", ["email": email, "password": password])
        if let session { await use(session) }
        return session
    }

    /// Creates a user without a name, where the project allows that.
    ///
    /// - Throws: ``SupabaseError``
    @discardableResult
    public func signInAnonymously() async throws -> SupabaseSession {
        guard let session = try await answer("signup", "", [:]) else { throw noSession }
        await use(session)
        return session
    }

    /// Takes a session that was got in another way; `nil` signs out on this device only.
    public func use(_ session: SupabaseSession?) async {
        self.session = session
        let before = keeping
        let task = Task { [changed] in
            await before?.value
            await SupabaseAuth.$isKeeping.withValue(true) { await changed(session) }
        }
        keeping = task
        // `changed` itself may sign out, and must not wait for its own end.
        if !SupabaseAuth.isKeeping { await task.value }
    }

    /// Ends the session, at the server as well if that can be reached.
    ///
    /// Disconnect and clear the database before, with this user's token.
    public func signOut() async {
        let ended = session
        await use(nil)
        guard let ended else { return }
        _ = try? await project.send(
            "POST",
            project.address(["auth", "v1", "logout"], query: "scope=local"),
            token: ended.accessToken
        )
    }

    /// A token that is good for a minute at least.
    ///
    /// - Parameter refused: A token that a server has refused although its time was not over.
    /// - Returns: The token.
    /// - Throws: ``SupabaseError``, with the code ``SupabaseError/Code/signedOut`` when no user is signed in, or the session has ended
    public func accessToken(replacing refused: String? = nil) async throws -> String {
        guard let session else { throw SupabaseError(.signedOut, "No user is signed in") }
        let isGood = session.expiresAt.timeIntervalSince(now()) >= SupabaseAuth.margin
        if isGood, session.accessToken != refused { return session.accessToken }
        if let renewal { return try await renewal.value.accessToken }
        let task = Task { try await renew(session) }
        renewal = task
        defer { renewal = nil }
        return try await task.value.accessToken
    }

    /// A token for the sync service.
    ///
    /// The service is given another token when it asks again, once in five minutes: it may have refused the one that it got.
    func tokenForSync() async throws -> String {
        let token = try await accessToken()
        guard token == syncToken, abs(now().timeIntervalSince(syncRenewal)) >= SupabaseAuth.syncRenewalInterval else {
            syncToken = token
            return token
        }
        do {
            let new = try await accessToken(replacing: token)
            syncRenewal = now()
            syncToken = new
            return new
        } catch let error as SupabaseError where error.code != .signedOut {
            // The token may be good.
            return token
        }
    }

    private func renew(_ old: SupabaseSession) async throws -> SupabaseSession {
        do {
            let new = try await ask("grant_type=refresh_token", ["refresh_token": old.refreshToken])
            // Another user may have signed in meanwhile.
            guard session == old else { throw SupabaseError(.signedOut, "Another session has begun") }
            await use(new)
            return new
        } catch let error as SupabaseError where [400, 401, 403].contains(error.httpStatus) {
            if session == old { await use(nil) }
            throw SupabaseError(
                .signedOut,
                "The session has ended: \(error.message)",
                httpStatus: error.httpStatus,
                serverCode: error.serverCode,
                underlyingError: error
            )
        }
    }

    private func ask(_ query: String, _ fields: [String: String]) async throws -> SupabaseSession {
        guard let session = try await answer("token", query, fields) else { throw noSession }
        return session
    }

    private func answer(_ path: String, _ query: String, _ fields: [String: String]) async throws -> SupabaseSession? {
        let body = try await project.send("POST", project.address(["auth", "v1", path], query: query), json: fields)
        guard let answer = try? JSONDecoder().decode(SupabaseSessionAnswer.self, from: body) else { throw noSession }
        return answer.session(now: now())
    }

    private var noSession: SupabaseError {
        SupabaseError(.unexpectedResponse, "\(project.url) did not answer a sign-in with a session")
    }
}

import Foundation

/// The client library of the app's backend: sessions, and a REST interface to its tables.
actor BackendClient {
    struct Session: Sendable {
        let userID: String
        let accessToken: String
    }

    private var currentSession: Session?
    /// The rows of all tables, by table and id.
    private(set) var rows: [String: [String: [String: String?]]] = [:]
    /// What was posted as JSON.
    private(set) var posts: [Data] = []
    private var failures: [any Error] = []

    init(session: Session?) {
        currentSession = session
    }

    /// The session of the user who is signed in.
    var session: Session {
        get throws {
            guard let currentSession else { throw AuthError.sessionMissing }
            return currentSession
        }
    }

    /// The next write fails with this error.
    func failOnce(with error: any Error) {
        failures.append(error)
    }

    func signOut() {
        currentSession = nil
    }

    func post(_ body: Data) throws {
        try throwNextFailure()
        posts.append(body)
    }

    nonisolated func from(_ table: String) -> BackendTable {
        BackendTable(client: self, name: table)
    }

    fileprivate func change(_ table: String, _ id: String, _ body: (inout [String: String?]?) -> Void) throws {
        try throwNextFailure()
        body(&rows[table, default: [:]][id])
    }

    private func throwNextFailure() throws {
        if !failures.isEmpty { throw failures.removeFirst() }
    }
}

/// One table of the backend.
struct BackendTable: Sendable {
    let client: BackendClient
    let name: String

    func upsert(_ data: [String: String?]) async throws {
        guard case let id?? = data["id"] else { throw PostgrestError(code: "23502") }
        try await client.change(name, id) { row in row = data }
    }

    func update(_ data: [String: String?], id: String) async throws {
        try await client.change(name, id) { row in row?.merge(data) { $1 } }
    }

    func delete(id: String) async throws {
        try await client.change(name, id) { row in row = nil }
    }
}

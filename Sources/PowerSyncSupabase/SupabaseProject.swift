public import Foundation
public import PowerSync

/// A project of Supabase, or of one's own servers with the same addresses: GoTrue below `auth/v1`, PostgREST below `rest/v1`, storage below
/// `storage/v1`.
public struct SupabaseProject: Sendable {
    /// The address, for example `https://abcdefgh.supabase.co`.
    public let url: URL
    /// The key that says which project it is (`anon` or publishable); it is no secret.
    public let apiKey: String
    /// What sends the requests.
    public let httpClient: PowerSyncHTTPClient
    private let call: AttachmentHTTPClient

    /// Describes a project.
    ///
    /// - Parameters:
    ///   - url: The address, for example `https://abcdefgh.supabase.co`.
    ///   - apiKey: The key that says which project it is (`anon` or publishable).
    ///   - httpClient: What sends the requests.
    public init(url: URL, apiKey: String, httpClient: PowerSyncHTTPClient = .standard) {
        self.url = url
        self.apiKey = apiKey
        self.httpClient = httpClient
        call = AttachmentHTTPClient(httpClient)
    }

    /// The address of components of a path below the project's, each percent-encoded, with a query that is encoded already.
    func address(_ path: [String], query: String = "") throws -> URL {
        var text = url.absoluteString
        while text.hasSuffix("/") { text.removeLast() }
        for component in path { text += "/" + SupabaseProject.encoded(component) }
        guard let address = URL(string: query.isEmpty ? text : "\(text)?\(query)"), address.host() != nil else {
            throw SupabaseError(.unexpectedResponse, "\(url) is no address of a project")
        }
        return address
    }

    /// A text with all characters percent-encoded but those that are safe everywhere in a URL.
    static func encoded(_ text: String) -> String {
        let safe = CharacterSet(charactersIn: "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
        return text.addingPercentEncoding(withAllowedCharacters: safe) ?? ""
    }

    /// Sends a request with JSON.
    ///
    /// - Returns: The body of an answer with a status of success.
    /// - Throws: ``SupabaseError``, `CancellationError`
    func send(
        _ method: String,
        _ address: URL,
        token: String? = nil,
        headers: [String: String] = [:],
        json: (any Encodable & Sendable)? = nil
    ) async throws -> Data {
        try await answer(method, address, token: token, headers: headers, json: json).body
    }

    /// Sends a request with JSON.
    ///
    /// - Returns: An answer with a status of success.
    /// - Throws: ``SupabaseError``, `CancellationError`
    func answer(
        _ method: String,
        _ address: URL,
        token: String? = nil,
        headers: [String: String] = [:],
        json: (any Encodable & Sendable)? = nil
    ) async throws -> AttachmentHTTPClient.Answer {
        var headers = headers
        headers["apikey"] = apiKey
        headers["Authorization"] = "Bearer \(token ?? apiKey)"
        headers["Accept"] = "application/json"
        var body = Data()
        if let json {
            headers["Content-Type"] = "application/json"
            body = try JSONEncoder().encode(json)
        }
        let answer: AttachmentHTTPClient.Answer
        do {
            answer = try await call.send(method, AttachmentHTTPRequest(url: address, headers: headers), body: body)
        } catch let error as AttachmentTransferError {
            throw SupabaseError(.connection, error.message, underlyingError: error)
        }
        guard (200..<300).contains(answer.status) else { throw SupabaseError(answer) }
        return answer
    }
}

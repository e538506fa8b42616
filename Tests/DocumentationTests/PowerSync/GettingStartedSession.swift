import Foundation

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// The app's session with its backend.
///
/// How the user signs in is up to the app; here the name is enough.
struct Session {
    var user: String

    func syncToken() async throws -> String {
        guard let url = URL(string: "http://127.0.0.1:8081/token") else { throw URLError(.badURL) }
        var request = URLRequest(url: url)
        request.httpMethod = "POST"
        request.setValue(user, forHTTPHeaderField: "Authorization")
        // In a task of its own, for Foundation on Linux can trap, or never answer, when a request is cancelled.
        let (data, _) = try await Task { [request] in try await URLSession.shared.data(for: request) }.value
        return try JSONDecoder().decode(Answer.self, from: data).token
    }

    private struct Answer: Decodable {
        var token: String
    }
}

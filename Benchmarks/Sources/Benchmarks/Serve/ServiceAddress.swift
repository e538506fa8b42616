import AsyncHTTPClient
import Foundation
import NIOCore
import NIOHTTP1

extension ServiceProcess.Address {
    /// The port of the URL.
    var port: Int { URL(string: url)?.port ?? 0 }

    /// Sends a request, and waits for its answer.
    ///
    /// - Parameters:
    ///   - body: What to send.
    ///   - type: Its media type.
    ///   - path: Where to.
    ///   - token: Who may do it; that of the address by default.
    /// - Throws: ``ChildProcess/Failure`` for another answer than 200.
    func post(_ body: String, as type: String = "application/json", to path: String, token: String? = nil) async throws
    {
        var request = HTTPClientRequest(url: url + path)
        request.method = .POST
        request.headers.add(name: "Authorization", value: "Token \(token ?? self.token)")
        request.headers.add(name: "Content-Type", value: type)
        request.body = .bytes(ByteBuffer(string: body))
        let response = try await HTTPClient.shared.execute(request, timeout: .seconds(60))
        let answer = String(buffer: try await response.body.collect(upTo: 1_024 * 1_024))
        guard response.status == .ok else { throw ChildProcess.Failure(description: "\(response.status): \(answer)") }
    }
}

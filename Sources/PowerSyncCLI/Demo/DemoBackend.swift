import AsyncHTTPClient
import Foundation
import NIOCore
import NIOFoundationCompat
import NIOHTTP1
import PowerSync

/// The app's own backend, which hands out tokens and takes uploads.
///
/// Here it is the service's development endpoints.
struct DemoBackend: Sendable {
    private struct TokenReply: Decodable {
        struct Token: Decodable { var token: String }
        var data: Token
    }

    private struct Upload: Encodable {
        struct Write: Encodable {
            var op: UpdateType
            var type: String
            var id: String
            var data: JsonParam?
        }
        var data: [Write]
    }

    /// The base URL of backend and service.
    let url: String
    /// The port in ``url``.
    let port: Int

    /// Logs a user in.
    ///
    /// - Returns: A token for the sync service.
    func token(for user: String) async throws -> String {
        let body = try JSONEncoder().encode(["user_id": user])
        let reply = try await post("/dev/token", body: body, token: nil)
        return try JSONDecoder().decode(TokenReply.self, from: reply).data.token
    }

    /// Writes the entries of a transaction into the source database, in one transaction.
    func upload(_ entries: [CrudEntry], token: String) async throws {
        let upload = Upload(
            data: entries.map { Upload.Write(op: $0.op, type: $0.table, id: $0.id, data: $0.opDataTyped) }
        )
        _ = try await post("/dev/write", body: JSONEncoder().encode(upload), token: token)
    }

    private func post(_ path: String, body: Data, token: String?) async throws -> Data {
        var request = HTTPClientRequest(url: url + path)
        request.method = .POST
        request.headers.add(name: "Content-Type", value: "application/json")
        if let token {
            request.headers.add(name: "Authorization", value: "Token \(token)")
        }
        request.body = .bytes(ByteBuffer(bytes: body))
        let response = try await HTTPClient.shared.execute(request, timeout: .seconds(10))
        let reply = try await response.body.collect(upTo: 1 << 20)
        guard response.status == .ok else {
            throw DemoFailure("POST \(path) answered \(response.status.code): \(String(buffer: reply))")
        }
        return Data(buffer: reply)
    }
}

import AsyncHTTPClient
import Foundation
import NIOCore
import NIOHTTP1
package import PowerSync
import Synchronization

/// A connector that uploads to the development endpoint of the service.
package final class TestConnector: PowerSyncBackendConnectorProtocol {
    private struct Upload: Encodable {
        struct Write: Encodable {
            var op: UpdateType
            var type: String
            var id: String
            var data: JsonParam?
        }
        var data: [Write]
    }

    private let url: String
    /// The token for uploads.
    private let token: String
    /// The tokens that are handed out, one after the other; the last one again and again.
    private let tokens: Mutex<[String]>

    package init(url: String, tokens: [String]) {
        self.url = url
        token = tokens.last ?? ""
        self.tokens = Mutex(tokens)
    }

    package convenience init(url: String, token: String) {
        self.init(url: url, tokens: [token])
    }

    package func fetchCredentials() async throws -> PowerSyncCredentials? {
        let token = tokens.withLock { $0.count > 1 ? $0.removeFirst() : $0[0] }
        return PowerSyncCredentials(endpoint: url, token: token)
    }

    package func uploadData(database: any PowerSyncDatabaseProtocol) async throws {
        guard let transaction = try await database.getNextCrudTransaction() else { return }
        let upload = Upload(
            data: transaction.crud.map { .init(op: $0.op, type: $0.table, id: $0.id, data: $0.opDataTyped) }
        )
        var request = HTTPClientRequest(url: url + "/dev/write")
        request.method = .POST
        request.headers.add(name: "Authorization", value: "Token \(token)")
        request.headers.add(name: "Content-Type", value: "application/json")
        request.body = .bytes(ByteBuffer(bytes: try JSONEncoder().encode(upload)))
        let response = try await HTTPClient.shared.execute(request, timeout: .seconds(10))
        guard response.status == .ok else { throw UploadFailure(status: response.status.code) }
        try await transaction.complete()
    }

    /// The backend refused an upload.
    package struct UploadFailure: Error {
        package let status: UInt
    }
}

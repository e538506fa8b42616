import Foundation
import PowerSync

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// Who the user is, and where the backend is.
struct Account {
    let user: String
    let backend: URL
    let sync: String

    /// Takes local writes to the backend, and its tokens to the sync service.
    func connector() throws -> HTTPBackendConnector {
        try HTTPBackendConnector(uploadURL: backend.appending(path: "upload").absoluteString) {
            PowerSyncCredentials(endpoint: sync, token: try await token())
        }
    }

    /// The photos of todos, in the backend's folder.
    func photos(of database: any PowerSyncDatabaseProtocol, in folder: URL) -> AttachmentQueue {
        @Sendable func request(_ attachment: Attachment) async throws -> AttachmentHTTPRequest {
            let url = backend.appending(path: "photos/\(attachment.filename)")
            return AttachmentHTTPRequest(url: url, headers: ["Authorization": "Token \(try await token())"])
        }
        return AttachmentQueue(
            db: database,
            transport: HTTPAttachmentTransport(
                resolveUpload: { try await request($0.attachment) },
                resolveDownload: { try await request($0.attachment) },
                resolveDelete: { try await request($0) }
            ),
            attachmentsDirectory: folder.path(percentEncoded: false),
            watchAttachments: {
                try database.watch("SELECT photo_id FROM todos WHERE photo_id IS NOT NULL") { cursor in
                    WatchedAttachmentItem(id: try cursor.getString(index: 0), fileExtension: "jpg")
                }
            }
        )
    }

    /// A token for the sync service.
    ///
    /// The name stands for the app's own session.
    private func token() async throws -> String {
        var request = URLRequest(url: backend.appending(path: "token"))
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

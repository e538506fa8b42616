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

    /// The photos of todos.
    func photos(of database: any PowerSyncDatabaseProtocol, in folder: URL) -> AttachmentQueue {
        AttachmentQueue(
            db: database,
            transport: transport,
            attachmentsDirectory: folder.path(percentEncoded: false),
            watchAttachments: {
                try database.watch("SELECT photo_id FROM todos WHERE photo_id IS NOT NULL") { cursor in
                    WatchedAttachmentItem(id: try cursor.getString(index: 0), fileExtension: "jpg")
                }
            }
        )
    }

    /// How photos come to the backend's folder, in parts by tus unless `PHOTOS` says `whole`; or to its bucket, with `s3`.
    private var transport: any AttachmentTransportAdapter {
        let backend = backend
        let headers: @Sendable () async throws -> [String: String] = {
            ["Authorization": "Token \(try await token())"]
        }
        @Sendable func request(_ attachment: Attachment) async throws -> AttachmentHTTPRequest {
            let url = backend.appending(path: "photos/\(attachment.filename)")
            return AttachmentHTTPRequest(url: url, headers: try await headers())
        }
        let whole = HTTPAttachmentTransport(
            resolveUpload: { try await request($0.attachment) },
            resolveDownload: { try await request($0.attachment) },
            resolveDelete: { try await request($0) }
        )
        switch ProcessInfo.processInfo.environment["PHOTOS"] {
        case "whole": return whole
        case "s3":
            return MultipartAttachmentTransport(
                storage: SignedPartsBackend(endpoint: backend.appending(path: "photos/parts"), headers: headers),
                base: SignedURLAttachmentTransport(endpoint: backend.appending(path: "photos/sign"), headers: headers)
            )
        default:
            return TusAttachmentTransport(
                endpoint: backend.appending(path: "photos/tus"),
                base: whole,
                headers: headers
            )
        }
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

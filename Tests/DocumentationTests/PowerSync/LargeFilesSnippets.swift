import Foundation
import PowerSync

func uploadInParts(session: any AppSession, backend: URL) -> any AttachmentTransportAdapter {
    let headers: @Sendable () async throws -> [String: String] = {
        ["Authorization": "Bearer \(try await session.token())"]
    }
    let transport = MultipartAttachmentTransport(
        storage: SignedPartsBackend(endpoint: backend.appending(path: "attachments/parts"), headers: headers),
        base: SignedURLAttachmentTransport(endpoint: backend.appending(path: "attachments/sign"), headers: headers)
    )
    return transport
}

func uploadByTus(
    session: any AppSession,
    server: URL,
    base: any AttachmentTransportAdapter
) -> any AttachmentTransportAdapter {
    var options = TusAttachmentTransport.Options()
    options.metadata = { attachment in ["bucketName": "videos", "objectName": attachment.filename] }
    let transport = TusAttachmentTransport(
        endpoint: server.appending(path: "files"),
        base: base,
        options: options,
        headers: { ["Authorization": "Bearer \(try await session.token())"] }
    )
    return transport
}

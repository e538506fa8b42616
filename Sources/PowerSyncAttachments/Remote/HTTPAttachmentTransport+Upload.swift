import Foundation
import NIOCore
import NIOHTTP1
import PowerSyncClient
import PowerSyncHTTP

extension HTTPAttachmentTransport {
    /// Uploads a file.
    ///
    /// The file must not change meanwhile. At most a few pieces of 256 KiB are in memory.
    public func upload(
        _ located: LocatedAttachment,
        progress: @escaping @Sendable (Int64, Int64?) -> Void
    ) async throws {
        let source = try await UploadSource(located)
        let size = source.size
        let target = try await AttachmentCallPart.named("resolveUpload") { try await resolveUpload(located) }
        var request = HTTPExchangeRequest(target, method: .PUT)
        request.addMediaType(target.mediaType ?? located.attachment.mediaType)
        if let header = target.digestHeader {
            let digest = try await source.sha256()
            request.headers.replaceOrAdd(name: header.name, value: header.text(of: digest))
        }
        progress(0, size)
        request.body = .file(source.file { progress($0, size) })
        let answer = try await http.send(request)
        switch answer.response.status {
        case 200..<300:
            _ = try? await http.body(of: answer, to: request)
        case 412 where request.headers.contains(name: "If-None-Match"):
            // An earlier attempt has brought the file there.
            _ = try? await http.body(of: answer, to: request)
        default:
            throw await http.failure(.status, of: request, answer)
        }
        // The response may be read after a cancellation, but what it says must not be committed.
        try Task.checkCancellation()
        progress(size, size)
    }
}

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
        let path = located.localPath
        let (file, size) = try await FileWork.run {
            let file = try OpenFile(path, for: .reading)
            return (file, try file.size())
        }
        let target = try await AttachmentCallPart.named("resolveUpload") { try await resolveUpload(located) }
        var request = makeRequest(target, method: .PUT)
        if !request.headers.contains(name: "Content-Type"),
            let mediaType = target.mediaType ?? located.attachment.mediaType, mediaType.isHeaderText
        {
            request.headers.add(name: "Content-Type", value: mediaType)
        }
        if let header = target.digestHeader {
            let digest = try await FileDigest.sha256(of: file, upTo: size)
            request.headers.replaceOrAdd(name: header.name, value: header.text(of: digest))
        }
        progress(0, size)
        request.body = .file(
            HTTPExchangeFile(
                path: path,
                size: size,
                read: { offset, count in
                    let bytes = try await FileWork.run { try file.buffer(at: offset, upTo: count) }
                    guard bytes.readableBytes > 0 else {
                        throw AttachmentTransferError(
                            .sizeMismatch,
                            message: "\(path) became shorter than \(size) bytes while it was uploaded"
                        )
                    }
                    return bytes
                },
                progress: { progress($0, size) }
            )
        )
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

extension String {
    /// Whether the text can be the value of a header; media types come from synced data.
    fileprivate var isHeaderText: Bool {
        !isEmpty && utf8.allSatisfy { (0x20...0x7e).contains($0) }
    }
}

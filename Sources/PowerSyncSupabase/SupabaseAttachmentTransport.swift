import Foundation
public import PowerSync

/// Keeps attachments in a bucket of a project's storage, for the user who is signed in.
///
/// ```swift
/// let queue = AttachmentQueue(
///     db: db,
///     transport: SupabaseAttachmentTransport(auth: auth, bucket: "photos"),
///     attachmentsDirectory: directory,
///     watchAttachments: references
/// )
/// ```
///
/// The name of an object is the attachment's file name, or what a closure makes of it, for example with a folder of the user's. What a user
/// may do is decided by the policies of the bucket. Files are streamed; those of more than 6 MiB are uploaded in parts by tus, and
/// continued after cuts. Downloads are continued as `HTTPAttachmentTransport` does it.
public struct SupabaseAttachmentTransport: AttachmentTransportAdapter {
    /// The size that the storage wants parts to have, in bytes: 6 MiB.
    private static let partSize: Int64 = 6 * 1024 * 1024

    private let auth: SupabaseAuth
    private let whole: HTTPAttachmentTransport
    private let inParts: TusAttachmentTransport?

    /// Creates a transport.
    ///
    /// - Parameters:
    ///   - auth: Who is signed in.
    ///   - bucket: The name of the bucket.
    ///   - name: Gives the name of an object, which may have folders: `user/photo.jpg`.
    public init(
        auth: SupabaseAuth,
        bucket: String,
        name: @escaping @Sendable (Attachment) -> String = { $0.filename }
    ) {
        self.auth = auth
        let project = auth.project
        let headers: @Sendable () async throws -> [String: String] = {
            [
                "Authorization": "Bearer \(try await auth.accessToken())", "apikey": project.apiKey, "x-upsert": "true",
            ]
        }
        @Sendable func request(
            _ attachment: Attachment,
            _ path: [String],
            method: String? = nil
        ) async throws -> AttachmentHTTPRequest {
            let path =
                ["storage", "v1", "object"] + path + [bucket] + name(attachment).split(separator: "/").map(String.init)
            return AttachmentHTTPRequest(url: try project.address(path), method: method, headers: try await headers())
        }
        let whole = HTTPAttachmentTransport(
            resolveUpload: { try await request($0.attachment, [], method: "POST") },
            resolveDownload: { try await request($0.attachment, ["authenticated"]) },
            resolveDelete: { try await request($0, []) },
            httpClient: project.httpClient
        )
        self.whole = whole
        inParts = (try? project.address(["storage", "v1", "upload", "resumable"])).map { endpoint in
            var options = TusAttachmentTransport.Options()
            options.partSize = SupabaseAttachmentTransport.partSize
            options.metadata = { attachment in
                var metadata = ["bucketName": bucket, "objectName": name(attachment), "cacheControl": "3600"]
                metadata["contentType"] = attachment.mediaType
                return metadata
            }
            return TusAttachmentTransport(
                endpoint: endpoint,
                base: whole,
                options: options,
                httpClient: project.httpClient,
                headers: headers
            )
        }
    }

    /// Uploads a file, in parts if it is large.
    public func upload(
        _ located: LocatedAttachment,
        progress: @escaping @Sendable (Int64, Int64?) -> Void
    ) async throws {
        try await translating {
            if let inParts, located.attachment.size ?? 0 > SupabaseAttachmentTransport.partSize {
                try await inParts.upload(located, progress: progress)
            } else {
                try await whole.upload(located, progress: progress)
            }
        }
    }

    /// Downloads to the path, or continues what an earlier attempt left there.
    public func download(
        _ located: LocatedAttachment,
        progress: @escaping @Sendable (Int64, Int64?) -> Void
    ) async throws {
        try await translating { try await whole.download(located, progress: progress) }
    }

    /// Deletes an object, and what there is of an upload.
    public func delete(_ attachment: Attachment) async throws {
        try await translating {
            if let inParts { try await inParts.delete(attachment) } else { try await whole.delete(attachment) }
        }
    }

    /// Does something again with a new token when the storage refuses the one of now, and gives its errors their names.
    ///
    /// The storage answers 400 to much, with the status that it means in the body: `{"statusCode":"404","error":"not_found",…}`.
    private func translating(_ transfer: () async throws -> Void) async throws {
        // What the transfer begins with. Another transfer may have renewed it when this one is refused.
        let token = try? await auth.accessToken()
        do {
            do {
                try await transfer()
            } catch let error as AttachmentTransferError where error.isAboutToken {
                _ = try await auth.accessToken(replacing: token)
                try await transfer()
            }
        } catch let error as AttachmentTransferError where error.meantStatus == 404 {
            throw AttachmentStorageError.notFound
        } catch let error as AttachmentTransferError where error.meantStatus == 409 {
            throw AttachmentStorageError.alreadyExists
        }
    }
}

extension AttachmentTransferError {
    /// Whether the token was refused; 403 is what a policy says as well, and only the text tells `jwt expired` from that.
    fileprivate var isAboutToken: Bool {
        meantStatus == 401 || meantStatus == 403 && responseText?.contains("jwt") == true
    }

    private struct Body: Decodable {
        var statusCode: String?
    }

    /// The status that the storage means.
    fileprivate var meantStatus: Int? {
        guard code == .status else { return nil }
        let body = responseText.flatMap { try? JSONDecoder().decode(Body.self, from: Data($0.utf8)) }
        return body?.statusCode.flatMap { Int($0) } ?? httpStatus
    }
}

public import PowerSync
import Foundation

/// Keeps attachments in a bucket of an S3-compatible storage, with the storage's own keys.
///
/// - Important: The keys give access to the whole bucket. This transport is for servers, tools and development; an app for other
///   people uses `SignedURLAttachmentTransport`, whose backend signs with ``S3Signer``.
///
/// ```swift
/// let queue = AttachmentQueue(
///     db: db,
///     transport: S3AttachmentTransport(bucket: bucket, credentials: credentials, keyPrefix: "photos/"),
///     attachmentsDirectory: directory,
///     watchAttachments: references
/// )
/// ```
///
/// The key of an object is the prefix and the attachment's file name. Files are streamed in both directions, and interrupted
/// downloads continued; see `HTTPAttachmentTransport`.
public struct S3AttachmentTransport: AttachmentTransportAdapter {
    private let transport: HTTPAttachmentTransport

    /// Creates a transport.
    ///
    /// - Parameters:
    ///   - bucket: The bucket.
    ///   - credentials: Keys that may read, write and delete in it.
    ///   - keyPrefix: What keys begin with, for example `photos/`.
    ///   - usesChecksums: Whether the storage is told the SHA-256 digest of each upload, so that it refuses a damaged one, and asked
    ///     for that of each download. Uploaded files are read twice. Turn it off for storages that know no checksums.
    public init(
        bucket: S3Bucket,
        credentials: S3Credentials,
        keyPrefix: String = "",
        usesChecksums: Bool = true
    ) {
        self.init(
            signer: S3Signer(bucket: bucket, credentials: credentials),
            keyPrefix: keyPrefix,
            usesChecksums: usesChecksums
        )
    }

    /// Creates a transport.
    init(signer: S3Signer, keyPrefix: String, usesChecksums: Bool) {
        transport = HTTPAttachmentTransport(
            resolveUpload: { located in
                var headers: [String: String] = [:]
                if usesChecksums {
                    let header = AttachmentHTTPRequest.DigestHeader.amzChecksumSHA256
                    headers["x-amz-sdk-checksum-algorithm"] = "SHA256"
                    headers[header.name] = header.text(of: try await located.sha256())
                }
                let key = keyPrefix + located.attachment.filename
                let url = try signer.presignedURL(method: "PUT", key: key, headers: headers)
                return AttachmentHTTPRequest(url: url, headers: headers)
            },
            resolveDownload: { located in
                let headers = usesChecksums ? ["x-amz-checksum-mode": "ENABLED"] : [:]
                let key = keyPrefix + located.attachment.filename
                let url = try signer.presignedURL(method: "GET", key: key, headers: headers)
                return AttachmentHTTPRequest(url: url, headers: headers)
            },
            resolveDelete: { attachment in
                let key = keyPrefix + attachment.filename
                return AttachmentHTTPRequest(url: try signer.presignedURL(method: "DELETE", key: key))
            }
        )
    }

    /// Uploads a file.
    public func upload(
        _ located: LocatedAttachment,
        progress: @escaping @Sendable (Int64, Int64?) -> Void
    ) async throws {
        try await transport.upload(located, progress: progress)
    }

    /// Downloads to the path, or continues what an earlier attempt left there.
    public func download(
        _ located: LocatedAttachment,
        progress: @escaping @Sendable (Int64, Int64?) -> Void
    ) async throws {
        try await transport.download(located, progress: progress)
    }

    /// Deletes an object.
    ///
    /// It is no error when there is none.
    public func delete(_ attachment: Attachment) async throws {
        try await transport.delete(attachment)
    }
}

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
/// downloads continued; see `HTTPAttachmentTransport`. Where the clock of this process is off, a refused signature is made once more
/// with the storage's time.
public struct S3AttachmentTransport: AttachmentTransportAdapter {
    private let transport: HTTPAttachmentTransport
    private let signer: S3Signer
    private let clock: S3Clock
    private let http: AttachmentHTTPClient

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
            bucket: bucket,
            credentials: credentials,
            keyPrefix: keyPrefix,
            usesChecksums: usesChecksums,
            clock: .shared(for: bucket.endpoint)
        )
    }

    /// Creates a transport with a clock.
    init(bucket: S3Bucket, credentials: S3Credentials, keyPrefix: String, usesChecksums: Bool, clock: S3Clock) {
        let signer = S3Signer(bucket: bucket, credentials: credentials) { clock.date }
        self.signer = signer
        self.clock = clock
        http = AttachmentHTTPClient(.standard)
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
        try await withTimeOfStorage { try await transport.upload(located, progress: progress) }
    }

    /// Downloads to the path, or continues what an earlier attempt left there.
    public func download(
        _ located: LocatedAttachment,
        progress: @escaping @Sendable (Int64, Int64?) -> Void
    ) async throws {
        try await withTimeOfStorage { try await transport.download(located, progress: progress) }
    }

    /// Deletes an object.
    ///
    /// It is no error when there is none.
    public func delete(_ attachment: Attachment) async throws {
        try await withTimeOfStorage { try await transport.delete(attachment) }
    }

    /// Does something, and does it once again when the storage has refused the signature and has another time.
    private func withTimeOfStorage(_ body: () async throws -> Void) async throws {
        do {
            try await body()
        } catch let error as AttachmentTransferError where error.httpStatus == 403 {
            guard try await correctsClock() else { throw error }
            try await body()
        }
    }

    /// Asks the storage for its time.
    ///
    /// - Returns: Whether it is another one than signatures have had.
    private func correctsClock() async throws -> Bool {
        let request = AttachmentHTTPRequest(
            url: try signer.url(key: ""),
            headers: signer.signedHeaders(method: "HEAD", key: "", payloadSHA256: FileDigest.sha256(of: Data()))
        )
        do {
            return clock.correct(by: try await http.send("HEAD", request).header("Date"))
        } catch is AttachmentTransferError {
            // What was refused before is what the app is told.
            return false
        }
    }
}

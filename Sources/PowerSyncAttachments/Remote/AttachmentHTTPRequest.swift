public import Foundation
import PowerSyncClient

/// How one file is transferred: where to, and what the request says.
///
/// ```swift
/// AttachmentHTTPRequest(url: signedURL, headers: ["x-ms-blob-type": "BlockBlob"])
/// ```
public struct AttachmentHTTPRequest: Sendable, Equatable {
    /// A header that tells the storage the SHA-256 digest of an upload, so that it refuses a damaged file.
    public struct DigestHeader: Sendable, Hashable {
        /// The name of the header.
        package let name: String
        /// Whether the value is a structured field of RFC 9530, and not the base64 of the digest alone.
        private let isStructured: Bool

        private init(_ name: String, isStructured: Bool = true) {
            self.name = name
            self.isStructured = isStructured
        }

        /// `Content-Digest: sha-256=:…:` of RFC 9530.
        public static let contentDigest = DigestHeader("Content-Digest")
        /// `Repr-Digest: sha-256=:…:` of RFC 9530.
        public static let reprDigest = DigestHeader("Repr-Digest")
        /// `x-amz-checksum-sha256` of S3.
        ///
        /// It must be among the signed headers.
        public static let amzChecksumSHA256 = DigestHeader("x-amz-checksum-sha256", isStructured: false)

        /// The header's value for a digest of 32 bytes.
        package func text(of digest: Data) -> String {
            isStructured ? "sha-256=:\(digest.base64EncodedString()):" : digest.base64EncodedString()
        }
    }

    /// The URL, with `http` or `https`.
    ///
    /// It is sent exactly as it is.
    public var url: URL
    /// The method; `nil` for the usual one: `PUT` for uploads, `GET` for downloads, `DELETE` for deletions.
    public var method: String?
    /// Additional headers.
    ///
    /// They go to the URL's host only, not to another one that it redirects to.
    public var headers: [String: String]
    /// The media type of an upload; `nil` for the attachment's.
    public var mediaType: String?
    /// The size that a download must have, in bytes.
    public var size: Int64?
    /// The SHA-256 digest that a download must have: 32 bytes.
    public var sha256: Data?
    /// Which header tells the storage the digest of an upload.
    ///
    /// The file is read twice then: the header goes before the content.
    public var digestHeader: DigestHeader?

    /// Creates a request.
    ///
    /// - Parameters:
    ///   - url: The URL, with `http` or `https`.
    ///   - method: The method; `nil` for the usual one.
    ///   - headers: Additional headers.
    ///   - mediaType: The media type of an upload; `nil` for the attachment's.
    ///   - size: The size that a download must have, in bytes.
    ///   - sha256: The SHA-256 digest that a download must have: 32 bytes.
    ///   - digestHeader: Which header tells the storage the digest of an upload.
    public init(
        url: URL,
        method: String? = nil,
        headers: [String: String] = [:],
        mediaType: String? = nil,
        size: Int64? = nil,
        sha256: Data? = nil,
        digestHeader: DigestHeader? = nil
    ) {
        self.url = url
        self.method = method
        self.headers = headers
        self.mediaType = mediaType
        self.size = size
        self.sha256 = sha256
        self.digestHeader = digestHeader
    }
}

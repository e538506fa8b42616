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
        private enum Value: Sendable { case contentDigest, reprDigest, amzChecksum }

        private let value: Value

        /// `Content-Digest: sha-256=:…:` of RFC 9530.
        public static let contentDigest = DigestHeader(value: .contentDigest)
        /// `Repr-Digest: sha-256=:…:` of RFC 9530.
        public static let reprDigest = DigestHeader(value: .reprDigest)
        /// `x-amz-checksum-sha256` of S3.
        ///
        /// It must be among the signed headers.
        public static let amzChecksumSHA256 = DigestHeader(value: .amzChecksum)

        /// The name of the header.
        package var name: String {
            switch value {
            case .contentDigest: "Content-Digest"
            case .reprDigest: "Repr-Digest"
            case .amzChecksum: "x-amz-checksum-sha256"
            }
        }

        /// The header's value for a digest of 32 bytes.
        package func text(of digest: Data) -> String {
            switch value {
            case .contentDigest, .reprDigest: "sha-256=:\(digest.base64EncodedString()):"
            case .amzChecksum: digest.base64EncodedString()
            }
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

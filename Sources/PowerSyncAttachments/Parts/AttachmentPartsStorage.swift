public import Foundation
import PowerSyncClient

/// A storage that takes a file in parts, such as S3 with its multipart uploads.
///
/// ``MultipartAttachmentTransport`` calls it. The parts themselves go to the URLs that ``request(for:of:)`` gives. All methods may be
/// repeated after a crash, and are called from background tasks, for the parts of one file possibly at the same time.
///
/// ``AttachmentStorageError/notFound`` means that the storage does not know the upload, any more: the transport begins anew.
/// ``AttachmentStorageError/alreadyExists`` means that the file is there, so that there is nothing to upload. Everything else is a failure
/// after which the upload is continued later.
public protocol AttachmentPartsStorage: Sendable {
    /// Begins an upload.
    ///
    /// - Parameter attachment: The attachment, with the size of its file.
    /// - Returns: What the storage calls the upload.
    /// - Throws: ``AttachmentStorageError/alreadyExists``, or any other error.
    func beginUpload(of attachment: Attachment) async throws -> String
    /// Gives the request that uploads a part: the URL, the method (`PUT` unless it says another one) and the headers.
    ///
    /// The answer to it has an `ETag`. Called again when the storage refuses the request with status 400, 401 or 403.
    func request(for part: AttachmentPart, of upload: AttachmentPartsUpload) async throws -> AttachmentHTTPRequest
    /// The parts that the storage has, in any order.
    func parts(of upload: AttachmentPartsUpload) async throws -> [StoredAttachmentPart]
    /// Makes the file of its parts.
    ///
    /// - Parameters:
    ///   - upload: The upload.
    ///   - parts: All parts, in the order of their numbers.
    /// - Returns: Whether the file is there now. `false` when the storage does not have the parts as they are named here: it is asked for
    ///   those that it has, and gets the others again.
    /// - Throws: ``AttachmentStorageError``, or any other error.
    func complete(_ upload: AttachmentPartsUpload, parts: [StoredAttachmentPart]) async throws -> Bool
    /// Removes an upload and its parts. No error when there is none.
    func abort(_ upload: AttachmentPartsUpload) async throws
}

/// An upload in parts that a storage has begun.
public struct AttachmentPartsUpload: Sendable {
    /// The attachment, with the size of its file.
    public let attachment: Attachment
    /// What the storage calls the upload.
    public let id: String

    /// Names an upload.
    ///
    /// - Parameters:
    ///   - attachment: The attachment, with the size of its file.
    ///   - id: What the storage calls the upload.
    public init(attachment: Attachment, id: String) {
        self.attachment = attachment
        self.id = id
    }
}

/// A part of a file that is to be uploaded.
///
/// As JSON: `{"number":3,"size":5242880,"sha256":"n4bQgYhMfWWaL+qgxVrQFaO/TxsrC4Is0V1sFbDwCgg="}`.
public struct AttachmentPart: Sendable, Hashable, Codable {
    /// Its number; the first part has 1.
    public let number: Int
    /// How many bytes it has.
    public let size: Int64
    /// The SHA-256 digest of its bytes: 32 bytes.
    public let sha256: Data

    /// Describes a part.
    ///
    /// - Parameters:
    ///   - number: Its number; the first part has 1.
    ///   - size: How many bytes it has.
    ///   - sha256: The SHA-256 digest of its bytes: 32 bytes.
    public init(number: Int, size: Int64, sha256: Data) {
        self.number = number
        self.size = size
        self.sha256 = sha256
    }
}

/// A part of a file that a storage has.
///
/// As JSON: `{"number":3,"size":5242880,"etag":"9b2c…","sha256":"n4bQgYhMfWWaL+qgxVrQFaO/TxsrC4Is0V1sFbDwCgg="}`.
public struct StoredAttachmentPart: Sendable, Hashable, Codable {
    /// Its number; the first part has 1.
    public let number: Int
    /// How many bytes it has.
    public let size: Int64
    /// The entity tag that the storage has given it, without quotes.
    public let etag: String
    /// The SHA-256 digest of its bytes, if the storage tells it: 32 bytes.
    public let sha256: Data?

    /// Describes a part.
    ///
    /// - Parameters:
    ///   - number: Its number; the first part has 1.
    ///   - size: How many bytes it has.
    ///   - etag: The entity tag that the storage has given it; quotes around it are taken away.
    ///   - sha256: The SHA-256 digest of its bytes, if the storage tells it: 32 bytes.
    public init(number: Int, size: Int64, etag: String, sha256: Data? = nil) {
        self.number = number
        self.size = size
        self.etag = String(etag.trimmingPrefix("\"").prefix { $0 != "\"" })
        self.sha256 = sha256
    }

    /// Reads the JSON, in which the entity tag may have its quotes.
    public init(from decoder: any Decoder) throws {
        let fields = try decoder.container(keyedBy: CodingKeys.self)
        self.init(
            number: try fields.decode(Int.self, forKey: .number),
            size: try fields.decode(Int64.self, forKey: .size),
            etag: try fields.decode(String.self, forKey: .etag),
            sha256: try fields.decodeIfPresent(Data.self, forKey: .sha256)
        )
    }

    /// Whether this is the same part with the same content, as far as both descriptions say.
    func isSame(as other: StoredAttachmentPart) -> Bool {
        guard number == other.number, size == other.size, etag == other.etag else { return false }
        guard let sha256, let digest = other.sha256 else { return true }
        return sha256 == digest
    }
}

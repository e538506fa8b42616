import PowerSyncClient

/// What an app's backend is asked for before each transfer.
///
/// As JSON, with the fields that are known:
///
/// ```json
/// {"operation":"upload","id":"5c…","filename":"5c….jpg","mediaType":"image/jpeg","size":48213,"metaData":"{}"}
/// ```
public struct SignedURLRequest: Sendable, Hashable, Codable {
    /// What is to happen to the remote file.
    public enum Operation: String, Sendable, Hashable, Codable {
        /// It is to be created.
        case upload
        /// It is to be read.
        case download
        /// It is to be deleted.
        case delete
    }

    /// What is to happen to the file.
    public let operation: Operation
    /// The id of the attachment.
    public let id: String
    /// The name of the file.
    public let filename: String
    /// The MIME type.
    public let mediaType: String?
    /// The size in bytes: of the file that is to be uploaded, or of one that this device has had before.
    public let size: Int64?
    /// The app's free text of the attachment.
    public let metaData: String?

    /// Creates a request for an attachment.
    ///
    /// - Parameters:
    ///   - operation: What is to happen to the file.
    ///   - attachment: The attachment.
    public init(_ operation: Operation, _ attachment: Attachment) {
        self.operation = operation
        id = attachment.id
        filename = attachment.filename
        mediaType = attachment.mediaType
        size = attachment.size
        metaData = attachment.metaData
    }
}

import PowerSyncClient

/// A reference to a file, as the app's own tables state it.
public struct WatchedAttachmentItem: Sendable, Equatable {
    /// The id of the attachment.
    public let id: String
    /// The extension of the file, without the dot; used when there is no ``filename``.
    public let fileExtension: String?
    /// The name of the file; it may contain sub-directories.
    ///
    /// It belongs to one attachment. Of two references with one name each gets a file with a path of its own, and the download of one waits
    /// as long as the other is to be uploaded.
    public let filename: String?
    /// Free text for the attachment's row.
    public let metaData: String?
    /// The MIME type for the attachment's row.
    public let mediaType: String?

    /// Creates a reference.
    ///
    /// - Parameters:
    ///   - id: The id of the attachment.
    ///   - fileExtension: The extension of the file, without the dot.
    ///   - filename: The name of the file. It wins over `fileExtension`.
    ///   - metaData: Free text for the attachment's row.
    ///   - mediaType: The MIME type for the attachment's row.
    /// - Precondition: There is a `fileExtension` or a `filename`.
    public init(
        id: String,
        fileExtension: String? = nil,
        filename: String? = nil,
        metaData: String? = nil,
        mediaType: String? = nil
    ) {
        precondition(
            fileExtension != nil || filename != nil,
            "A WatchedAttachmentItem needs a fileExtension or a filename."
        )
        self.id = id
        self.fileExtension = fileExtension
        self.filename = filename
        self.metaData = metaData
        self.mediaType = mediaType
    }
}

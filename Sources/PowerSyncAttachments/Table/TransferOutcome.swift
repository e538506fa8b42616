/// What a transfer came to, if that changes a row.
///
/// A failure that is tried again changes none.
enum TransferOutcome: Sendable, Equatable {
    /// The remote storage has the file.
    case uploaded
    /// The whole file is at a path.
    case downloaded(path: String, size: Int64)
    /// Neither the remote storage nor this device has the file.
    case deleted
    /// There is nothing to upload.
    case localFileMissing
    /// The error handler wants no further attempt.
    case givenUp
}

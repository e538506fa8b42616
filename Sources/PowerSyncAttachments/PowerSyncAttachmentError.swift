public import Foundation
import PowerSyncClient

/// An error of the attachments.
public enum PowerSyncAttachmentError: Error, LocalizedError {
    /// What the message says.
    case generalError(String)
    /// There is no attachment of this id.
    case notFound(String)
    /// There is no file at this path.
    case fileNotFound(String)
    /// A file could not be read or written.
    case ioError(any Error)
    /// A file name or path leads outside the attachments directory, or cannot be one.
    case invalidPath(String)
    /// The queue has been closed.
    case closed(String)

    /// The text for people.
    public var errorDescription: String? {
        switch self {
        case .generalError(let message): message
        case .notFound(let message): "No such attachment: \(message)"
        case .fileNotFound(let path): "There is no file at \(path)."
        case .ioError(let error): "A file could not be read or written: \(error.localizedDescription)"
        case .invalidPath(let message): "Not a path for an attachment: \(message)"
        case .closed(let message): "The attachment queue is closed: \(message)"
        }
    }
}

/// What a remote storage says about a file, in a form that error handlers and the queue understand.
///
/// Adapters may throw it instead of an error of their own.
public enum AttachmentStorageError: Error, LocalizedError, Equatable {
    /// The storage has no such file. When deleting, the queue takes this for success.
    case notFound
    /// The storage has the file already. When uploading, the queue takes this for success: files are immutable.
    case alreadyExists

    /// The text for people.
    public var errorDescription: String? {
        switch self {
        case .notFound: "The remote storage has no such file."
        case .alreadyExists: "The remote storage has this file already."
        }
    }
}

extension PowerSyncAttachmentError: CustomStringConvertible {
    /// The text for people.
    public var description: String { errorDescription ?? "" }
}

extension AttachmentStorageError: CustomStringConvertible {
    /// The text for people.
    public var description: String { errorDescription ?? "" }
}

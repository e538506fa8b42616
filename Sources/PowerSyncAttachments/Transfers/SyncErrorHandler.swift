import PowerSyncClient

/// Decides what happens after a failed transfer.
///
/// Without a handler every failed transfer is tried again, for ever. Each method is called once per failed attempt, with the
/// attachment as it was when the attempt began and the error that the storage adapter threw. A cancelled transfer is no failure.
///
/// ```swift
/// struct GiveUpMissingFiles: SyncErrorHandler {
///     func onDownloadError(attachment: Attachment, error: Error) async -> Bool {
///         if case AttachmentStorageError.notFound = error { return false }
///         return true
///     }
///     func onUploadError(attachment: Attachment, error: Error) async -> Bool { true }
///     func onDeleteError(attachment: Attachment, error: Error) async -> Bool { true }
/// }
/// ```
public protocol SyncErrorHandler: Sendable {
    /// Whether a failed download is tried again. `false` archives the attachment.
    func onDownloadError(attachment: Attachment, error: any Error) async -> Bool
    /// Whether a failed upload is tried again. `false` archives the attachment; its file stays until it expires.
    func onUploadError(attachment: Attachment, error: any Error) async -> Bool
    /// Whether a failed deletion is tried again. `false` archives the attachment.
    func onDeleteError(attachment: Attachment, error: any Error) async -> Bool
}

/// A handler that gives up after every error.
///
/// - Important: It archives attachments even after a plain network error, so an app that is offline for a moment gives its uploads
///   up. Most apps want no handler at all (every error is retried) or one of their own.
public final class DefaultSyncErrorHandler: SyncErrorHandler, Sendable {
    /// Creates the handler.
    public init() {}

    /// Gives up.
    public func onDownloadError(attachment: Attachment, error: any Error) async -> Bool { false }
    /// Gives up.
    public func onUploadError(attachment: Attachment, error: any Error) async -> Bool { false }
    /// Gives up.
    public func onDeleteError(attachment: Attachment, error: any Error) async -> Bool { false }
}

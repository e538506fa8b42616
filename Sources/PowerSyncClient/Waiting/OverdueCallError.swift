public import Foundation

/// A call into the app's code took longer than its limit.
///
/// ```swift
/// if let error = database.currentStatus.uploadError as? OverdueCallError, error.call == "uploadData" {
///     show("The upload hangs.")
/// }
/// ```
///
/// In the status it is the error of the connection, of the upload or of an attachment. The limits are
/// ``ConnectOptions/answerLimit``, ``ConnectOptions/uploadLimit`` and ``AttachmentQueueOptions/transferLimit``.
public struct OverdueCallError: Error, LocalizedError, Sendable {
    /// The method or closure of the app, for example `fetchCredentials`.
    public let call: String
    /// The limit that was reached.
    public let limit: Duration
    /// What the call has thrown after it was cancelled; `nil` when it has not returned, or is no longer waited for.
    public let underlyingError: (any Error)?
    private let option: String

    /// Creates an error.
    ///
    /// - Parameters:
    ///   - call: The method or closure.
    ///   - limit: The limit that was reached.
    ///   - underlyingError: What the call has thrown.
    init(call: String, limit: AppCallLimit, underlyingError: (any Error)? = nil) {
        self.call = call
        self.limit = limit.duration
        self.underlyingError = underlyingError
        option = limit.option
    }

    /// The text for people.
    public var errorDescription: String? {
        let end = underlyingError.map { ", and then threw: \($0.lineOfText)" } ?? "."
        return "\(call) has not returned within its limit of \(limit) (\(option)) and was cancelled\(end)"
    }
}

extension OverdueCallError: CustomStringConvertible {
    /// The text for people.
    public var description: String { errorDescription ?? "" }
}

public import Foundation
import PowerSyncClient

/// A call into the app's code for one attachment that has reached ``AttachmentQueueOptions/transferLimit`` and has not returned.
///
/// ```swift
/// for await progress in queue.overallProgress {
///     for call in progress.overdueCalls { show("\(call)") }
/// }
/// ```
///
/// The call was cancelled. Until it returns, nothing else is called for its attachment; the other attachments go on.
public struct OverdueAttachmentCall: Sendable, Hashable {
    /// The id of the attachment.
    public let attachmentId: String
    /// The method or closure, for example `uploadFile`, or `resolveUpload in upload` for a closure that a transport calls.
    public let call: String
    /// When the call began.
    public let since: Date

    init(attachmentId: String, call: String, since: Date) {
        self.attachmentId = attachmentId
        self.call = call
        self.since = since
    }
}

extension OverdueAttachmentCall: CustomStringConvertible {
    /// The call, the attachment and the date, in a line.
    public var description: String {
        "\(call) of the attachment \(attachmentId) has not returned since \(since.formatted(.iso8601))"
    }
}

public import Foundation
import PowerSyncClient
import PowerSyncProtocol

/// How far all transfers of a queue are.
///
/// Counting begins anew when transfers come up after everything was done.
public struct AttachmentQueueProgress: Sendable, Equatable {
    /// The transfers that were completed.
    public internal(set) var finishedTransfers = 0
    /// The transfers that are running, waiting for their turn, or waiting to be tried again.
    public internal(set) var remainingTransfers = 0
    /// The transfers that are running.
    public internal(set) var running: [AttachmentTransferProgress] = []
    /// The calls into the app's code that have reached ``AttachmentQueueOptions/transferLimit`` and have not returned, the oldest first.
    public internal(set) var overdueCalls: [OverdueAttachmentCall] = []

    /// Creates the progress of a queue that has nothing to do.
    public init() {}

    /// The bytes that the running transfers have moved.
    public var runningBytes: Int64 { running.reduce(0) { $0 + $1.transferredBytes } }

    /// The part that is done, from 0 to 1, counted in files; a running transfer counts with the part that it has moved.
    ///
    /// `nil` when there is nothing to do.
    public var fraction: Double? {
        let total = finishedTransfers + remainingTransfers
        guard total > 0 else { return nil }
        let parts = running.reduce(0) { $0 + ($1.fraction ?? 0) }
        return min(1, (Double(finishedTransfers) + parts) / Double(total))
    }
}

extension AttachmentQueueProgress: CustomStringConvertible {
    /// How many transfers there are, in a line.
    public var description: String {
        let transfers =
            "\(finishedTransfers.counted("transfer")) finished, \(remainingTransfers) remaining, \(running.count) of them running"
        return ([transfers] + overdueCalls.map(\.description)).joined(separator: "; ")
    }
}

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

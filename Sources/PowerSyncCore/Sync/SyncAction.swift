package import PowerSyncProtocol

/// What the driver of a sync iteration has to do after the transaction of a ``SyncStep`` was committed
/// (docs/client-sync.md "Iterations").
///
/// The actions of one step are in the order in which they are to be performed. Nothing of it may happen before the
/// commit.
package enum SyncAction: Sendable, Equatable {
    /// Writes a log message.
    case log(SyncLogMessage)
    /// Opens the stream; exactly once in an iteration.
    case establishStream(StreamingSyncRequest)
    /// Fetches credentials. With `didExpire` the cached ones are dropped first; otherwise they are replaced in the
    /// background, followed by ``SyncEvent/tokenRefreshed``.
    case fetchCredentials(didExpire: Bool)
    /// A complete checkpoint was published: clears the download error, resolves waiters.
    case didCompleteSync
    /// The number of the validated checkpoint that local writes keep from being published has changed; `nil` when there is
    /// none any more. The first action of a step, with the state at its end.
    case heldBack(OpID?)
    /// Looks at the upload queue, which may hold something that the driver was not told of.
    case lookAtUploads(UploadReason)
    /// Publishes a status, which differs from the one before.
    case updateStatus(DownloadStatus)
    /// Closes the stream and ends the iteration; always the last action. With `hideDisconnect` the next iteration
    /// starts at once and the status does not show the interruption.
    case closeStream(hideDisconnect: Bool)
}

/// Why to look at the upload queue, from the weakest to the strongest reason.
package enum UploadReason: Int, Comparable, Sendable {
    /// The service is alive: look whether something was left behind.
    case keepalive
    /// Something was written, or a new stream delivered its first line.
    case news

    package static func < (lhs: UploadReason, rhs: UploadReason) -> Bool {
        lhs.rawValue < rhs.rawValue
    }
}

/// A message for the log.
package struct SyncLogMessage: Sendable, Equatable {
    /// How important the message is.
    package enum Severity: Sendable {
        case debug
        case info
        case warning
    }

    /// How important the message is.
    package var severity: Severity
    /// The message, without row data and tokens.
    package var text: String

    /// Creates a message.
    package init(severity: Severity, text: String) {
        self.severity = severity
        self.text = text
    }
}

/// The outcome of handling some events in one transaction.
package struct SyncStep: Sendable {
    /// How many of the events were handled, if any; the rest is to be submitted again in another transaction, or dropped
    /// when the last action closes the stream.
    package var handledEvents: Int
    /// What to do after the commit.
    package var actions: [SyncAction]

    /// Creates a step.
    package init(handledEvents: Int, actions: [SyncAction]) {
        self.handledEvents = handledEvents
        self.actions = actions
    }
}

extension [SyncAction] {
    /// Appends a log message.
    mutating func log(_ severity: SyncLogMessage.Severity, _ text: String) {
        append(.log(SyncLogMessage(severity: severity, text: text)))
    }
}

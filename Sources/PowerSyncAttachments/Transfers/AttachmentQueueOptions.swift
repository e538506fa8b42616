import Foundation
public import PowerSyncClient

/// How an ``AttachmentQueue`` works.
///
/// ```swift
/// var options = AttachmentQueueOptions()
/// options.maxConcurrentTransfers = 4
/// options.archivedCacheByteLimit = 500_000_000
/// ```
public struct AttachmentQueueOptions: Sendable {
    /// The attachments table, which belongs to this queue alone: ``defaultAttachmentsTableName`` by default.
    public var tableName = defaultAttachmentsTableName
    /// Decides whether a failed transfer is tried again; always, by default.
    public var errorHandler: (any SyncErrorHandler)?
    /// After how long the queue looks at its table without a reason: 30 s by default; zero or less for never.
    public var syncInterval = Duration.seconds(30)
    /// The least time between two looks at the table that are caused by changes: 1 s by default.
    public var syncThrottle = Duration.seconds(1)
    /// How many files are transferred at a time: one by default.
    public var maxConcurrentTransfers = 1
    /// Whether files of new references are downloaded.
    public var downloadAttachments = true
    /// Asked before each transfer, for example whether the network is good enough; everything is allowed by default.
    ///
    /// What is not allowed waits for the next look at the table; ``AttachmentQueue/triggerSync()`` causes one.
    public var transferPolicy: AttachmentTransferPolicy?
    /// After how long without progress a call into the app's code for one attachment is cancelled: 10 minutes by default; zero or less for
    /// never.
    ///
    /// These calls are the methods of a ``RemoteStorageAdapter``, an ``AttachmentTransportAdapter`` and a ``SyncErrorHandler``, the closures of the
    /// transports (`resolveUpload`, `resolve`, `headers` and the others), ``transferPolicy``, and ``getLocalUri`` before a transfer. Progress is
    /// a byte that the transport reports, or a statement through the database. A ``RemoteStorageAdapter`` reports no bytes: let the limit be
    /// longer than its slowest transfer takes.
    ///
    /// A call that does not return after its cancellation is named by ``AttachmentQueueProgress/overdueCalls`` and the log. Nothing more is
    /// called for its attachment before it returns, and its result counts when it does. Up to 16 of these calls do not count against
    /// ``maxConcurrentTransfers``, so that the other attachments go on.
    public var transferLimit = Duration.seconds(600)
    /// How many archived attachments are kept with their files: 100 by default.
    public var archivedCacheLimit: Int64 = 100
    /// How many bytes of archived files are kept, besides ``archivedCacheLimit``; no limit by default.
    public var archivedCacheByteLimit: Int64?
    /// Whether nothing is archived before the database has synced for the first time.
    public var archiveOnlyAfterFirstSync = false
    /// Directories to create below the directory for files.
    public var subdirectories: [String] = []
    /// Maps a file name to a path; `<directory>/<filename>` by default.
    ///
    /// With a closure the queue does not check that paths are inside the directory.
    public var getLocalUri: (@Sendable (_ filename: String) async -> String)?
    /// Where messages go; to the database's logger by default.
    public var logger: (any LoggerProtocol)?

    /// Creates the default options.
    public init() {}
}

extension AttachmentQueueOptions {
    /// The least time between two looks at the table that are caused by changes, in bounds.
    var throttle: Duration { min(max(syncThrottle, .zero), Argument.longestTime) }

    /// How long a call into the app's code may go on without progress.
    var callLimit: AppCallLimit {
        AppCallLimit(
            transferLimit > .zero ? transferLimit : Argument.longestTime,
            option: "AttachmentQueueOptions.transferLimit"
        )
    }
}

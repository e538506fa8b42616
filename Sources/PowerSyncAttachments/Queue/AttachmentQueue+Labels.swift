public import Foundation
public import PowerSyncClient

extension AttachmentQueue {
    /// Creates a queue over a remote storage, with options as arguments, as in the established SDK.
    ///
    /// Every argument after `localStorage` is one of the ``AttachmentQueueOptions``, where it is described; those in seconds
    /// are durations there. New code passes them.
    public init(
        db: any PowerSyncDatabaseProtocol,
        remoteStorage: any RemoteStorageAdapter,
        attachmentsDirectory: String,
        watchAttachments: @Sendable @escaping () throws -> AsyncThrowingStream<[WatchedAttachmentItem], any Error>,
        localStorage: any LocalStorageAdapter = FileManagerStorageAdapter(),
        attachmentsQueueTableName: String = defaultAttachmentsTableName,
        errorHandler: (any SyncErrorHandler)? = nil,
        syncInterval: TimeInterval = 30.0,
        archivedCacheLimit: Int64 = 100,
        syncThrottleDuration: TimeInterval = 1.0,
        subdirectories: [String]? = nil,
        downloadAttachments: Bool = true,
        logger: (any LoggerProtocol)? = nil,
        getLocalUri: (@Sendable (_ filename: String) async -> String)? = nil,
        maxConcurrentTransfers: Int = 1,
        transferPolicy: AttachmentTransferPolicy? = nil,
        archivedCacheByteLimit: Int64? = nil,
        archiveOnlyAfterFirstSync: Bool = false
    ) {
        var options = AttachmentQueueOptions()
        options.tableName = attachmentsQueueTableName
        options.errorHandler = errorHandler
        options.syncInterval = Duration(clampingSeconds: syncInterval)
        options.archivedCacheLimit = archivedCacheLimit
        options.syncThrottle = Duration(clampingSeconds: syncThrottleDuration)
        options.subdirectories = subdirectories ?? []
        options.downloadAttachments = downloadAttachments
        options.logger = logger
        options.getLocalUri = getLocalUri
        options.maxConcurrentTransfers = maxConcurrentTransfers
        options.transferPolicy = transferPolicy
        options.archivedCacheByteLimit = archivedCacheByteLimit
        options.archiveOnlyAfterFirstSync = archiveOnlyAfterFirstSync
        self.init(
            db: db,
            remoteStorage: remoteStorage,
            attachmentsDirectory: attachmentsDirectory,
            watchAttachments: watchAttachments,
            localStorage: localStorage,
            options: options
        )
    }
}

package import Foundation

/// Where a queue's files go.
package enum AttachmentQueueStorage: Sendable {
    /// To a storage that takes and gives whole files.
    case remote(any RemoteStorageAdapter)
    /// Through a transport that moves them by itself.
    case transport(any AttachmentTransportAdapter)

    /// The remote storage; one that refuses everything beside a transport.
    var remoteStorage: any RemoteStorageAdapter {
        switch self {
        case .remote(let storage): storage
        case .transport: RefusingRemoteStorage()
        }
    }
}

/// What a queue has for a remote storage when a transport does the work.
private struct RefusingRemoteStorage: RemoteStorageAdapter {
    private var error: PowerSyncAttachmentError {
        .generalError("This attachment queue has a transport and no remote storage.")
    }

    func uploadFile(fileData: Data, attachment: Attachment) async throws { throw error }
    func downloadFile(attachment: Attachment) async throws -> Data { throw error }
    func deleteFile(attachment: Attachment) async throws { throw error }
}

/// The options of a queue, with the defaults of its initialisers.
package struct AttachmentQueueConfiguration: Sendable {
    package var tableName: String
    package var errorHandler: (any SyncErrorHandler)?
    /// In seconds; 0 or less for no timer.
    package var syncInterval: TimeInterval
    package var archivedCacheLimit: Int64
    /// In seconds.
    package var syncThrottleDuration: TimeInterval
    package var subdirectories: [String]
    package var downloadAttachments: Bool
    package var logger: (any LoggerProtocol)?
    package var getLocalUri: (@Sendable (_ filename: String) async -> String)?
    package var maxConcurrentTransfers: Int
    package var transferPolicy: AttachmentTransferPolicy?
    package var archivedCacheByteLimit: Int64?
    package var archiveOnlyAfterFirstSync: Bool

    /// Creates options.
    package init(
        tableName: String = defaultAttachmentsTableName,
        errorHandler: (any SyncErrorHandler)? = nil,
        syncInterval: TimeInterval = 30,
        archivedCacheLimit: Int64 = 100,
        syncThrottleDuration: TimeInterval = 1,
        subdirectories: [String] = [],
        downloadAttachments: Bool = true,
        logger: (any LoggerProtocol)? = nil,
        getLocalUri: (@Sendable (_ filename: String) async -> String)? = nil,
        maxConcurrentTransfers: Int = 1,
        transferPolicy: AttachmentTransferPolicy? = nil,
        archivedCacheByteLimit: Int64? = nil,
        archiveOnlyAfterFirstSync: Bool = false
    ) {
        self.tableName = tableName
        self.errorHandler = errorHandler
        self.syncInterval = syncInterval
        self.archivedCacheLimit = archivedCacheLimit
        self.syncThrottleDuration = syncThrottleDuration
        self.subdirectories = subdirectories
        self.downloadAttachments = downloadAttachments
        self.logger = logger
        self.getLocalUri = getLocalUri
        self.maxConcurrentTransfers = maxConcurrentTransfers
        self.transferPolicy = transferPolicy
        self.archivedCacheByteLimit = archivedCacheByteLimit
        self.archiveOnlyAfterFirstSync = archiveOnlyAfterFirstSync
    }
}

extension AttachmentQueueConfiguration {
    /// Puts a queue together.
    func makeParts(
        db: any PowerSyncDatabaseProtocol,
        storage: AttachmentQueueStorage,
        directory: String,
        references: @Sendable @escaping () throws -> AsyncThrowingStream<[WatchedAttachmentItem], any Error>,
        localStorage: any LocalStorageAdapter,
        environment: AttachmentEnvironment
    ) -> AttachmentQueueParts {
        let logger = logger ?? db.logger
        let table = SharedAttachmentTables.shared.table(named: tableName, of: db)
        let service = AttachmentService(
            context: AttachmentContext(
                db: db,
                tableName: tableName,
                logger: logger,
                maxArchivedCount: archivedCacheLimit,
                now: { environment.now().millisecondsSince1970 }
            ),
            lock: table.lock
        )
        let paths =
            if let getLocalUri {
                AttachmentPaths(directory: nil, locate: getLocalUri)
            } else {
                AttachmentPaths(directory: directory, locate: { "\(directory)/\($0)" })
            }
        let engine = TransferEngine(
            context: TransferContext(
                transport: storage.transport(over: localStorage),
                keepsPartialDownloads: storage.keepsPartialDownloads,
                localStorage: localStorage,
                service: service,
                paths: paths,
                errorHandler: errorHandler,
                options: transferOptions,
                logger: logger,
                table: table,
                progress: TransferProgressHub(),
                clock: ElapsedClock(environment.clock),
                random: environment.random,
                isDatabaseClosed: { [weak local = (db as? SyncedDatabase)?.local] in local?.isClosed ?? false }
            )
        )
        return AttachmentQueueParts(
            db: db,
            service: service,
            localStorage: localStorage,
            logger: logger,
            engine: engine,
            paths: paths,
            table: table,
            tableName: tableName,
            directory: directory,
            subdirectories: subdirectories,
            interval: syncInterval > 0 ? ConnectOptions.duration(seconds: syncInterval) : nil,
            downloads: downloadAttachments,
            archivesOnlyAfterFirstSync: archiveOnlyAfterFirstSync,
            environment: environment,
            references: references
        )
    }

    private var transferOptions: TransferOptions {
        TransferOptions(
            maxConcurrentTransfers: maxConcurrentTransfers,
            policy: transferPolicy,
            throttle: ConnectOptions.duration(seconds: syncThrottleDuration),
            downloads: downloadAttachments,
            archivedCacheByteLimit: archivedCacheByteLimit
        )
    }
}

extension AttachmentQueueStorage {
    /// What moves the files.
    fileprivate func transport(over localStorage: any LocalStorageAdapter) -> any AttachmentTransportAdapter {
        switch self {
        case .remote(let storage): BufferedAttachmentTransport(remote: storage, local: localStorage)
        case .transport(let transport): transport
        }
    }

    /// Whether an interrupted download can be continued.
    fileprivate var keepsPartialDownloads: Bool {
        switch self {
        case .remote: false
        case .transport: true
        }
    }
}

public import PowerSyncClient

/// Keeps files on this device and in a remote storage in step with the references in the app's tables.
///
/// The app's tables hold ids; the queue downloads the files of new ids, uploads the files that the app saves, and removes files that
/// nothing refers to any more. All of it survives restarts and times without a network.
///
/// ```swift
/// let queue = AttachmentQueue(
///     db: db,
///     remoteStorage: storage,
///     attachmentsDirectory: directory,
///     watchAttachments: {
///         try db.watch("SELECT photo_id FROM users WHERE photo_id IS NOT NULL") { cursor in
///             WatchedAttachmentItem(id: try cursor.getString(name: "photo_id"), fileExtension: "jpg")
///         }
///     }
/// )
/// try await queue.startSync()
///
/// try await queue.saveFile(data: photo, mediaType: "image/jpeg", fileExtension: "jpg") { transaction, attachment in
///     try transaction.execute(
///         sql: "UPDATE users SET photo_id = ? WHERE id = ?",
///         parameters: [attachment.id, user]
///     )
/// }
/// ```
///
/// Every queue needs an attachments table of its own; see ``createAttachmentTable(name:)``. Files are immutable: a changed picture
/// gets a new id. An element of `watchAttachments` that is empty because the app's tables are empty for a moment archives everything;
/// ``AttachmentQueueOptions/archiveOnlyAfterFirstSync`` protects from that at the first sign-in.
///
/// The queue stops when its last reference goes away.
///
/// Its properties are read with `await`, as in the established SDK: `await queue.db`.
public actor AttachmentQueue: AttachmentQueueProtocol {
    // Not `nonisolated`: for that the compiler warns of the `await` of apps that were written for the established SDK.

    /// The database.
    public let db: any PowerSyncDatabaseProtocol
    /// Takes and gives files; throws for everything in a queue that was made with a transport.
    public let remoteStorage: any RemoteStorageAdapter
    /// Where the files are on this device.
    public let localStorage: any LocalStorageAdapter
    /// Whether files of new references are downloaded.
    public let downloadAttachments: Bool
    /// Where messages go.
    public let logger: any LoggerProtocol
    /// The attachments table.
    public let attachmentsService: any AttachmentServiceProtocol
    /// What transfers.
    public let syncingService: SyncingService

    nonisolated let parts: AttachmentQueueParts
    nonisolated let runner: AttachmentRunner

    /// Whether ``close()`` was called.
    public var closed: Bool { runner.isClosed }

    /// Creates a queue over a remote storage that takes and gives whole files.
    ///
    /// It begins to compare rows and files at once; see ``waitForInit()``. Nothing is transferred before ``startSync()``.
    ///
    /// - Parameters:
    ///   - db: The database. The queue does not close it.
    ///   - remoteStorage: Takes and gives files.
    ///   - attachmentsDirectory: The absolute path of the directory for files.
    ///   - watchAttachments: Called by each start. Each element of the stream is the complete set of references.
    ///   - localStorage: Keeps the files on this device.
    ///   - options: How the queue works.
    public init(
        db: any PowerSyncDatabaseProtocol,
        remoteStorage: any RemoteStorageAdapter,
        attachmentsDirectory: String,
        watchAttachments: @Sendable @escaping () throws -> AsyncThrowingStream<[WatchedAttachmentItem], any Error>,
        localStorage: any LocalStorageAdapter = FileManagerStorageAdapter(),
        options: AttachmentQueueOptions
    ) {
        self.init(
            db: db,
            storage: .remote(remoteStorage),
            attachmentsDirectory: attachmentsDirectory,
            watchAttachments: watchAttachments,
            localStorage: localStorage,
            options: options
        )
    }

    /// Creates a queue over a transport, which moves bytes between the disk and the remote storage by itself.
    ///
    /// - Parameters:
    ///   - db: The database. The queue does not close it.
    ///   - transport: Moves files.
    ///   - attachmentsDirectory: The absolute path of the directory for files.
    ///   - watchAttachments: Called by each start. Each element of the stream is the complete set of references.
    ///   - localStorage: Keeps the files on this device, where the transport reads and writes them.
    ///   - options: How the queue works.
    public init(
        db: any PowerSyncDatabaseProtocol,
        transport: any AttachmentTransportAdapter,
        attachmentsDirectory: String,
        watchAttachments: @Sendable @escaping () throws -> AsyncThrowingStream<[WatchedAttachmentItem], any Error>,
        localStorage: any LocalStorageAdapter = FileManagerStorageAdapter(),
        options: AttachmentQueueOptions = AttachmentQueueOptions()
    ) {
        self.init(
            db: db,
            storage: .transport(transport),
            attachmentsDirectory: attachmentsDirectory,
            watchAttachments: watchAttachments,
            localStorage: localStorage,
            options: options
        )
    }

    /// Creates a queue in an environment of its own.
    package init(
        db: any PowerSyncDatabaseProtocol,
        storage: AttachmentQueueStorage,
        attachmentsDirectory: String,
        watchAttachments: @Sendable @escaping () throws -> AsyncThrowingStream<[WatchedAttachmentItem], any Error>,
        localStorage: any LocalStorageAdapter,
        options: AttachmentQueueOptions,
        environment: SyncEnvironment = .live
    ) {
        let parts = options.makeParts(
            db: db,
            storage: storage,
            directory: attachmentsDirectory,
            references: watchAttachments,
            localStorage: localStorage,
            environment: environment
        )
        self.db = db
        self.remoteStorage = storage.remoteStorage
        self.localStorage = localStorage
        self.downloadAttachments = options.downloadAttachments
        self.logger = parts.transfers.logger
        self.attachmentsService = parts.service
        self.parts = parts
        runner = AttachmentRunner(context: parts.transfers, queue: parts)
        self.syncingService = SyncingService(runner: runner)
    }
}

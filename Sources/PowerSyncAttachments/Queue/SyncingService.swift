public import Foundation
public import PowerSyncClient

/// Transfers the attachments of a table: uploads, downloads and deletions.
///
/// An ``AttachmentQueue`` has one; apps that follow references by themselves can make their own.
public actor SyncingService: SyncingServiceProtocol {
    private let runner: AttachmentRunner

    /// Creates a service that is stopped.
    ///
    /// - Parameters:
    ///   - remoteStorage: Takes and gives files.
    ///   - localStorage: Keeps the files on this device.
    ///   - attachmentsService: The attachments table.
    ///   - logger: Where messages go.
    ///   - getLocalUri: Maps a file name to a path.
    ///   - errorHandler: Decides whether a failed transfer is tried again; `nil` for always.
    ///   - syncThrottle: The least time between two looks at the table, in seconds.
    public init(
        remoteStorage: any RemoteStorageAdapter,
        localStorage: any LocalStorageAdapter,
        attachmentsService: any AttachmentServiceProtocol,
        logger: any LoggerProtocol,
        getLocalUri: @Sendable @escaping (String) async -> String,
        errorHandler: (any SyncErrorHandler)? = nil,
        syncThrottle: TimeInterval = 5.0
    ) {
        let environment = SyncEnvironment.live
        var options = AttachmentQueueOptions()
        options.syncThrottle = Duration(clampingSeconds: syncThrottle)
        options.errorHandler = errorHandler
        self.init(
            runner: AttachmentRunner(
                context: TransferContext(
                    transport: BufferedAttachmentTransport(remote: remoteStorage, local: localStorage),
                    keepsPartialDownloads: false,
                    localStorage: localStorage,
                    // Of its own: what it leaves behind is none of the app's calls.
                    service: (attachmentsService as? AttachmentService)?.sibling() ?? attachmentsService,
                    directory: nil,
                    paths: AttachmentPaths(directory: nil, locate: getLocalUri),
                    options: options,
                    logger: logger,
                    table: SharedAttachmentTable(),
                    progress: TransferProgressHub(),
                    clock: ElapsedClock(environment.clock),
                    random: environment.random,
                    isDatabaseClosed: { false }
                )
            )
        )
    }

    init(runner: AttachmentRunner) {
        self.runner = runner
    }

    /// Begins to transfer; a service that is started already starts again.
    ///
    /// - Parameter period: The seconds between two looks at the table without a reason; 0 or less for none.
    /// - Throws: ``PowerSyncAttachmentError/closed(_:)``
    public func startSync(period: TimeInterval) async throws {
        try await runner.startTransfers(interval: period > 0 ? Duration(clampingSeconds: period) : nil)
    }

    /// Ends the transfers.
    ///
    /// They can be started again.
    ///
    /// - Throws: ``PowerSyncAttachmentError/closed(_:)``
    public func stopSync() async throws {
        try await runner.stopTransfers()
    }

    /// Ends the transfers for good.
    public func close() async throws {
        try await runner.close()
    }

    /// Looks at the table now; what failed is tried again at once.
    ///
    /// - Throws: ``PowerSyncAttachmentError/closed(_:)``
    public func triggerSync() async throws {
        try runner.checkIsOpen()
        runner.fire(.hope)
    }

    /// Removes archived attachments that the cache has no room for, with their files, up to 1000.
    public func deleteArchivedAttachments(_ context: AttachmentContext) async throws -> Bool {
        try await runner.context.expire(context).isComplete
    }
}

/// Transfers the attachments of a table.
public protocol SyncingServiceProtocol: Sendable {
    /// Begins to transfer; a service that is started already starts again.
    ///
    /// - Parameter period: The seconds between two looks at the table without a reason; 0 or less for none.
    /// - Throws: ``PowerSyncAttachmentError/closed(_:)``
    func startSync(period: TimeInterval) async throws
    /// Ends the transfers. They can be started again.
    func stopSync() async throws
    /// Ends the transfers for good.
    func close() async throws
    /// Looks at the table now; what failed is tried again at once.
    func triggerSync() async throws
    /// Removes archived attachments that the cache has no room for, with their files, up to 1000.
    ///
    /// - Returns: Whether nothing is left to remove.
    func deleteArchivedAttachments(_ context: AttachmentContext) async throws -> Bool
}

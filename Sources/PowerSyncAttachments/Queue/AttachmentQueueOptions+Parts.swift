import Foundation
import PowerSyncClient

extension AttachmentQueueOptions {
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
        let transfers = TransferContext(
            transport: storage.transport(over: localStorage),
            keepsPartialDownloads: storage.keepsPartialDownloads,
            localStorage: localStorage,
            service: service.sibling(),
            directory: directory,
            paths: paths,
            errorHandler: errorHandler,
            options: transferOptions,
            logger: logger,
            table: table,
            progress: TransferProgressHub(),
            clock: ElapsedClock(environment.clock),
            random: environment.random,
            isDatabaseClosed: db.closedCheck(),
            now: environment.now
        )
        return AttachmentQueueParts(
            db: db,
            service: service,
            transfers: transfers,
            tableName: tableName,
            directory: directory,
            subdirectories: subdirectories,
            interval: syncInterval > .zero ? min(syncInterval, Argument.longestTime) : nil,
            archivesOnlyAfterFirstSync: archiveOnlyAfterFirstSync,
            now: environment.now,
            references: references
        )
    }

    private var transferOptions: TransferOptions {
        TransferOptions(
            maxConcurrentTransfers: maxConcurrentTransfers,
            policy: transferPolicy,
            throttle: min(max(syncThrottle, .zero), Argument.longestTime),
            downloads: downloadAttachments,
            archivedCacheByteLimit: archivedCacheByteLimit,
            callLimit: TransferOptions.callLimit(transferLimit)
        )
    }
}

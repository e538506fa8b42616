import Foundation
import PowerSyncClient

extension AttachmentQueueOptions {
    /// Puts the work of a queue together.
    func makeUpkeep(
        db: any PowerSyncDatabaseProtocol,
        storage: AttachmentQueueStorage,
        directory: String,
        references: @Sendable @escaping () throws -> AsyncThrowingStream<[WatchedAttachmentItem], any Error>,
        localStorage: any LocalStorageAdapter,
        environment: AttachmentEnvironment
    ) -> AttachmentUpkeep {
        let logger = logger ?? db.logger
        let localStorage = LeavableStorage.over(localStorage)
        let table = SharedAttachmentTables.shared.table(named: tableName, of: db)
        let files = AttachmentFiles(
            service: AttachmentService(
                context: AttachmentContext(
                    table: AttachmentTable(
                        db: db,
                        name: tableName,
                        logger: logger,
                        maxArchivedCount: archivedCacheLimit,
                        now: { environment.now().millisecondsSince1970 }
                    )
                ),
                table: table
            ),
            table: table,
            storage: localStorage,
            paths: getLocalUri.map { AttachmentPaths(directory: nil, locate: $0) }
                ?? AttachmentPaths(directory: directory, locate: { "\(directory)/\($0)" }),
            directory: directory,
            logger: logger
        )
        let transfers = TransferContext(
            files: files,
            transport: storage.transport(over: localStorage),
            options: transferOptions,
            environment: environment,
            isDatabaseClosed: db.closedCheck()
        )
        return AttachmentUpkeep(
            db: db,
            transfers: transfers,
            options: self,
            directory: directory,
            references: references
        )
    }

    private var transferOptions: TransferOptions {
        TransferOptions(
            maxConcurrentTransfers: maxConcurrentTransfers,
            errorHandler: errorHandler,
            policy: transferPolicy,
            throttle: min(max(syncThrottle, .zero), Argument.longestTime),
            downloads: downloadAttachments,
            archivedCacheByteLimit: archivedCacheByteLimit,
            callLimit: TransferOptions.callLimit(transferLimit)
        )
    }
}

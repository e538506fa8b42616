import Foundation
import PowerSyncClient

/// The attachments of one table on this device: their rows, their files, and what the queues of the table share.
struct AttachmentFiles: Sendable {
    /// The rows.
    let service: any AttachmentServiceProtocol
    /// What other queues of the table see.
    let table: SharedAttachmentTable
    /// The files.
    let storage: any LocalStorageAdapter
    /// Where each file is.
    let paths: AttachmentPaths
    /// The directory for files; `nil` when that is not known.
    let directory: String?
    /// Where messages go.
    let logger: any LoggerProtocol

    /// Removes a file, if there is one.
    ///
    /// It is asked for before: adapters of apps may throw for what is not there, and what throws is tried again for ever.
    func removeFile(at path: String) async throws {
        guard try await storage.fileExists(filePath: path) else { return }
        try await storage.deleteFile(filePath: path)
    }

    /// Follows an element of the watch.
    ///
    /// - Parameters:
    ///   - items: The complete set of references.
    ///   - newFilename: Makes the name of a file when its reference has none.
    ///   - deliveredAt: When the element came.
    ///   - downloads: Whether new references are downloaded.
    ///   - archives: Whether rows without a reference are archived.
    /// - Returns: What has changed.
    /// - Throws: `CancellationError`, or an error of the database. Nothing has changed then.
    func process(
        _ items: [WatchedAttachmentItem],
        newFilename: @escaping AttachmentPaths.NewFilename = { AttachmentPaths.newFilename(id: $0, fileExtension: $1) },
        deliveredAt: Date,
        downloads: Bool,
        archives: Bool = true
    ) async throws -> WatchElementSummary {
        try await service.withContext { context in
            try await context.table.process(
                items,
                filenames: { try await paths.filename(of: $0, newFilename: newFilename) },
                deliveredAt: deliveredAt.millisecondsSince1970,
                downloads: downloads,
                archives: archives,
                localUri: paths.path,
                storage: storage
            )
        }
    }

    /// Removes archived attachments that the cache has no room for, one round.
    ///
    /// The caller holds the service's lock.
    func expire(
        _ context: AttachmentContext,
        byteLimit: Int64?,
        besides failed: Set<String> = []
    ) async throws -> ExpiryRound {
        try await context.table.expire(byteLimit: byteLimit, besides: failed) { attachment in
            guard let path = attachment.localUri else { return }
            // A file whose name breaks the rules is never touched.
            guard try await paths.pathIfAllowed(of: attachment.filename) != nil else { return }
            try await removeFile(at: path)
        }
    }

    /// Logs a message about attachments.
    func log(_ severity: LogSeverity, _ message: String) {
        logger.log(severity, message, tag: LogTag.attachments)
    }
}

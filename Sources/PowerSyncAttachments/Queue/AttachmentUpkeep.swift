import Foundation
import PowerSyncClient

/// The work of a queue but for its transfers: follows references, and keeps rows, files and directories in order.
///
/// Nothing here begins a task; ``AttachmentRunner`` does.
struct AttachmentUpkeep: Sendable {
    /// The database.
    let db: any PowerSyncDatabaseProtocol
    /// What transfers need.
    let transfers: TransferContext
    /// How the queue works.
    let options: AttachmentQueueOptions
    /// The absolute path of the directory for files.
    let directory: String
    /// Where references come from.
    let references: @Sendable () throws -> AsyncThrowingStream<[WatchedAttachmentItem], any Error>

    /// The attachments on this device.
    var files: AttachmentFiles { transfers.files }
    private var service: any AttachmentServiceProtocol { files.service }
    private var localStorage: any LocalStorageAdapter { files.storage }
    private var paths: AttachmentPaths { files.paths }

    /// The time between two looks at the table without a reason; `nil` for none.
    var interval: Duration? {
        options.syncInterval > .zero ? min(options.syncInterval, Argument.longestTime) : nil
    }

    /// Saves files.
    var saver: FileSaver {
        FileSaver(files: files) { AttachmentPaths.newFilename(id: $0, fileExtension: $1) }
    }

    /// Follows the references and the connection until the task is cancelled.
    ///
    /// - Parameter trigger: Causes looks at the table.
    func follow(_ trigger: SyncTrigger) async {
        let watch = ReferenceWatch(
            references: references,
            process: { try await process($0, deliveredAt: $1) },
            clock: transfers.clock,
            now: transfers.environment.now,
            logger: files.logger
        )
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await watch.run() }
            group.addTask {
                // What failed while offline is worth another attempt.
                var wasConnected = true
                for await status in db.currentStatus.asFlow() {
                    if status.connected, !wasConnected { trigger.fire(.hope) }
                    wasConnected = status.connected
                }
            }
        }
    }

    /// Follows an element of the watch, and makes room in the cache if something was archived.
    func process(_ items: [WatchedAttachmentItem], deliveredAt: Date) async throws {
        let archives = !options.archiveOnlyAfterFirstSync || db.currentStatus.hasSynced == true
        let summary = try await files.process(
            items,
            deliveredAt: deliveredAt,
            downloads: options.downloadAttachments,
            archives: archives
        )
        guard summary.archived > 0 else { return }
        _ = try await service.withContext { try await files.expire($0, byteLimit: options.archivedCacheByteLimit) }
    }
}

// Upkeep.
extension AttachmentUpkeep {
    /// Creates the directories, and removes what interrupted writes have left there.
    func prepareDirectories() async throws {
        try await makeDirectories()
        do {
            // Not the parts of downloads: rows tell which are wanted, but not those of other queues in this directory.
            let oneHourAgo = transfers.environment.now().addingTimeInterval(-3600)
            try await localStorage.removeTemporaryFiles(path: directory, olderThan: oneHourAgo)
        } catch {
            try AppCodeScope.check()
            files.log(.warning, "Temporary files could not be removed: \(error.localizedDescription)")
        }
    }

    /// Creates the directories.
    func makeDirectories() async throws {
        try await localStorage.makeDir(path: directory)
        for name in options.subdirectories {
            try AttachmentPath.check(filename: name)
            try await localStorage.makeDir(path: directory + "/" + name)
        }
    }

    /// Compares all rows with the files on the disk and repairs them.
    func verify() async throws {
        try await service.withContext { context in
            try await context.table.verify(
                downloads: options.downloadAttachments,
                localUri: paths.path,
                storage: localStorage
            )
        }
    }

    /// Removes all archived attachments that the cache has no room for.
    func expire() async throws {
        var round = ExpiryRound()
        repeat {
            let failed = round.failed
            round = try await service.withContext {
                try await files.expire($0, byteLimit: options.archivedCacheByteLimit, besides: failed)
            }
        } while !round.isComplete
    }

    /// Removes all rows and files.
    ///
    /// Once it has begun, a cancellation does not end it: files without rows would stay.
    ///
    /// - Parameter keepsDirectory: Whether the directory is needed afterwards.
    /// - Throws: `CancellationError` before it has begun, or an error of the database or the storage.
    func clear(keepsDirectory: Bool) async throws {
        try await service.withContext { context in
            try await Task.ignoringCancellation {
                try await context.clearQueue()
                try await localStorage.rmDir(path: directory)
                if keepsDirectory { try await makeDirectories() }
            }
        }
    }

    /// Refuses directories that are not to be emptied: the root and the home directory.
    func checkMayBeEmptied() throws {
        let path = URL(fileURLWithPath: directory).standardizedFileURL.path
        guard !directory.isEmpty, path != "/", path != URL(fileURLWithPath: NSHomeDirectory()).standardizedFileURL.path
        else {
            throw PowerSyncAttachmentError.invalidPath("\(directory.debugDescription) will not be emptied")
        }
    }

    /// Removes files that no row leads to, of this queue or of another one of this process and database.
    ///
    /// - Returns: How many.
    func sweepOrphans(olderThan age: Duration) async throws -> Int {
        let date = transfers.environment.now().addingTimeInterval(-(age / .seconds(1)))
        return try await service.withContext { context in
            let files = try await localStorage.files(path: directory, notChangedSince: date)
            guard !files.isEmpty else { return 0 }
            var search = OrphanSearch(among: files)
            for row in try await fileLocations(in: context) {
                if let path = row.localUri { search.keepStoredFile(at: path) }
                guard let name = row.filename, let path = try await paths.pathIfAllowed(of: name) else { continue }
                search.keepFile(at: path)
                for part in AttachmentPath.downloadFiles(for: path) { search.keepFile(at: part) }
            }
            let orphans = try await search.orphans(in: localStorage)
            for orphan in orphans { try await localStorage.deleteFile(filePath: orphan) }
            return orphans.count
        }
    }

    /// Where the files of all rows are: of this table, and of those of other queues, which may have the same directory.
    private func fileLocations(in context: AttachmentContext) async throws -> [AttachmentStore.FileLocation] {
        let (store, others) = (context.table.store, context.table.storesOfOtherQueues)
        return try await db.readLock { context in
            try store.fileLocations(in: context) + others.flatMap { try $0.locationsIfThere(in: context) }
        }
    }

    /// Counts rows and bytes by state.
    func stats() async throws -> AttachmentQueueStats {
        let store = AttachmentStore(tableName: options.tableName)
        return try await db.readLock { try store.stats(in: $0) }
    }
}
